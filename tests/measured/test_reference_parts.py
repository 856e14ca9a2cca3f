"""What a reference run is made of, where nothing boots: what is missing is told, and the steps are compiled."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ffslab import InputError
from ffslab.measured.reference import kit, packages, run
from ffslab.measured.reference.architecture import ARMHF


def test_what_a_machine_lacks_is_told_with_what_brings_it(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = tmp_path / "modules"
    modules.mkdir()
    for name in ("modules.dep", "modules.builtin"):
        (modules / name).touch()
    monkeypatch.setattr(kit, "program", lambda name: None)
    monkeypatch.setattr(run, "program", lambda name: None)
    own = "a reference run needs qemu-system-x86_64, a statically linked busybox, cc; as root: apt-get install"
    with pytest.raises(InputError, match=own):
        run.find_parts(tmp_path, small, modules)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert packages.fetched(ARMHF) == tmp_path / "ffslab" / "reference" / "armhf"
    with pytest.raises(InputError, match=r"a kernel and busybox in .*/reference/armhf \(ffslab reference fetch"):
        run.find_parts(tmp_path, None, None, architecture=ARMHF)
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert packages.fetched(ARMHF) == Path.home() / ".cache/ffslab/reference/armhf"
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    assert kit.find_kit(kernel=kit.Kernel(small, modules))[1][0] == "an x86-64 machine"


@pytest.mark.skipif(shutil.which("cc") is None, reason="cc is missing")
def test_the_program_of_the_steps_is_compiled(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = kit.Kit(kit.Kernel(small, tmp_path), small, small)
    monkeypatch.setattr(run, "find_kit", lambda **_: (found, []))
    with pytest.raises(InputError, match="the on-target kit"):
        run.find_parts(tmp_path, None, None, tmp_path)
    assert run.find_parts(tmp_path, None, None).steps[:4] == b"\x7fELF"
    monkeypatch.setattr(run, "COMPILE", ("--no-such-option",))
    with pytest.raises(InputError, match=r"cannot be compiled \(libc6-dev\?\): .*no-such-option"):
        run.find_parts(tmp_path, None, None)
