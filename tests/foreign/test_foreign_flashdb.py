"""`ffslab foreign build flashdb`: the KVDB of a user's FlashDB, in the place of a file system.

FlashDB stands in no registry, so that a toy with its interface is compiled here. With FFSLAB_FLASHDB, a real tree, the
same tests run on that, and what it leaves on the chip is read by its format.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import ffslab
from ffslab.cli import root
from helpers.command import ROOT
from helpers.flashdb import Format
from helpers.loaded_stores import DELETED, VALUE_B, VALUES, Work, nor, refuses
from helpers.small_work import spent_by

TOY = ROOT / "tests/foreign/flashdb"
FLASHDB = "FFSLAB_FLASHDB"
NOR = nor("flashdb")
# They take about half a sector, so that sectors are collected.
WORK = Work(keys=25, count=600)
# What libraries are built with: FlashDB's own values, and the headers of two builds.
CONFIGS = {
    "flashdb": None,
    "no-cache": "#define FDB_WRITE_GRAN 1\n#define FDB_KV_CACHE_TABLE_SIZE 0\n#define FDB_DEBUG_ENABLE\n",
    "gran-64": "#define FDB_USING_FILE_LIBC_MODE\n#define FDB_WRITE_GRAN 64\n#define FDB_KV_AUTO_UPDATE\n",
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a library of each configuration."""
    place = tmp_path_factory.mktemp("built")
    for name, config in CONFIGS.items():
        words = ["foreign", "build", "flashdb", "--source", os.environ.get(FLASHDB, str(TOY))]
        if config:
            (place / "fdb_cfg.h").write_text(config, encoding="utf-8")
            words += ["--config", str(place / "fdb_cfg.h")]
        assert root.run([*words, "--out", str(place / f"{name}.so")]) == 0
    (place / "values.bin").write_bytes(VALUES)
    return place


ON_PAGE_MAP = {"board": "luckfox-pico-max", "part": "w25n02kv", "partition_blocks": 32}


@pytest.mark.parametrize(
    ("library", "stack", "keys"),
    [
        ("flashdb", NOR, ""),
        ("no-cache", NOR, ""),
        ("gran-64", NOR | {"partition_blocks": 8}, "sector_size_B = 8192\n"),
        (
            "flashdb",
            {key: value for key, value in NOR.items() if key != "erase_block_KiB"} | ON_PAGE_MAP,
            '[stack.store]\ntranslation = "page-map"\nspare = 0.8\n',
        ),
    ],
    ids=["usual", "no-cache", "larger", "page-map"],
)
def test_values_are_there_after_garbage_collections_and_a_crash(
    built: Path, library: str, stack: dict[str, Any], keys: str
) -> None:
    run = ffslab.Experiment(WORK.experiment(stack, f"{library}.so", keys), "kvdb.toml", built).run()
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
    assert {"set", "get", "iterate", "deletion", "mount scan"} <= set(spent)
    assert "other" not in spent
    # On the page map there are so many sectors that none has to be collected.
    if "translation" not in keys:
        # Nothing but the erase of a sector erases.
        assert "gc move" in spent
        erases = sum(cause["erases"] for cause in spent.values())
        assert spent["sector erase"]["erases"] + spent.get("formatting", {"erases": 0})["erases"] == erases > 5
    assert str(built / f"{library}.so") in run.resolved_toml


def test_libraries_are_an_axis(built: Path) -> None:
    axis = '[axes]\n"flashdb.library" = ["flashdb.so", "gran-64.so"]\n'
    run = ffslab.Experiment(WORK.experiment(NOR, "flashdb.so") + axis, "kvdb.toml", built).run()
    first, second = run.summary["variants"]
    # Units of 8 bytes are filled up.
    assert second["steps"][0]["counts"]["bus_in_B"] > first["steps"][0]["counts"]["bus_in_B"]
    assert str(built / "gran-64.so") in run.resolved_toml


@pytest.mark.parametrize(
    ("stack", "keys", "told"),
    [
        ({}, {"sector_size_B": 6000}, "flashdb.sector_size_B = 6000: a multiple of the 4096 bytes"),
        ({}, {"sector_size_B": 12288}, "partition_blocks = 4: 2 to"),
        ({"partition_blocks": 8}, {"sector_size_B": 12288}, "flashdb.sector_size_B = 12288: a power of two"),
        ({"partition_blocks": 5}, {"sector_size_B": 8192}, "partition_blocks = 5: a whole number of sectors of 8192"),
        ({}, {"library": "none.so"}, "`ffslab foreign build flashdb` makes it of your sources"),
        ({"fs": "zephyr-nvs"}, {}, "it is a library of flashdb: `ffslab foreign build zephyr-nvs` makes one"),
    ],
)
def test_settings_that_cannot_be_are_refused(
    built: Path, stack: dict[str, Any], keys: dict[str, Any], told: str
) -> None:
    refuses(NOR | stack, {"library": str(built / "flashdb.so")} | keys, told)


