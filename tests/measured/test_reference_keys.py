"""No key of an experiment is dropped by a reference run: each of the schema is applied, compared or refused."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ffslab import Experiment, InputError, _native
from ffslab.measured.reference import chip, keys, plan, run
from ffslab.measured.reference.kit import Kernel

SCHEMA: dict[str, Any] = json.loads(_native.schema("experiment"))
DEFINED = SCHEMA["$defs"]
C_SOURCES = "".join(path.read_text(encoding="utf-8") for path in sorted(run.STEPS.glob("*.c")))
TEXT = """
title = "A write"
initial = "fresh"
{top}
[stack]
board = "zero-overhead"
fs = "{fs}"
partition_blocks = 80
compression = "none"
{stack}
[[setup]]
step = "mount"

[[measure]]
step = "sync"
"""


def variants(stack: str = "", top: str = "") -> list[plan.Variant]:
    fs = "jffs2" if stack.startswith(("endian", "summary")) else "ubifs"
    return plan.variants(Experiment.from_toml(TEXT.format(stack=stack, top=top, fs=fs)), "keys")


@pytest.mark.parametrize(
    ("of_schema", "rows"),
    [
        (
            DEFINED["StackKeys"]["properties"],
            (keys.STACK_APPLIED, keys.STACK_COMPARED, keys.STACK_ALWAYS, keys.STACK_REFUSED),
        ),
        (DEFINED["VmKeys"]["properties"], (keys.VM_FILES,)),
        (SCHEMA["properties"], (keys.TOP_APPLIED, keys.TOP_OF_ANSWERS, keys.TOP_REFUSED)),
        (
            {step["properties"]["step"]["const"]: step for step in DEFINED["Step"]["oneOf"]},
            (plan.STEPS, plan.RECORDED, plan.REASONS, plan.STANDS_FOR),
        ),
    ],
    ids=["stack", "vm", "tables", "steps"],
)
def test_each_key_of_the_schema_has_one_row(of_schema: dict[str, Any], rows: tuple[Any, ...]) -> None:
    found = [key for row in rows for key in row]
    assert sorted(set(found)) == sorted(of_schema)
    assert len(set(found)) == len(found)


def test_each_key_of_a_step_is_read_by_the_guest() -> None:
    """Those of steps that the simulator records are read by it."""
    in_guest = set(re.findall(r'\w+\("(\w+)"', C_SOURCES)) | {"step"}
    # A file's content is a kind of content there; `of` is the guest's when it is "df" (see `as_known`).
    replaced = {"content_file", "of"}
    for step in DEFINED["Step"]["oneOf"]:
        name = step["properties"]["step"]["const"]
        if name in plan.STEPS:
            assert set(step["properties"]) - replaced <= in_guest, name


def test_each_fault_is_one_of_nandsim() -> None:
    values = {name: ["3"] for name in ("badblocks", "weakblocks", "weakpages", "gravepages")} | {"bitflips": 1}
    # `seed`: which bits flip is drawn from the kernel's random numbers, as the documentation says.
    assert set(DEFINED["FaultKeys"]["properties"]) == {*values, "seed"}
    flash = {**variants()[0].flash, "faults": values}
    assert all(f" {name}=" in chip.parameters(flash) for name in values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("stack", "top", "message"),
    [
        ("page_cache_KiB = 4096", "", "page_cache_KiB: a reference run has the page cache of a guest of 1 GiB"),
        ('endian = "big"', "", 'endian = "big": the guests are little-endian: leave it out, or say "little"'),
        ('nand_wait = "resched"', "", 'nand_wait = "resched": nandsim waits by the clock'),
        ("bad_block_table = false", "", "bad_block_table = false: nandsim's table of bad blocks is always in memory"),
        ("subpage_writes = false", "", "subpage_writes = false: UBI writes parts of pages"),
        ("page_cache_KiB = 0", "", "page_cache_KiB: a reference run has the page cache of a guest of 1 GiB"),
        ("vm = { dirty_ratio_pct = 150 }", "", "vm.dirty_ratio_pct = 150: the kernel takes 100 at most"),
        ('policy = { victim = "greedy" }', "", "policy: a reference run has the kernel's own rules"),
        ("dirty_KiB = 4", "", "4096 B may be dirty: the kernel takes 8192 B"),
        ("vm = { dirty_expire_ms = 1005 }", "", "vm.dirty_expire_ms = 1005: the kernel takes multiples of 10"),
        ("", "repeat = 3", "repeat: a reference run is repeated with --boots N"),
    ],
)
def test_what_no_kernel_can_have_is_refused(stack: str, top: str, message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        variants(stack, top)


@pytest.mark.parametrize(
    "key",
    [
        "hz = 100",
        'kernel = "5.10"',
        "smp = false",
        "word_bits = 32",
        "wl_threshold = 128",
        "summary = true",
        "fastmap = true",
    ],
)
def test_a_kernel_that_was_built_otherwise_is_refused(key: str, tmp_path: Path) -> None:
    image = tmp_path / "vmlinuz-6.1.0-1-amd64"
    image.with_name("config-6.1.0-1-amd64").write_text(
        "CONFIG_HZ=250\nCONFIG_SMP=y\nCONFIG_64BIT=y\nCONFIG_MTD_UBI_WL_THRESHOLD=4096\n", encoding="utf-8"
    )
    modules = tmp_path / "6.1.0-1-amd64"
    modules.mkdir()
    (modules / "modules.dep").touch()
    (variant,) = variants(key)
    with pytest.raises(InputError, match=re.escape(f"[stack]: {key}: {image} has ")):
        run.check_compared(Kernel(image, modules), variant)
    run.check_compared(Kernel(image, modules), variants("hz = 250\nsmp = true\nword_bits = 64")[0])


def test_what_the_guest_has_anyway_may_be_said() -> None:
    """As the experiments do that `validate --out` writes."""
    assert variants("bad_block_table = true\nsummary = false")[0].compared == {}
    assert variants("wl_threshold = 4096\nbad_block_table = true")[0].compared == {"wl_threshold": 4096}


def test_what_nobody_asked_for_is_not_compared() -> None:
    """Boards have defaults for all of them."""
    assert variants()[0].compared == {}


def test_limits_of_what_is_dirty_are_set_and_taken_back() -> None:
    (variant,) = variants("dirty_KiB = 400")
    assert variant.vm == {"dirty_B": 409600, "dirty_background_B": 204800}
    script = run.first_job([variant])
    set_at, back_at = (
        script.index(f"echo {words}")
        for words in ("409600 > /proc/sys/vm/dirty_bytes", "20 > /proc/sys/vm/dirty_ratio")
    )
    assert set_at < script.index("/steps /variant.0") < back_at
    assert "/proc/sys/vm" not in run.first_job(variants())
    described = keys.vm_described(variant.vm)
    assert described == {"dirty_writeback_ms": 5000, "dirty_expire_ms": 30000, **variant.vm}
