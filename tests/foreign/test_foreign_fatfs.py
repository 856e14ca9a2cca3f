"""`ffslab foreign build fatfs` and `dhara`: FAT of a user's sources on flash, by each translation.

FatFs and Dhara stand in no registry, so that toys with their interfaces are compiled here. With FFSLAB_FATFS, the
folder of a real ff.c, and FFSLAB_DHARA, that of a real map.h, the same tests run on those, and the table beside
ESP-IDF's figures is compared.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import ffslab
from ffslab.cli import root
from helpers.command import ROOT, Command
from helpers.one_part import chip_energy, years
from helpers.small_work import small_requests, spent_by

TOYS = ROOT / "tests/foreign"
FATFS, DHARA = "FFSLAB_FATFS", "FFSLAB_DHARA"
NOR: dict[str, Any] = {
    "system": "bare",
    "fs": "fatfs",
    "board": "licheepi-nano",
    "part": "w25q128jv",
    "erase_block_KiB": 4,
    "partition_blocks": 128,
}
NAND: dict[str, Any] = {"system": "bare", "fs": "fatfs", "board": "omap3evm", "partition_blocks": 100}
DIRECT: dict[str, Any] = {}
LEVELLED: dict[str, Any] = {"translation": "wear-levelling"}
ON_DHARA: dict[str, Any] = {"translation": "dhara"}
ON_PAGE_MAP: dict[str, Any] = {"translation": "page-map"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with fatfs.so and dhara.so."""
    place = tmp_path_factory.mktemp("built")
    for adapter, name in (("fatfs", FATFS), ("dhara", DHARA)):
        source = os.environ.get(name, str(TOYS / adapter))
        words = ["foreign", "build", adapter, "--source", source, "--out", str(place / f"{adapter}.so")]
        assert root.run(words) == 0
    return place


def stack_of(built: Path, medium: dict[str, Any], keys: dict[str, Any]) -> ffslab.Stack:
    libraries = {"library": str(built / "fatfs.so")}
    if keys.get("translation") == "dhara":
        libraries["dhara_library"] = str(built / "dhara.so")
    return ffslab.Stack.of(medium | {"fatfs": libraries | keys})


@pytest.mark.parametrize(
    ("medium", "keys"),
    [(NOR, DIRECT), (NOR, LEVELLED), (NAND, DIRECT), (NAND, ON_DHARA), (NAND, ON_PAGE_MAP)],
    ids=str,
)
def test_files_are_there_after_a_mount_and_a_power_cut(
    built: Path, medium: dict[str, Any], keys: dict[str, Any]
) -> None:
    stack = stack_of(built, medium, keys)
    stack.mount()
    for number in range(6):
        stack.write_file(f"f{number}", bytes([number]) * (700 + number * 300))
    fd = stack.open("f1", "rdwr")
    stack.pwrite(fd, b"changed", 2500)
    stack.pwrite(fd, b"begin", 0)
    assert stack.fstat(fd).size_bytes == 2507
    stack.close(fd)
    with pytest.raises(OSError, match="file exists"):
        stack.rename("f1", "f2")
    with pytest.raises(OSError, match="no such file"):
        stack.write_file("d/a", b"")
    stack.rename("f1", "new")
    stack.unlink("f0")
    stack.umount()
    stack.mount()
    assert sorted(stack.listdir()) == ["f2", "f3", "f4", "f5", "new"]
    changed = stack.read_file("new")
    assert changed == b"begin" + b"\x01" * 995 + bytes(1500) + b"changed"
    # A torn operation can take the sector of the directory.
    stack.cut_power_after(1, torn="nothing")
    with pytest.raises(ffslab.PowerCut):
        stack.write_file("lost", b"lost" * 1000)
    stack.crash()
    stack.mount()
    assert stack.read_file("f5") == b"\x05" * 2200


EXPERIMENT = f"""
title = "FatFs"
[stack]
system = "bare"
fs = "fatfs"
board = "{{board}}"
partition_blocks = {{blocks}}
[stack.fatfs]
library = "fatfs.so"
{small_requests(16)}
[axes]
"fatfs.translation" = [{{translations}}]
"""