def test_nand_and_a_missing_table_are_told(built: Path) -> None:
    nand: dict[str, Any] = {"system": "bare", "fs": "flashdb", "board": "omap3evm", "partition_blocks": 16}
    with pytest.raises(ffslab.InputError, match=r"needs NOR flash.*store\.translation"):
        ffslab.Stack.of(nand | {"flashdb": {"library": str(built / "flashdb.so")}})
    with pytest.raises(ffslab.InputError, match="ffslab foreign build flashdb"):
        ffslab.Stack.of(NOR)


def test_a_key_that_is_too_long_is_told(built: Path) -> None:
    name = "k" * 60 + "####"
    text = WORK.experiment(NOR, "flashdb.so").replace(
        f"keys = {WORK.keys}\n", f'keys = {WORK.keys}\nname = "{name}"\n', 1
    )
    with pytest.raises(ffslab.InputError, match="ENAMETOOLONG"):
        ffslab.Experiment(text, "kvdb.toml", built).run()


@pytest.mark.parametrize("name_max", [15, 7], ids=["reads", "assertion"])
def test_a_mount_that_would_never_end_is_told(built: Path, tmp_path: Path, name_max: int) -> None:
    """The toy with such a setting waits for ever."""
    config, library = tmp_path / "small.h", tmp_path / "hangs.so"
    config.write_text(f"#define FDB_WRITE_GRAN 1\n#define FDB_KV_NAME_MAX {name_max}\n", encoding="utf-8")
    words = ["foreign", "build", "flashdb", "--source", str(TOY), "--config", str(config), "--out", str(library)]
    assert root.run(words) == 0
    (tmp_path / "values.bin").write_bytes(VALUES)
    with pytest.raises(ffslab.InputError, match="flashdb does not come to an end: the program would hang"):
        ffslab.Experiment(WORK.experiment(NOR, "hangs.so"), "kvdb.toml", tmp_path).run()


def test_a_call_that_never_ends_ends_the_command(tmp_path: Path) -> None:
    """Of any library: one that does nothing with its flash is not asked to end, so that the process ends."""
    toy, library = tmp_path / "toy", tmp_path / "hangs.so"
    shutil.copytree(TOY, toy)
    source = toy / "src" / "fdb_kvdb.c"
    code, before = source.read_text(encoding="utf-8"), "    return find_kv(db, key, kv) && kv->value_len"
    assert code.count(before) == 1
    source.write_text(code.replace(before, f"    for (;;) {{\n    }}\n{before}"), encoding="utf-8")
    assert root.run(["foreign", "build", "flashdb", "--source", str(toy), "--out", str(library)]) == 0
    (tmp_path / "values.bin").write_bytes(VALUES)
    (tmp_path / "kvdb.toml").write_text(WORK.experiment(NOR, "hangs.so"), encoding="utf-8")
    words = [sys.executable, "-m", "ffslab", "run", "kvdb.toml"]
    environment = os.environ | {"FFSLAB_FOREIGN_CPU_S": "0"}
    ran = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 2
    assert "hangs.so: a call of this library does not come to an end: it has used 0 s of CPU time" in ran.stderr


def test_sources_are_found_and_others_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "a.so"

    def built_of(source: Path, *words: str) -> tuple[int, str]:
        code = root.run(["foreign", "build", "flashdb", "--source", str(source), *words, "--out", str(out)])
        said = capsys.readouterr()
        return code, said.out + said.err

    assert built_of(TOY / "src") == (0, f"{out}: FlashDB 2.99.1\n")
    out.unlink()
    assert "src/fdb_kvdb.c is missing" in built_of(tmp_path)[1]
    old = tmp_path / "old"
    for file in TOY.rglob("*.[ch]"):
        copy = old / file.relative_to(TOY)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(file.read_text(encoding="utf-8").replace('"2.99.1"', '"1.1.2"'), encoding="utf-8")
    assert built_of(old)[1].endswith("FlashDB is 1.1.2: 2.0 and later ones can be built\n")
    config = tmp_path / "mine.h"
    assert "name the header that your build has as fdb_cfg.h" in built_of(TOY, "--config", str(config))[1]
    config.write_text('#error "no such board"\n', encoding="utf-8")
    code, said = built_of(TOY, "--config", str(config))
    assert code == 2 and 'error: #error "no such board"' in said and not out.exists()


@pytest.mark.parametrize(("library", "granularity"), [("flashdb", 1), ("no-cache", 1), ("gran-64", 64)])
def test_the_chip_holds_what_the_format_says(built: Path, tmp_path: Path, library: str, granularity: int) -> None:
    if FLASHDB not in os.environ:
        pytest.skip(f"{FLASHDB} is not set: it names a tree of https://github.com/armink/FlashDB")
    run = ffslab.Experiment(WORK.experiment(NOR, f"{library}.so"), "kvdb.toml", built).run()
    expected = {f"key{number:04}".encode(): value for number, value in WORK.writes()}
    for number in range(DELETED):
        del expected[f"key{number:04}".encode()]
    image = (run.save(tmp_path / "results") / "images/after.bin").read_bytes()
    assert Format(granularity).values(image, 4096) == expected
