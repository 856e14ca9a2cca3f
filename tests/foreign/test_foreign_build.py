"""`ffslab foreign build`: littlefs or SPIFFS of sources that a user has, compiled and named by an experiment."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import ffslab
from ffslab.cli import root
from ffslab.foreign import build, compiling
from helpers.command import ROOT
from helpers.left_out import leave_out

EXPERIMENT = """
title = "versions"
[stack]
system = "bare"
fs = "littlefs"
board = "licheepi-nano"
part = "w25q128jv"
erase_block_KiB = 4
partition_blocks = 64
[[setup]]
step = "mount"
[[measure]]
step = "create"
file = "a"
bytes = 200
[axes]
"littlefs.library" = ["own.so", "other.so"]
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """littlefs as the registry crate carries it, which ffslab is built of, too."""
    registry = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "registry/src"
    found = sorted(registry.glob("*/littlefs2-sys-0.4.0/littlefs"))
    if not found:
        leave_out(f"{registry} does not hold littlefs2-sys 0.4.0, of which cargo builds ffslab")
    place = tmp_path_factory.mktemp("sources") / "littlefs"
    place.mkdir()
    for file in found[0].glob("*.[ch]"):
        shutil.copy(file, place)
    return place


def test_a_users_littlefs_runs_in_an_experiment(
    sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert root.run(["foreign", "build", "littlefs", "--source", str(sources), "--out", str(tmp_path / "own.so")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'own.so'}: littlefs 2.9\n"
    # The other one writes no file into its directory.
    changed = tmp_path / "changed"
    shutil.copytree(sources, changed)
    text = (changed / "lfs.c").read_text(encoding="utf-8")
    assert text.count("lfs->inline_max = lfs->cfg->inline_max;") == 1
    text = text.replace("lfs->inline_max = lfs->cfg->inline_max;", "lfs->inline_max = (lfs_size_t)-1;")
    (changed / "lfs.c").write_text(text, encoding="utf-8")
    build.littlefs(changed, None, tmp_path / "other.so")

    run = ffslab.Experiment(EXPERIMENT, "versions.toml", tmp_path).run()
    own, other = run.summary["variants"]
    # The same sources are built in.
    (built_in,) = ffslab.Experiment(EXPERIMENT.partition("[axes]")[0]).run().summary["variants"]
    assert own["totals"] == built_in["totals"] and own["by_cause"] == built_in["by_cause"]
    reasons, others = ({cause["reason"] for cause in variant["by_cause"]} for variant in (own, other))
    assert "commit" in reasons and "other" not in reasons and others > reasons
    assert str(tmp_path / "own.so") in run.resolved_toml


def test_what_the_compiler_says_is_shown(sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(sources, broken)
    (broken / "lfs_util.h").write_text('#error "no such board"\n', encoding="utf-8")
    out = tmp_path / "broken.so"
    assert root.run(["foreign", "build", "littlefs", "--source", str(broken), "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert 'error: #error "no such board"' in said and "does not compile the sources" in said
    assert any(line.endswith('no such board"') for line in said.splitlines()), "its lines are lines"
    assert not out.exists() and sorted(path.name for path in tmp_path.iterdir()) == ["broken"]


def test_what_is_wrong_is_one_line(
    sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*words: str) -> str:
        assert root.run(["foreign", "build", *words]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        return said

    assert "known are littlefs, spiffs, fatfs, dhara" in refused("jffs9", "--source", str(sources))
    assert "lfs.c is missing" in refused("littlefs", "--source", str(tmp_path))
    assert "is not a file" in refused("littlefs", "--source", str(sources), "--config", str(tmp_path / "none.h"))
    no_folder = tmp_path / "no" / "such" / "own.so"
    assert "there is no folder" in refused("littlefs", "--source", str(sources), "--out", str(no_folder))
    assert not (tmp_path / "no").exists()
    assert "is a folder" in refused("littlefs", "--source", str(sources), "--out", str(tmp_path))
    monkeypatch.setenv("CC", "cc 'of mine")
    assert "is no command of a shell" in refused("littlefs", "--source", str(sources), "--out", str(tmp_path / "a.so"))
    monkeypatch.setenv("CC", str(sources / "lfs.c"))
    assert "cannot be run as the C compiler" in refused(
        "littlefs", "--source", str(sources), "--out", str(tmp_path / "a.so")
    )
    monkeypatch.setenv("CC", "no-such-compiler")
    assert "no such C compiler" in refused("littlefs", "--source", str(sources), "--out", str(tmp_path / "a.so"))
    monkeypatch.delenv("CC")
    old = tmp_path / "old"
    shutil.copytree(sources, old)
    text = (old / "lfs.h").read_text(encoding="utf-8").replace("LFS_VERSION 0x00020009", "LFS_VERSION 0x00020001")
    (old / "lfs.h").write_text(text, encoding="utf-8")
    assert "littlefs is 2.1" in refused("littlefs", "--source", str(old))


def test_functions_of_earlier_versions_are_found_by_their_names() -> None:
    labels = compiling.LABELS.findall((build.GLUE / "littlefs.c").read_text(encoding="utf-8"))
    assert len(labels) > 25 and "lfs_alloc_scan" in labels
    lfs_2_8 = "static int lfs_rawformat(lfs_t *lfs) {\nstatic int lfs_alloc(lfs_t *lfs) {\nint lfs_fs_rawsize(\n"
    names = build.renamed(lfs_2_8, ["lfs_format_", "lfs_alloc_scan", "lfs_fs_size_", "lfs_fs_pred"])
    assert names == {
        "lfs_format_": "lfs_rawformat",
        "lfs_alloc_scan": "lfs_alloc",
        "lfs_fs_size_": "lfs_fs_rawsize",
        "lfs_fs_pred": "ffslab_no_function",
    }


# A file system with the calls of SPIFFS, which itself stands in no registry.
TOY = ROOT / "tests/foreign/spiffs"
SPIFFS = """
title = "toy"
[stack]
system = "bare"
fs = "spiffs"
board = "licheepi-nano"
part = "w25q128jv"
erase_block_KiB = 4
partition_blocks = 16
[stack.spiffs]
library = "toy.so"
[[setup]]
step = "mount"
[[measure]]
step = "create"
file = "a"
bytes = 3000
request_B = 500
[[measure]]
step = "rename"
file = "a"
to = "b"
[[measure]]
step = "statfs"
"""


@pytest.fixture(scope="module")
def toy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The toy, compiled."""
    place = tmp_path_factory.mktemp("toy")
    assert root.run(["foreign", "build", "spiffs", "--source", str(TOY), "--out", str(place / "toy.so")]) == 0
    return place


def test_a_users_spiffs_runs_in_an_experiment(toy: Path) -> None:
    run = ffslab.Experiment(SPIFFS, "toy.toml", toy).run()
    (variant,) = run.summary["variants"]
    spent = {cause["reason"]: cause for cause in variant["by_cause"]}
    # The file is written into a block of its own when it is closed, and again when it is renamed.
    assert spent["user data"]["erases"] == 2 and spent["file header"]["page_programs"] > 0
    assert spent["name look-up"]["page_reads"] > 0 and "other" not in spent
    assert str(toy / "toy.so") in run.resolved_toml and "log_page_size_B = 256" in run.resolved_toml


def test_files_of_a_users_spiffs_survive_and_have_one_directory(toy: Path) -> None:
    keys: dict[str, Any] = {
        "system": "bare",
        "fs": "spiffs",
        "board": "licheepi-nano",
        "part": "w25q128jv",
        "partition_blocks": 16,
    }
    stack = ffslab.Stack.of(keys | {"erase_block_KiB": 4, "spiffs": {"library": str(toy / "toy.so")}})
    stack.mount()
    stack.write_file("a", b"first" * 100)
    stack.write_file("b", b"")
    fd = stack.open("a", "rdwr")
    stack.pwrite(fd, b"changed", 600)
    assert stack.fstat(fd).size_bytes == 607
    stack.close(fd)
    with pytest.raises(OSError, match="function not implemented"):
        stack.mkdir("d")
    with pytest.raises(OSError, match="no such file"):
        stack.write_file("d/a", b"")
    with pytest.raises(OSError, match="file exists"):
        stack.rename("a", "b")
    stack.unlink("b")
    stack.umount()
    stack.mount()
    assert stack.listdir() == ["a"] and stack.read_file("a") == b"first" * 100 + bytes(100) + b"changed"
    stack.cut_power_after(1)
    with pytest.raises(ffslab.PowerCut):
        stack.write_file("c", b"lost")
    stack.crash()
    stack.mount()
    assert stack.read_file("a").endswith(b"changed")


def test_a_configuration_and_an_error_of_the_users_spiffs_are_taken(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "mine.h"
    config.write_text('#error "no such board"\n', encoding="utf-8")
    out = tmp_path / "a.so"
    words = ["foreign", "build", "spiffs", "--source", str(TOY), "--config", str(config), "--out", str(out)]
    assert root.run(words) == 2
    assert 'error: #error "no such board"' in capsys.readouterr().err and not out.exists()
    assert root.run(["foreign", "build", "spiffs", "--source", str(tmp_path)]) == 2
    assert "spiffs.h is missing" in capsys.readouterr().err
    assert root.run([*words[:5], "--config", str(tmp_path / "none.h")]) == 2
    assert "is not a file" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("log_page_size_B", 100, "spiffs.log_page_size_B = 100: a power of two, 64 at least"),
        ("log_block_size_B", 6000, "spiffs.log_block_size_B = 6000: a multiple of the 4096 bytes"),
        ("open_files", 0, "spiffs.open_files = 0: 1 to 1024"),
        ("library", "none.so", "none.so"),
    ],
)
def test_settings_that_spiffs_cannot_have_are_refused(key: str, value: object, told: str, toy: Path) -> None:
    table = {"library": str(toy / "toy.so")} | {key: value}
    keys: dict[str, Any] = {
        "system": "bare",
        "fs": "spiffs",
        "board": "licheepi-nano",
        "part": "w25q128jv",
        "partition_blocks": 16,
    }
    with pytest.raises(ffslab.InputError) as refusal:
        ffslab.Stack.of(keys | {"erase_block_KiB": 4, "spiffs": table})
    assert told in str(refusal.value)


def test_spiffs_needs_nor_and_a_library(toy: Path) -> None:
    keys: dict[str, Any] = {"system": "bare", "fs": "spiffs", "board": "omap3evm", "partition_blocks": 16}
    with pytest.raises(ffslab.InputError, match="NOR"):
        ffslab.Stack.of(keys | {"spiffs": {"library": str(toy / "toy.so")}})
    with pytest.raises(ffslab.InputError, match="ffslab foreign build spiffs"):
        ffslab.Stack.of(keys)