def test_translations_are_an_axis_and_say_what_they_do(built: Path, tmp_path: Path) -> None:
    text = EXPERIMENT.format(board="esp32-devkitc", blocks=128, translations='"none", "wear-levelling"')
    text = text.replace("partition_blocks", "erase_block_KiB = 4\npartition_blocks")
    run = ffslab.Experiment(text, "fatfs.toml", built).run()
    none, levelled = run.summary["variants"]
    spent = [spent_by(variant) for variant in (none, levelled)]
    for causes in spent:
        assert {"user data", "directory entry", "read"} <= set(causes) and "other" not in causes
    assert "wear levelling move" not in spent[0]
    # A move for each 16 erases.
    moves = spent[1]["wear levelling move"]["erases"]
    others = sum(cause["erases"] for cause in spent[1].values()) - moves
    assert others // 16 - 2 <= moves <= others // 16 + 1
    assert sum(cause["erases"] for cause in spent[0].values()) == others
    # The experiment that is kept with the results has no key that only one translation takes.
    assert "sector_size_B = 4096" not in run.resolved_toml and str(built / "fatfs.so") in run.resolved_toml
    again = ffslab.Experiment(run.resolved_toml, "again.toml", tmp_path).run()
    assert [variant["totals"] for variant in again.summary["variants"]] == [none["totals"], levelled["totals"]]


def test_dhara_spares_erases(built: Path) -> None:
    text = EXPERIMENT.format(board="omap3evm", blocks=100, translations='"none", "dhara"')
    text = text.replace("[[setup]]", 'dhara_library = "dhara.so"\n[[setup]]', 1)
    with pytest.raises(ffslab.InputError, match=r'fatfs\.dhara_library .* fatfs\.translation = "dhara" alone'):
        ffslab.Experiment(text, "dhara.toml", built).run()
    text = text.replace('"none", "dhara"', '"dhara"')
    (variant,) = ffslab.Experiment(text, "dhara.toml", built).run().summary["variants"]
    causes = spent_by(variant)
    assert "other" not in causes and causes["user data"]["page_programs"] > 200
    assert sum(cause["erases"] for cause in causes.values()) < 100


