"""Key-value stores on a bare program, and the same steps on file systems."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.command import ROOT, Command
from helpers.one_part import chip_energy, years

NOR: dict[str, Any] = {
    "system": "bare",
    "board": "licheepi-nano",
    "part": "w25q128jv",
    "erase_block_KiB": 4,
    "partition_blocks": 32,
}
STORES = ["sequential-storage", "ekv", "tickv"]
FILE_SYSTEMS: dict[str, dict[str, Any]] = {
    "littlefs": NOR | {"fs": "littlefs"},
    "yaffs2": {"system": "bare", "board": "omap3evm", "fs": "yaffs2", "partition_blocks": 64},
    "ubifs": {"board": "omap3evm", "fs": "ubifs", "partition_blocks": 64},
    "jffs2": {"board": "omap3evm", "fs": "jffs2", "partition_blocks": 64},
}
WORK = """
[[setup]]
step = "mount"
[[measure]]
step = "set"
keys = 10
bytes = 100
count = 60
pattern = "random"
[[measure]]
step = "get"
keys = 10
[[measure]]
step = "delete"
keys = 10
count = 3
[[measure]]
step = "get"
keys = 10
"""
ITERATE = '[[measure]]\nstep = "iterate"\n'


def written(tmp_path: Path, stack: dict[str, Any], steps: str) -> str:
    """The file of an experiment."""
    keys = "\n".join(f"{key} = {json.dumps(value)}" for key, value in stack.items() if not isinstance(value, dict))
    tables = "".join(
        f"\n[stack.{name}]\n" + "\n".join(f"{key} = {json.dumps(value)}" for key, value in table.items())
        for name, table in stack.items()
        if isinstance(table, dict)
    )
    file = tmp_path / "experiment.toml"
    file.write_text(f'title = "Keys"\n[stack]\n{keys}\n{tables}\n{steps}')
    return str(file)


def ran(ffslab: Command, tmp_path: Path, stack: dict[str, Any], steps: str) -> dict[str, Any]:
    out = tmp_path / "results"
    done = ffslab("run", written(tmp_path, stack, steps), "--out", str(out))
    assert done.returncode == 0, done.stderr
    variant: dict[str, Any] = json.loads((out / "summary.json").read_text())["variants"][0]
    return variant


@pytest.mark.parametrize("name", [*STORES, *FILE_SYSTEMS])
def test_the_same_steps_run_on_stores_and_on_file_systems(ffslab: Command, tmp_path: Path, name: str) -> None:
    stack = FILE_SYSTEMS.get(name, NOR | {"fs": name})
    variant = ran(ffslab, tmp_path, stack, WORK + (ITERATE if name != "tickv" else ""))
    steps = variant["steps"]
    assert [step["requests_done"] for step in steps[:4]] == [60, 10, 3, 7]
    assert any("3 of 10 keys were not there" in note for note in variant["notes"]), variant["notes"]
    if name != "tickv":
        assert steps[4]["bytes_accepted_B"] == 7 * 100
    # Each operation of a store has a cause of its own.
    if name in STORES:
        assert not [cause for cause in variant["by_cause"] if cause["reason"] in ("other", "user data", "metadata")]


def store_rows(summary: dict[str, Any]) -> list[str]:
    """The rows of docs/key-value.md, from the results of its experiment."""
    rows = []
    for variant in summary["variants"]:
        sets, gets, _, boot, _ = variant["steps"]
        cells = [
            variant["axes"]["fs"],
            *(f"{sets['latency_us'][name] / 1000:,.2f}" for name in ("mean", "p99", "max")),
            f"{gets['latency_us']['mean'] / 1000:,.2f}",
            f"{boot['elapsed_us'] / 1000:,.1f}",
            *(f"{sets['counts'][name]:,}" for name in ("page_reads", "page_programs", "erases")),
        ]
        rows.append("| " + " | ".join(cells) + " |")
    return rows


def test_the_comparison_is_true(ffslab: Command, tmp_path: Path) -> None:
    experiment = ROOT / "experiments/bare/key-value.toml"
    summary = json.loads(ffslab("run", str(experiment), "--json", "--out", str(tmp_path / "out")).stdout)
    written = (ROOT / "docs/key-value.md").read_text(encoding="utf-8")
    for row in store_rows(summary):
        assert row in written, row


def part_row(variant: dict[str, Any]) -> str:
    """The row of docs/key-value.md of one file system on the part."""
    sets, appends, gets = variant["steps"]
    times = [
        sets["latency_us"]["mean"],
        sets["latency_us"]["max"],
        appends["latency_us"]["mean"],
        gets["latency_us"]["mean"],
    ]
    both = [sets["counts"][name] + appends["counts"][name] for name in ("page_programs", "erases")]
    return " | ".join([*(f"{time_us / 1000:,.2f}" for time_us in times), *(f"{count:,}" for count in both)])


ON_ONE_PART = ["littlefs", "yaffs2", "ubifs", "fat", "fat-bare"]


@pytest.mark.parametrize(
    ("folder", "fs"),
    [
        *(("one-part", fs) for fs in ON_ONE_PART),
        *(("one-part/spi-nand", fs) for fs in [*ON_ONE_PART, "sequential-storage", "ekv"]),
    ],
)
def test_the_tables_of_one_part_are_true(ffslab: Command, tmp_path: Path, folder: str, fs: str) -> None:
    experiment = ROOT / f"experiments/{folder}/{fs}.toml"
    summary = json.loads(ffslab("run", str(experiment), "--json", "--out", str(tmp_path / "out")).stdout)
    steps = summary["variants"][0]["steps"]
    row = f"{part_row(summary['variants'][0])} | {years(steps)} |"
    # Of the changes and records.
    if folder == "one-part":
        # RTEMS has none.
        energy = [step["energy_uJ"] for step in steps[:2] if step["energy_uJ"]]
        row += f" {sum(of_step['total'] for of_step in energy) / 1000:,.0f} |" if energy else " |"
    else:
        row += f" {chip_energy(steps[:2], 'w25n02kv')} |"
    assert row in (ROOT / "docs/key-value.md").read_text(encoding="utf-8"), row


def test_what_file_systems_keep_in_ram_follows_from_the_sizes_of_the_part(ffslab: Command, tmp_path: Path) -> None:
    variant = ran(ffslab, tmp_path, FILE_SYSTEMS["ubifs"], WORK)
    flash, blocks = variant["flash"], FILE_SYSTEMS["ubifs"]["partition_blocks"]
    page_bytes, block_bytes = flash["page_B"], flash["page_B"] * flash["pages_per_block"]
    # core/yaffs_guts.h, compiled for 32-bit ARM: yaffs_cache, yaffs_dev, yaffs_obj, yaffs_tnode; of each block
    # yaffs_block_info and a bit of each page; and the list of what garbage collection cleans up.
    caches, buffers = 10 * (28 + page_bytes), 6 * page_bytes
    yaffs2 = 3_740 + caches + buffers + blocks * (8 + flash["pages_per_block"] // 8) + 4 * flash["pages_per_block"]
    yaffs2 += 100 * 160 + 100 * 32
    # UBI takes a sub-page for each of its headers.
    leb_bytes = block_bytes - page_bytes
    rows = {
        "YAFFS2": yaffs2,
        "UBIFS": 4 * leb_bytes,
        "UBI below it": 2 * block_bytes,
        "FAT of the crate fatfs": 4 * page_bytes,
    }
    written = (ROOT / "docs/key-value.md").read_text(encoding="utf-8")
    for name, size_bytes in rows.items():
        assert f"| {name} | {size_bytes:,} |" in written, (name, size_bytes)


def test_what_is_no_file_system_has_no_files(ffslab: Command, tmp_path: Path) -> None:
    mount = '[[setup]]\nstep = "mount"\n'
    for steps, told in (
        ('[[measure]]\nstep = "create"\nfile = "a"\nbytes = 10\n', "files (its steps are set, get, delete, iterate)"),
        ('[[measure]]\nstep = "iterate"\n', "list of its keys, only hashes of them"),
    ):
        done = ffslab("run", written(tmp_path, NOR | {"fs": "tickv"}, mount + steps))
        assert done.returncode == 2 and told in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("stack", "told"),
    [
        (
            {"fs": "sequential-storage", "sequential_storage": {"word_B": 3}},
            "sequential_storage.word_B = 3",
        ),
        ({"fs": "sequential-storage", "sequential_storage": {"buffer_B": 9}}, "sequential_storage.buffer_B = 9"),
        ({"fs": "ekv", "partition_blocks": 300}, "partition_blocks = 300: ekv needs 16 to 256 erase blocks"),
        ({"fs": "ekv", "erase_block_KiB": 64}, "erase_block_KiB = 64: ekv is compiled here for erase blocks of 4 KiB"),
        ({"fs": "tickv", "ekv": {"random_seed": 1}}, "ekv"),
        (
            {"fs": "ekv", "ekv": {"random_seed": "x"}},
            'experiment.toml:11: [stack.ekv] random_seed: invalid type: string "x", expected a whole number',
        ),
        ({"fs": "ekv", "ekv": {"seed": 1}}, "experiment.toml:11: [stack.ekv]: unknown key `seed`"),
        (
            {"fs": "ekv", "policy": "greedy"},
            'experiment.toml:9: [stack] policy: invalid type: string "greedy", expected a table',
        ),
        ({"fs": "ekv", "yaffs2_version": "2010"}, "yaffs2_version belongs to yaffs2, not to ekv: leave it out"),
    ],
)
def test_settings_that_cannot_be_are_refused(ffslab: Command, tmp_path: Path, stack: dict[str, Any], told: str) -> None:
    done = ffslab("run", written(tmp_path, NOR | stack, '[[measure]]\nstep = "mount"\n'))
    assert done.returncode == 2 and told in done.stderr, done.stderr


def test_settings_of_one_store_stand_beside_others(ffslab: Command, tmp_path: Path) -> None:
    """They are those of its variants alone; a store that is none of them has none."""
    stack = NOR | {"fs": "ekv", "sequential_storage": {"cache": "none"}, "ekv": {"random_seed": 5}}
    axes = '[axes]\nfs = ["sequential-storage", "ekv", "littlefs"]\n'
    steps = '[[setup]]\nstep = "mount"\n[[measure]]\nstep = "set"\nkeys = 4\nbytes = 20\n'
    done = ffslab("run", written(tmp_path, stack, steps + axes), "--json")
    assert done.returncode == 0, done.stderr
    cache, seed, neither = (variant["stack"] for variant in json.loads(done.stdout)["variants"])
    assert cache["sequential_storage"]["cache"] == "none" and "ekv" not in cache
    assert seed["ekv"]["random_seed"] == 5 and "sequential_storage" not in seed
    assert not {"ekv", "sequential_storage"} & neither.keys()
    done = ffslab("run", written(tmp_path, stack, steps + axes.replace('"ekv", ', "")))
    assert done.returncode == 2 and "ekv belongs to ekv, not to sequential-storage" in done.stderr, done.stderr


def test_stores_on_a_page_map_keep_what_was_set_over_a_cut(ffslab: Command, tmp_path: Path) -> None:
    for fs in STORES:
        stack = {"system": "bare", "fs": fs, "board": "luckfox-pico-max", "part": "w25n02kv", "partition_blocks": 32}
        stack["store"] = {"translation": "page-map", "spare": 0.8}
        crash = '[[measure]]\nstep = "crash"\n[[measure]]\nstep = "mount"\n[[measure]]\nstep = "get"\nkeys = 10\n'
        variant = ran(ffslab, tmp_path, stack, WORK + crash)
        assert variant["steps"][-1]["requests_done"] == 7
        spent = {cause["reason"] for cause in variant["by_cause"]}
        assert {"set", "get", "read-modify-write"} <= spent and "other" not in spent, spent


@pytest.mark.parametrize(
    ("store", "told"),
    [
        (
            {"translation": "wear-levelling"},
            'store.translation = "wear-levelling": "none" or "page-map" can stand below',
        ),
        ({"spare": 0.5}, 'store.translation = "page-map" alone'),
        ({"translation": "page-map", "spare": 1.5}, "store.spare = 1.5: a share is needed"),
        ({"translation": "page-map", "spare": 0.01}, "spare = "),
    ],
)
def test_what_cannot_stand_below_a_store_is_refused(
    ffslab: Command, tmp_path: Path, store: dict[str, Any], told: str
) -> None:
    stack = {"system": "bare", "fs": "tickv", "board": "omap3evm", "partition_blocks": 32, "store": store}
    done = ffslab("run", written(tmp_path, stack, '[[measure]]\nstep = "mount"\n'))
    assert done.returncode == 2 and told in done.stderr, done.stderr
    nor = ffslab(
        "run",
        written(tmp_path, NOR | {"fs": "tickv", "store": {"translation": "page-map"}}, '[[measure]]\nstep = "mount"\n'),
    )
    assert nor.returncode == 2 and "NAND with pages of 512 to 4096 bytes is needed" in nor.stderr, nor.stderr


@pytest.mark.parametrize(
    ("fs", "why"),
    [
        ("sequential-storage", "its items are words of 32 bytes at most"),
        ("ekv", "the header in front of an erase block last"),
        ("tickv", "a bit of one that is deleted is cleared"),
    ],
)
@pytest.mark.parametrize("keys", [{"board": "omap3evm"}, {"board": "luckfox-pico-max", "part": "w25n02kv"}])
def test_nand_is_refused_with_the_reason(
    ffslab: Command, tmp_path: Path, fs: str, why: str, keys: dict[str, str]
) -> None:
    stack = {"system": "bare", "fs": fs, "partition_blocks": 64} | keys
    done = ffslab("run", written(tmp_path, stack, '[[measure]]\nstep = "mount"\n'))
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    needs = f'fs = "{fs}": it needs NOR flash, which programs single bytes, and this medium programs 2048 bytes at once'
    assert needs in done.stderr and why in done.stderr, done.stderr
    assert 'part = "w25q128jv"' in done.stderr and 'fs = "littlefs"' in done.stderr, done.stderr
    # The table of the docs says the same.
    assert why.split(" of 32")[0] in (ROOT / "docs/key-value.md").read_text(encoding="utf-8")
