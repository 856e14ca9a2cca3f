"""Cache commands and copy-back below translation layers: the table of docs/ftl.md, messages, counters."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ffslab import Experiment
from helpers.command import ROOT

if TYPE_CHECKING:
    from helpers.command import Command

TABLE = ROOT / "experiments/policies/commands/table.py"
DOCUMENT = ROOT / "docs/ftl.md"

EXPERIMENT = """
title = "A device"

[stack]
system = "bare"
fs = "block-device"
device = {{ {device}, blocks = 24, spare = 0.3 }}

[[measure]]
step = "open"
file = "disk"
flags = ["rdwr"]
[[measure]]
step = "requests"
file = "disk"
op = "write"
pattern = "random"
request_B = "8 KiB"
count = 500
[[measure]]
step = "fsync"
file = "disk"
"""


def test_the_table_of_the_document_is_what_its_command_prints() -> None:
    assert runpy.run_path(str(TABLE))["markdown"]() in DOCUMENT.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("device", "message"),
    [
        (
            'ftl = "page-map", part = "w29n02gv", cache_commands = true',
            'device.part = "w29n02gv": device.cache_commands needs cache program or cache read',
        ),
        (
            'ftl = "page-map", part = "w29n02gv", copy_back = 2',
            'device.part = "w29n02gv": device.copy_back needs copy-back',
        ),
        (
            'ftl = "page-map", part = "mt29f2g08aac", copy_back = 16',
            "device.copy_back = 16: the record of a page counts to 15",
        ),
        (
            'ftl = "page-map", part = "mt29f2g08aac", copy_row_pages = 4',
            "device.copy_row_pages = 4: it is about rows: give device.cache_commands = true",
        ),
        (
            'ftl = "page-map", part = "mt29f2g08aac", cache_commands = true, copy_row_pages = 0',
            "device.copy_row_pages = 0: 1 to 1024 pages",
        ),
        (
            'ftl = "slc-cache", part = "mt29f2g08aac", copy_back = 2',
            'device.ftl = "slc-cache": its pages move between cells of different modes',
        ),
        (
            'ftl = "page-map", part = "w25n02kv", board = "luckfox-pico-max", cache_commands = true',
            'device.part = "w25n02kv": what a chip on a serial bus has instead is not simulated',
        ),
        (
            'ftl = "page-map", part = "h27ucg8t2m", copy_back = 2',
            'device.part = "h27ucg8t2m": a part whose pages share no cells is needed',
        ),
    ],
)
def test_what_cannot_be_is_refused(ffslab: Command, tmp_path: Path, device: str, message: str) -> None:
    file = tmp_path / "device.toml"
    file.write_text(EXPERIMENT.format(device=device), encoding="utf-8")
    refused = ffslab("run", file)
    assert refused.returncode == 2
    assert message in refused.stderr


def counters(device: str, tmp_path: Path) -> dict[str, Any]:
    file = tmp_path / "device.toml"
    file.write_text(EXPERIMENT.format(device=device), encoding="utf-8")
    return Experiment.from_file(file).run().summary["variants"][0]["counters"]


def test_copies_are_counted_where_there_can_be_any(tmp_path: Path) -> None:
    usual = counters('ftl = "page-map", part = "mt29f2g08aac"', tmp_path)
    copying = counters('ftl = "page-map", part = "mt29f2g08aac", copy_back = 3', tmp_path)
    assert "ftl_copied_back_pages" not in usual
    assert 0 < copying["ftl_copied_back_pages"] <= copying["ftl_gc_pages"]
    assert copying["ftl_host_pages"] == usual["ftl_host_pages"]