@pytest.mark.parametrize(
    ("medium", "keys", "told"),
    [
        (NOR, {"sector_size_B": 1000}, "fatfs.sector_size_B = 1000: 512, 1024, 2048 or 4096"),
        (NOR, {"cluster_size_B": 3000}, "fatfs.cluster_size_B = 3000: 0, or a power of two from 4096 to 524288"),
        (NOR, {"tables": 3}, "fatfs.tables = 3: 1 or 2"),
        (NOR, {"update_rate": 4}, 'fatfs.translation = "wear-levelling" alone'),
        (NOR | {"erase_block_KiB": 64}, LEVELLED, "erase_block_KiB = 4"),
        (NOR | {"partition_blocks": 4}, LEVELLED, "partition_blocks = 4"),
        (NAND, LEVELLED, "NOR with erase blocks"),
        (NOR, ON_DHARA, "NAND with pages"),
        (NAND, ON_DHARA | {"gc_ratio": 0}, "fatfs.gc_ratio = 0: 1 to 255"),
        (NOR, {"library": "none.so"}, "none.so"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    built: Path, medium: dict[str, Any], keys: dict[str, Any], told: str
) -> None:
    with pytest.raises(ffslab.InputError, match=re.escape(told)):
        stack_of(built, medium, keys)


def test_libraries_that_are_missing_are_asked_for(built: Path) -> None:
    with pytest.raises(ffslab.InputError, match="ffslab foreign build fatfs"):
        ffslab.Stack.of(NOR)
    with pytest.raises(ffslab.InputError, match="ffslab foreign build dhara"):
        ffslab.Stack.of(NAND | {"fatfs": {"library": str(built / "fatfs.so"), "translation": "dhara"}})


def test_what_is_wrong_with_the_sources_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def refused(*words: str) -> str:
        out = tmp_path / "a.so"
        assert root.run(["foreign", "build", *words, "--out", str(out)]) == 2
        assert not out.exists()
        return capsys.readouterr().err

    config = tmp_path / "mine.h"
    config.write_text("#define FFCONF_DEF FF_DEFINED\n#define FF_FS_READONLY 1\n", encoding="utf-8")
    assert "FF_FS_READONLY = 0" in refused("fatfs", "--source", str(TOYS / "fatfs"), "--config", str(config))
    assert "is not a file" in refused("fatfs", "--source", str(TOYS / "fatfs"), "--config", str(tmp_path / "none.h"))
    assert "ff.c is missing" in refused("fatfs", "--source", str(tmp_path))
    assert "map.h is missing" in refused("dhara", "--source", str(tmp_path))
    assert "has no configuration" in refused("dhara", "--source", str(TOYS / "dhara"), "--config", str(config))
    old = tmp_path / "old"
    shutil.copytree(TOYS / "fatfs", old)
    text = (old / "ff.h").read_text(encoding="utf-8")
    (old / "ff.h").write_text(text.replace("R0.16", "R0.12"), encoding="utf-8")
    assert "FatFs is R0.12: R0.14 and later" in refused("fatfs", "--source", str(old))
    (old / "ff.h").write_text(text.replace("#if !defined(FFCONF_DEF)", "#if 1"), encoding="utf-8")
    told = refused("fatfs", "--source", str(old), "--config", str(config))
    assert "takes only the ffconf.h beside its ff.h" in told


def test_the_table_beside_esp_idf_is_true(ffslab: Command, built: Path, tmp_path: Path) -> None:
    if FATFS not in os.environ:
        pytest.skip(f"{FATFS} is not set: it names components/fatfs/src of https://github.com/espressif/esp-idf")
    place = tmp_path / "esp-idf"
    shutil.copytree(ROOT / "experiments/bare/esp-idf", place)
    shutil.copy(built / "fatfs.so", place)
    done = ffslab("run", str(place / "fatfs.toml"), "--json", "--out", str(tmp_path / "out"))
    steps = json.loads(done.stdout)["variants"][0]["steps"]
    timed = [step["latency_us"]["mean"] / 1000 for step in steps if step["step"].split()[0] in ("append", "requests")]
    written = (ROOT / "docs/littlefs.md").read_text(encoding="utf-8")
    published = {"write": (1053.682, 1259.972, 850.835), "read": (8.124, 10.728, 7.156)}
    for number, size in enumerate(("65,536", "78,643", "54,613")):
        for op, found in (("write", timed[2 * number]), ("read", timed[2 * number + 1])):
            assert abs(found / published[op][number] - 1) < 0.15, (op, size, found)
            assert re.search(rf"\| FAT, {op} {size} B \| [0-9.]+ \| {found:.{1 if op == 'write' else 2}f} \|", written)


def test_settings_and_a_log_on_dhara(ffslab: Command, built: Path, tmp_path: Path) -> None:
    """The experiment of docs/key-value.md, with the toys; its row is compared where the real sources are named."""
    text = (ROOT / "experiments/one-part/spi-nand/fatfs.toml").read_text(encoding="utf-8")
    is_real = FATFS in os.environ and DHARA in os.environ
    count = 1000 if is_real else 40
    if not is_real:
        # The toy has few entries and short files.
        text = text.replace("keys = 20", "keys = 4").replace("count = 1000", f"count = {count}")
    (built / "one-part.toml").write_text(text, encoding="utf-8")
    done = ffslab("run", str(built / "one-part.toml"), "--json", "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    (variant,) = json.loads(done.stdout)["variants"]
    sets, appends, gets = variant["steps"]
    assert [step["requests_done"] for step in (sets, appends, gets)] == [count, count, 200]
    assert "other" not in spent_by(variant)
    if is_real:
        cells = [
            *(f"{sets['latency_us'][name] / 1000:,.2f}" for name in ("mean", "max")),
            *(f"{step['latency_us']['mean'] / 1000:,.2f}" for step in (appends, gets)),
            *(f"{sets['counts'][name] + appends['counts'][name]:,}" for name in ("page_programs", "erases")),
            years([sets, appends, gets]),
            chip_energy([sets, appends], "w25n02kv"),
        ]
        assert "| ".join(["", *(f"{cell} " for cell in cells)]) in (ROOT / "docs/key-value.md").read_text(
            encoding="utf-8"
        )
