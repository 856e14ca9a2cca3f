"""Every system x every file system x every medium of the registries: tables, page, store and back.

A machine without a part of flash (a block device, memory) counts less than one that has one: the tables of its results
still have columns of one length. What cannot be put together says so in one line, and which can is a table of its own,
so that nothing falls out of it unseen.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from ffslab import Experiment, InputError, Run, _native
from ffslab.api.known import run_with
from ffslab.api.run import RunGiven
from ffslab.store import Store
from ffslab.systems import TABLE

# Of each kind of part the one that stands for it, then each block device, then what a stack has that names none.
PARTS = {
    # A board of each bus.
    kind: {"board": "licheepi-nano" if kind.startswith("spi") else "omap3evm", "part": part}
    for kind, part in _native.part_kinds()
}
DEVICES = {
    entry["name"]: {"device": entry["name"]}
    for entry in json.loads(_native.profiles())
    if entry["kind"] == "block device"
}
FTL = {"page-map": {"device": {"ftl": "page-map", "part": "k9f1g08u0a", "blocks": 48, "spare": 0.3}}}
MEDIA: dict[str, dict[str, Any]] = {"none named": {}, **PARTS, **DEVICES, **FTL}
FILES = [{"step": "mount"}, {"step": "create", "file": "a", "bytes": 3000}, {"step": "sync"}, {"step": "umount"}]
OF_DEVICES = ["none named", *DEVICES, *FTL]
# Which go together, in the order of the registries. SPIFFS, FatFs and Zephyr's NVS need sources of
# the user's: tests/foreign.
RAN = {
    "linux": {"jffs2": [*PARTS], "yaffs2": ["nand"], "ubifs": [*PARTS]},
    "rtems": {
        **{"jffs2": ["none named"], "yaffs2": ["none named"], "dosfs": OF_DEVICES, "rfs": OF_DEVICES},
        **{"imfs": ["none named"], "mini-imfs": ["none named"]},
    },
    "bare": {
        **{"yaffs2": ["none named", "nand"], "fat": ["none named", *PARTS], "littlefs": ["none named", *PARTS]},
        **{"sequential-storage": ["spi-nor"], "ekv": ["spi-nor"], "tickv": ["spi-nor"], "block-device": OF_DEVICES[1:]},
    },
}
# What is asked, in the words of each kind of file system: files, keys, blocks.
KEYS = [{"step": "mount"}, {"step": "set", "keys": 4, "bytes": 20, "count": 8}, {"step": "get", "keys": 4, "count": 4}]
WRITES = {"file": "disk", "op": "write", "pattern": "random", "request_B": 4096, "count": 8, "range_B": 65536}
BLOCKS = [{"step": "mount"}, {"step": "open", "file": "disk", "flags": ["rdwr"]}, {"step": "requests", **WRITES}]
SIZES: tuple[dict[str, int], ...] = (
    # UBI keeps 20 blocks of 1024 of the whole chip.
    {"partition_blocks": 80},
    {"partition_blocks": 128, "erase_block_KiB": 4},
    {"device_KiB": 4096},
    {},
)


def experiments(system: str, fs: str, medium: str) -> Iterator[Experiment]:
    """What is tried in turn: which words a file system knows and how large its medium is stands nowhere."""
    stack = {"system": system, "fs": fs, **MEDIA[medium]}
    for steps in (FILES, KEYS, BLOCKS):
        for size in SIZES:
            yield Experiment.from_data({"title": f"{fs} on {medium}", "stack": {**stack, **size}, "measure": steps})


def first_that_runs(store: Store, system: str, fs: str, medium: str) -> Run | None:
    for experiment in experiments(system, fs, medium):
        try:
            return run_with(store, experiment, RunGiven(), again=False)
        except InputError as refused:
            assert "\n" not in str(refused)
    return None


def lengths(columns: Any) -> set[int]:
    return {len(column) for column in columns.values()}


def assert_same(ours: Any, theirs: Any) -> None:
    assert list(ours) == list(theirs)
    for name in ours:
        is_text = isinstance(ours[name], list)
        assert np.array_equal(ours[name], theirs[name], equal_nan=not is_text), name


@pytest.mark.parametrize("system", [system.name for system in TABLE])
def test_what_a_run_leaves_is_read_back(system: str, tmp_path: Path) -> None:
    file_systems = next(each.file_systems for each in TABLE if each.name == system)
    store = Store(tmp_path / "store")
    ran: dict[str, list[str]] = {}
    for fs in file_systems:
        for medium in MEDIA:
            run = first_that_runs(store, system, fs, medium)
            if run is None:
                continue
            ran.setdefault(fs, []).append(medium)
            assert len(lengths(run.request_columns)) == len(lengths(run.block_columns)) == 1, (fs, medium)
            folder = run.save(tmp_path / "results")
            read = Run.load(folder)
            for name in ("requests.parquet", "blocks.parquet"):
                assert pq.read_table(folder / name).num_columns > 10
            assert "</html>" in (folder / "report.html").read_text(encoding="utf-8")[-20:]
            again = first_that_runs(store, system, fs, medium)
            assert again is not None
            for other in (read, again):
                assert other.summary == run.summary
                assert_same(run.request_columns, other.request_columns)
                assert_same(run.block_columns, other.block_columns)
    assert ran == RAN[system]


def test_variants_with_and_without_a_chip_stand_in_one_table(tmp_path: Path) -> None:
    """What a medium does not count is not known for its rows, and the others keep theirs."""
    stack = {"system": "rtems", "device_KiB": 4096}
    axes = {"fs": ["jffs2", "rfs", "yaffs2"]}
    experiment = Experiment.from_data({"title": "both", "stack": stack, "measure": FILES, "axes": axes})
    store = Store(tmp_path / "store")
    first, again = (run_with(store, experiment, RunGiven(), again=False) for _ in range(2))
    assert len(lengths(first.block_columns)) == len(lengths(again.block_columns)) == 1
    assert_same(first.block_columns, again.block_columns)
    pages = first.block_columns["programmed_pages"]
    counted = {name for name, number in zip(first.block_columns["variant"], pages, strict=True) if not np.isnan(number)}
    assert set(first.block_columns["variant"]) == {"fs=jffs2", "fs=yaffs2"} and counted <= {"fs=yaffs2"}
