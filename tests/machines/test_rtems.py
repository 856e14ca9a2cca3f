"""RTEMS from the command line: experiments, messages, profiles."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from helpers.command import ROOT

if TYPE_CHECKING:
    from helpers.command import Command

EXPERIMENTS = ROOT / "experiments"

SMALL = """\
title = "small"
[stack]
system = "rtems"
fs = "{fs}"
{keys}
[[setup]]
step = "mount"
[[measure]]
step = "{step}"
{step_keys}
"""


def small(fs: str = "rfs", keys: str = "", step: str = "create", step_keys: str = 'file = "a"\nbytes = 100') -> str:
    return SMALL.format(fs=fs, keys=keys, step=step, step_keys=step_keys)


def test_an_experiment_prints_what_the_block_cache_did(ffslab: Command, tmp_path: Path) -> None:
    done = ffslab("run", str(EXPERIMENTS / "rtems" / "block-size.toml"), "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    assert "device read requests" in done.stdout
    # There is no chip whose pages could be counted.
    assert "page reads" not in done.stdout
    summary = json.loads((tmp_path / "out" / "summary.json").read_text(encoding="utf-8"))
    variants = {v["name"]: v for v in summary["variants"]}
    assert len(variants) == 9
    rfs = variants["fs=rfs, requests.request_B=1024"]
    assert rfs["flash"] is None
    assert rfs["stack"]["bdbuf_cache_KiB"] == 10
    assert rfs["counters"]["read_misses"] == rfs["counters"]["dev_read_requests"] > 0
    assert "counters" not in variants["fs=imfs, requests.request_B=1024"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (small(fs="ext4"), 'fs = "ext4": RTEMS has jffs2, yaffs2, dosfs, rfs, imfs, mini-imfs'),
        (small(keys='quirks = "2020"'), "unknown quirks '2020'; there are: 2018, fixed"),
        (small(keys="bdbuf_cach_KiB = 10"), "`bdbuf_cach_KiB`"),
        (small(keys='device = "sd-cart"'), "did you mean `sd-card`"),
        (small(fs="imfs", keys='device = "sd-card"'), "device belongs to dosfs and rfs, not to imfs"),
        (small(step="drop_caches", step_keys=""), "RTEMS has no page cache"),
        (small(step="ubi_attach", step_keys=""), "RTEMS has no UBI: leave it out"),
        (small().replace("rtems", "vxworks", 1), "unknown system `vxworks`"),
    ],
)
def test_what_cannot_be_run_is_one_line(ffslab: Command, tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "x.toml").write_text(text, encoding="utf-8")
    done = ffslab("run", str(tmp_path / "x.toml"), "--out", str(tmp_path / "out"))
    assert done.returncode == 2
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_profiles_show_block_devices_and_the_board(ffslab: Command) -> None:
    listed = json.loads(ffslab("profiles", "ls", "--json").stdout)
    devices = [entry["name"] for entry in listed if entry["kind"] == "block device"]
    assert devices == [
        "emmc-slc-cache",
        "ram-disk-beaglebone",
        "sd-card",
        "sd-card-kingston-4g",
        "usb-stick",
        "usb-stick-log-blocks",
    ]
    shown = json.loads(ffslab("profiles", "show", "beaglebone-black", "--json").stdout)
    values = {value["key"]: value for value in shown["values"]}
    assert values["memory_read_ns"]["unit"] == "ns"
    assert values["memory_read_ns"]["status"] == "published"
    assert values["copy_ns_per_B"]["unit"] == "ns/B"


def test_a_bug_of_2018_that_costs_data_is_named(ffslab: Command, tmp_path: Path) -> None:
    """A write of a part of a full last block ends the file there, as on the real one."""
    part = (
        '[[measure]]\nstep = "open"\nfile = "a"\nflags = ["rdwr"]\n'
        '[[measure]]\nstep = "requests"\nfile = "a"\nop = "write"\npattern = "listed"\norder = [0]\ncount = 1\n'
        "request_B = 100\nrange_B = 512\n"
    )
    told = {}
    for quirks in ("2018", "fixed"):
        text = small(keys=f'quirks = "{quirks}"', step_keys='file = "a"\nbytes = 512') + part
        (tmp_path / "part.toml").write_text(text, encoding="utf-8")
        done = ffslab("run", "part.toml", "--out", str(tmp_path / quirks))
        assert done.returncode == 0, done.stderr
        told[quirks] = "RFS of RTEMS 2018 has shortened a file" in done.stdout
    assert told == {"2018": True, "fixed": False}
