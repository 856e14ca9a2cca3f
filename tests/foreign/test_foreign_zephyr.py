"""`ffslab foreign build zephyr-nvs` and `zephyr-zms`: stores of a user's Zephyr tree, in the place of a file system.

Zephyr stands in no registry. So stand-ins are compiled here that were written from its documentation and leave the
bytes that this tells. With FFSLAB_ZEPHYR, a real tree, the same tests run on that. What is left on the chip is compared
with writers that follow the formats.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

import ffslab
from ffslab.cli import root
from helpers.command import ROOT
from helpers.loaded_stores import DELETED, VALUE_B, VALUES, Work, nor, refuses
from helpers.small_work import spent_by
from helpers.zephyr_nvs import ATE_B, ZephyrNvs
from helpers.zephyr_zms import ENTRY_B, ZephyrZms

STORES = ("nvs", "zms")
TOYS = {store: ROOT / f"tests/foreign/zephyr-{store}" for store in STORES}
ZEPHYR = "FFSLAB_ZEPHYR"
# A sector has room for 59 of the values, so that those that do not change are moved again and again.
WORK = Work(keys=40, count=1000)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a library of each store."""
    place = tmp_path_factory.mktemp("built")
    for store in STORES:
        words = ["foreign", "build", f"zephyr-{store}", "--source", os.environ.get(ZEPHYR, str(TOYS[store]))]
        assert root.run([*words, "--out", str(place / f"zephyr-{store}.so")]) == 0
    (place / "values.bin").write_bytes(VALUES)
    return place


def machine(store: str) -> dict[str, Any]:
    return nor(f"zephyr-{store}")


def experiment(stack: dict[str, Any], keys: str = "") -> str:
    return WORK.experiment(stack, f"{stack['fs']}.so", keys)


@pytest.mark.parametrize("store", STORES)
def test_a_thousand_values_are_there_after_garbage_collections_and_a_crash(store: str, built: Path) -> None:
    run = ffslab.Experiment(experiment(machine(store)), "store.toml", built).run()
    (variant,) = run.summary["variants"]
    fills, sets, deletes, _, _, gets, listed, _ = variant["steps"]
    assert [step["requests_done"] for step in (fills, sets, deletes, gets)] == [
        WORK.keys,
        WORK.count,
        DELETED,
        WORK.left,
    ]
    assert listed["bytes_accepted_B"] == WORK.left * VALUE_B
    spent = spent_by(variant)
    own = {"nvs": "key search", "zms": "sector header"}[store]
    assert {"set", "get", "iterate", "deletion", "gc move", "sector erase", "mount scan", own} <= set(spent)
    assert "other" not in spent
    # Nothing but the erase of a sector erases, and each erase is one of a sector that was collected.
    assert spent["sector erase"]["erases"] == sum(cause["erases"] for cause in spent.values()) >= WORK.count // 60 - 4
    assert str(built / f"zephyr-{store}.so") in run.resolved_toml and "write_block_B = 1" in run.resolved_toml


@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("write_block", [4, 8])
def test_units_that_are_written_at_once_and_larger_sectors(store: str, built: Path, write_block: int) -> None:
    keys = f"sector_size_B = 8192\nwrite_block_B = {write_block}\n"
    text = experiment(machine(store) | {"partition_blocks": 8}, keys)
    (variant,) = ffslab.Experiment(text, "store.toml", built).run().summary["variants"]
    assert variant["steps"][5]["requests_done"] == WORK.left and "other" not in spent_by(variant)


@pytest.mark.parametrize("store", STORES)
def test_it_stands_on_a_page_map(store: str, built: Path) -> None:
    stack = machine(store) | {"board": "luckfox-pico-max", "part": "w25n02kv", "partition_blocks": 32}
    del stack["erase_block_KiB"]
    below = '[stack.store]\ntranslation = "page-map"\nspare = 0.8\n'
    (variant,) = ffslab.Experiment(experiment(stack, below), "store.toml", built).run().summary["variants"]
    assert variant["steps"][5]["requests_done"] == WORK.left and "other" not in spent_by(variant)


