"""Variants that have a setup in common run it once, and nothing but a counter shows it."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from ffslab import Experiment, InputError, Store
from ffslab.api.observe import Observe
from ffslab.api.run import Shared
from helpers.command import FFSLAB
from helpers.processes import alone, every_child

# With a setup of 6,000 writes, of which some wait in memory behind it.
SETUP = """
[[setup]]
step = "mount"
[[setup]]
step = "create"
file = "target"
bytes = "512 KiB"
[[setup]]
step = "open"
file = "target"
flags = ["rdwr"]
[[setup]]
step = "requests"
file = "target"
op = "write"
pattern = "random"
request_B = 700
count = 6000
[[setup]]
step = "open"
file = "log"
flags = ["wronly", "create", "append"]
"""
MEASURED = """
[[measure]]
step = "append"
file = "log"
request_B = 512
count = 20
sync = "fsync"
[[measure]]
step = "create"
file = "new"
bytes = "64 KiB"
[[measure]]
step = "save_image"
file = "nand.bin"
"""
# The last size does not fit.
AXES = """
[axes]
"append.count" = [20, 300]
"create.bytes" = ["1 KiB", "200 KiB", "900 MiB"]
"""
STACKS = {
    "jffs2": 'board = "omap3evm"\nfs = "jffs2"\npartition_blocks = 40',
    "ubifs": 'board = "omap3evm"\nfs = "ubifs"\npartition_blocks = 160',
    "yaffs2": 'board = "omap3evm"\nfs = "yaffs2"\npartition_blocks = 40',
    "rtems": 'system = "rtems"\nboard = "beaglebone-black"\nfs = "rfs"',
}


def text_of(stack: str, axes: str = AXES, more: str = "", *, measured: str = MEASURED) -> str:
    """An experiment of six variants, of which two fail. Memory has no image."""
    if stack == "rtems":
        measured = measured.partition('[[measure]]\nstep = "save_image"')[0]
    return f'title = "Shared"\n{more}[stack]\n{STACKS[stack]}\n{SETUP}{measured}{axes}'


def files_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("stack", list(STACKS))
@alone
def test_all_files_are_those_of_own_setups(tmp_path: Path, stack: str) -> None:
    more = "film = true\n" if stack == "jffs2" else ""
    experiment = Experiment.from_toml(text_of(stack, more=more))
    own = experiment.run(share_setups=False)
    assert own.shared == Shared()
    assert len(own.failures) == 2
    files = files_of(own.save(tmp_path / "own"))
    assert ("images/1/nand.bin" in files, "logs/1/film.parquet" in files) == (stack != "rtems", stack == "jffs2")
    for jobs in (1, 2, 8) if stack == "jffs2" else (2,):
        ran = experiment.run(jobs=jobs)
        assert ran.shared[:2] == (1, 6)
        assert files_of(ran.save(tmp_path / "shared")) == files


@alone
def test_programs_timelines_and_repetitions_are_those_of_own_setups(tmp_path: Path) -> None:
    beside = '[[program]]\nname = "logger"\n[[program.steps]]\nstep = "create"\nfile = "other"\nbytes = "8 KiB"\n'
    text = text_of("jffs2", '[axes]\n"append.count" = [20, 300]\n', measured=MEASURED + beside)
    found = []
    for share in (False, True):
        timeline = tmp_path / "timeline.pftrace"
        ran = Experiment.from_toml(text).run(observe=Observe(timeline, 1), share_setups=share)
        assert ran.shared[:2] == ((1, 2) if share else (0, 0))
        found.append((files_of(ran.save(tmp_path / "out")), timeline.read_bytes()))
        timeline.unlink()
    assert found[0] == found[1]
    # The runs of a variant draw other contents: each has a setup of its own, which the variants of that run share.
    repeated = Experiment.from_toml(text).changed(repeat=2)
    shared, own = repeated.run(), repeated.run(share_setups=False)
    assert shared.shared[:2] == (2, 4)
    assert files_of(shared.save(tmp_path / "shared")) == files_of(own.save(tmp_path / "own"))


@alone
def test_only_equal_setups_are_shared() -> None:
    experiment = Experiment.from_toml(text_of("jffs2", ""))
    for name, values in (("setup.requests.count", [6000, 6001]), ("compression", ["none", "zlib"])):
        axes = {name: values, "append.count": [20, 30]}
        assert experiment.with_axes(axes).run().shared[:2] == (2, 4)
        assert experiment.with_axes({name: values}).run().shared == Shared()


@alone
def test_a_setup_that_fails_fails_in_each_variant(tmp_path: Path) -> None:
    text = text_of("jffs2").replace("512 KiB", "800 MiB", 1)
    said = []
    for share in (True, False):
        with pytest.raises(InputError) as error:
            Experiment.from_toml(text).run(share_setups=share)
        said.append(str(error.value))
    assert said[0] == said[1]
    assert "setup step 2" in said[0]


@alone
def test_the_store_has_the_same_runs(tmp_path: Path) -> None:
    experiment = Experiment.from_toml(text_of("ubifs"))
    kept = []
    for share in (True, False):
        store = Store(tmp_path / str(share))
        experiment.run(store=store, share_setups=share)
        keys = experiment.keys()
        found = store.find({str(one["key"]) for one in keys["variants"]}, keys["requests_kept"])
        kept.append({key: one.said for key, one in found.items()})
    assert kept[0] == kept[1]
    assert len(kept[0]) == 6


def is_alive(process: int) -> bool:
    """Whether there is such a process, and it has not ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


# Two variants that nobody waits for to the end.
LONG = """
[[measure]]
step = "requests"
file = "target"
op = "write"
pattern = "random"
request_B = 700
count = 40_000_000
[[measure]]
step = "sleep"
us = 1
"""


def test_ctrl_c_ends_all_processes_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(text_of("jffs2", '[axes]\n"sleep.us" = [1, 2]\n', measured=LONG))
    running = subprocess.Popen(
        [FFSLAB, "run", "long.toml"], cwd=tmp_path, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    deadline_s = time.monotonic() + 60
    while not every_child(running.pid) and running.poll() is None and time.monotonic() < deadline_s:
        time.sleep(0.02)
    time.sleep(1)
    processes = every_child(running.pid)
    assert processes
    os.kill(running.pid, signal.SIGINT)
    assert running.communicate(timeout=30)[1].endswith("ffslab: interrupted\n")
    assert running.returncode == 130
    # Who is killed with the process that forked it is cleared away by another one, a little later.
    deadline_s = time.monotonic() + 30
    while any(is_alive(process) for process in processes) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    assert not any(is_alive(process) for process in processes)