@pytest.mark.parametrize(
    ("store", "stack", "keys", "told"),
    [
        ("nvs", {}, {"sector_size_B": 6000}, "zephyr_nvs.sector_size_B = 6000: a multiple of the 4096 bytes"),
        ("nvs", {}, {"sector_size_B": 131072}, "zephyr_nvs.sector_size_B = 131072: a multiple of"),
        ("zms", {}, {"write_block_B": 3}, "zephyr_zms.write_block_B = 3: 1, 2, 4, 8, 16 or 32"),
        ("zms", {}, {"names": "key"}, 'zephyr_zms.names = "key": one run of #'),
        ("nvs", {}, {"library": "none.so"}, "`ffslab foreign build zephyr-nvs` makes it of your sources"),
        ("nvs", {"partition_blocks": 1}, {}, "partition_blocks = 1: 2 to 65535 sectors of 4096 bytes"),
        ("zms", {"fs": "zephyr-nvs"}, {}, "it is a library of zephyr-zms: `ffslab foreign build zephyr-nvs` makes one"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    store: str, built: Path, stack: dict[str, Any], keys: dict[str, Any], told: str
) -> None:
    refuses(machine(store) | stack, {"library": str(built / f"zephyr-{store}.so")} | keys, told)


def test_nand_and_a_missing_library_are_told(built: Path) -> None:
    nand: dict[str, Any] = {"system": "bare", "fs": "zephyr-nvs", "board": "omap3evm", "partition_blocks": 16}
    with pytest.raises(ffslab.InputError, match=r"needs NOR flash.*store\.translation"):
        ffslab.Stack.of(nand | {"zephyr_nvs": {"library": str(built / "zephyr-nvs.so")}})
    with pytest.raises(ffslab.InputError, match="ffslab foreign build zephyr-nvs"):
        ffslab.Stack.of(machine("nvs"))
    os.mkfifo(built / "pipe.so")
    with pytest.raises(ffslab.InputError, match="it is no regular file"):
        ffslab.Stack.of(machine("nvs") | {"zephyr_nvs": {"library": str(built / "pipe.so")}})
    (built / "text.so").write_text("no library\n", encoding="utf-8")
    with pytest.raises(ffslab.InputError, match="ffslab foreign build zephyr-nvs` makes a library") as told:
        ffslab.Stack.of(machine("nvs") | {"zephyr_nvs": {"library": str(built / "text.so")}})
    assert str(told.value).count("text.so") == 1


def test_a_limit_that_is_no_number_is_refused(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default held in its place."""
    (built / "limited.so").write_bytes((built / "zephyr-nvs.so").read_bytes())
    monkeypatch.setenv("FFSLAB_FOREIGN_CPU_S", "5s")
    with pytest.raises(ffslab.InputError, match="FFSLAB_FOREIGN_CPU_S=5s: must be a whole number of seconds"):
        ffslab.Stack.of(machine("nvs") | {"zephyr_nvs": {"library": str(built / "limited.so")}})


@pytest.mark.parametrize("name", ["log####", "key##"])
def test_a_key_that_names_no_number_is_told(built: Path, name: str) -> None:
    text = experiment(machine("nvs")).replace("count = 3", f'count = 3\nname = "{name}"')
    with pytest.raises(ffslab.InputError, match="EINVAL"):
        ffslab.Experiment(text, "store.toml", built).run()


def test_sources_are_found_by_the_tree_or_by_their_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a.so"

    def built_of(source: Path, *words: str) -> tuple[int, str]:
        code = root.run(["foreign", "build", "zephyr-nvs", "--source", str(source), *words, "--out", str(out)])
        said = capsys.readouterr()
        return code, said.out + said.err

    assert built_of(TOYS["nvs"] / "subsys/kvss/nvs") == (0, f"{out}: Zephyr's NVS 99.1.0\n")
    # As trees before 4.4 and before 3.1 have them, and the files alone.
    for folder, header, included in (
        ("subsys/fs/nvs", "include/zephyr/fs/nvs.h", "zephyr/fs/nvs.h"),
        ("subsys/fs/nvs", "include/fs/nvs.h", "fs/nvs.h"),
        ("alone", "alone/nvs.h", "zephyr/kvss/nvs.h"),
    ):
        tree = tmp_path / included.replace("/", "-")
        shutil.copytree(TOYS["nvs"] / "subsys/kvss/nvs", tree / folder)
        (tree / header).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(TOYS["nvs"] / "include/zephyr/kvss/nvs.h", tree / header)
        source = tree / folder / "nvs.c"
        source.write_text(source.read_text(encoding="utf-8").replace("zephyr/kvss/nvs.h", included), encoding="utf-8")
        assert built_of(tree if folder != "alone" else tree / folder) == (0, f"{out}: Zephyr's NVS\n")
    out.unlink()
    for source, told in ((tmp_path, "nvs.c is missing"), (tmp_path / "fs-nvs.h/include", "nvs.c is missing")):
        assert told in built_of(source)[1]
    shutil.rmtree(tmp_path / "fs-nvs.h/include")
    assert "nvs.h of this Zephyr is missing" in built_of(tmp_path / "fs-nvs.h")[1]
    config = tmp_path / "autoconf.h"
    assert "name autoconf.h of your build" in built_of(TOYS["nvs"], "--config", str(config))[1]
    config.write_text('#error "no such board"\n', encoding="utf-8")
    code, said = built_of(TOYS["nvs"], "--config", str(config))
    assert code == 2 and 'error: #error "no such board"' in said and not out.exists()


class Counted(ZephyrNvs):
    """The writer of the format, which counts as the chip does: programs of its pages of 256 bytes, and erases."""

    programs = 0
    erases = 0
    # Garbage collection copies in pieces of `NVS_BLOCK_SIZE`.
    copies = False

    def _put(self, at: int, data: bytes) -> None:
        super()._put(at, data)
        piece = 32 if self.copies and len(data) > ATE_B else max(1, len(data))
        for begin in range(at, at + len(data), piece):
            end = min(begin + piece, at + len(data))
            self.programs += (end - 1) // 256 - begin // 256 + 1

    def collect(self, *, finish: bool = True) -> None:
        self.copies = True
        super().collect(finish=finish)
        self.copies = False
        self.erases += 1


def test_the_chip_holds_what_the_format_of_nvs_says(built: Path, tmp_path: Path) -> None:
    run = ffslab.Experiment(experiment(machine("nvs")), "store.toml", built).run()
    (variant,) = run.summary["variants"]
    nvs = Counted(4, 4096, write_B=1)
    expected = dict(WORK.writes())
    for number, value in WORK.writes():
        nvs.write(number, value)
    counts = [step["counts"] for step in variant["steps"][:2]]
    found = [sum(count[name] for count in counts) for name in ("page_programs", "erases")]
    # The mark in the first sector is written by the mount before.
    assert found == [nvs.programs - 1, nvs.erases]
    for number in range(DELETED):
        nvs.delete(number)
        del expected[number]
    image = run.save(tmp_path / "results") / "images/after.bin"
    assert without_parts(image.read_bytes()) == without_parts(nvs.image())
    assert root.run(["extract", str(image), str(tmp_path / "values")]) == 0
    files = {path.name: path.read_bytes() for path in (tmp_path / "values").iterdir()}
    assert files == {f"0x{number:04x}": value for number, value in expected.items()}


def without_parts(image: bytes) -> list[bytes]:
    """An image in entries, without the part of marks and their check sum: before Zephyr 4 nobody sets the part."""
    entries = [image[at : at + ATE_B] for at in range(0, len(image), ATE_B)]
    return [entry[:6] if entry[:2] == b"\xff\xff" and entry[4:6] == bytes(2) else entry for entry in entries]


def test_the_chip_holds_what_the_format_of_zms_says(built: Path, tmp_path: Path) -> None:
    run = ffslab.Experiment(experiment(machine("zms")), "store.toml", built).run()
    zms = ZephyrZms(4, 4096)
    for number, value in WORK.writes():
        zms.write(number, value)
    for number in range(DELETED):
        zms.delete(number)
    image = run.save(tmp_path / "results") / "images/after.bin"
    assert without_cycles(image.read_bytes()) == without_cycles(zms.image())


def without_cycles(image: bytes) -> list[bytes]:
    """An image in entries, without the count of cycles in headers and their check sum: before 2026 nobody counts."""
    entries = [image[at : at + ENTRY_B] for at in range(0, len(image), ENTRY_B)]
    return [entry[1:8] + entry[12:] if entry[2:8] == b"\xff" * 6 and entry[12] == 1 else entry for entry in entries]
