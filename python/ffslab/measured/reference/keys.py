"""What a reference run makes of each key of an experiment: it is applied, compared with the kernel, or refused.

A key that is in no row here would be dropped without a word, and another experiment would be measured than the one
that was asked for. A test walks the schema of experiments and asks for a row of each key.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ffslab._native import InputError

if TYPE_CHECKING:
    from ffslab.api.experiment import Experiment

# Keys of `[stack]` that are applied, and by what.
STACK_APPLIED = {
    "board": "its part and its kernel's defaults; the prices of its processor are not those of the guest",
    "bulk_read": "an option of the mount",
    "chip": "the parameters of nandsim or mtdram",
    "chip_blocks": "the parameters of nandsim",
    "compression": "an option of the mount, or how the kernel's JFFS2 is built",
    "dirty_KiB": "vm.dirty_bytes",
    "dirty_background_KiB": "vm.dirty_background_bytes",
    "ecc": "the parameter `bch` of nandsim; its own Hamming code otherwise, and the case says so",
    "ecc_strength_bits": "the parameter `bch` of nandsim",
    "erase_block_KiB": "the parameters of mtdram",
    "faults": "the parameters of nandsim",
    "first_block": "the partitions of nandsim",
    "fs": "the type of the mount",
    "max_beb_per1024": "the request that attaches UBI",
    "mount": "further mounts of the guest, on partitions of nandsim or volumes of UBI; see beside.py",
    "medium": "nandsim, or mtdram for NOR",
    "part": "the parameters of nandsim or mtdram",
    "partition_blocks": "the partitions of nandsim",
    "read_ahead_KiB": "read_ahead_kb of the mounted device",
    "uptime_us": "the phase of the tick counter at which the steps begin",
    "vm": "the files of /proc/sys/vm",
}
# Keys of `[stack]` that must be what the kernel or the machine is, or the run is refused (see `of_kernel` in run.py).
STACK_COMPARED = {
    "fastmap": "CONFIG_MTD_UBI_FASTMAP",
    "hz": "CONFIG_HZ",
    "kernel": "the version of the kernel",
    "smp": "CONFIG_SMP",
    "summary": "whether its JFFS2 writes summaries",
    "wl_threshold": "CONFIG_MTD_UBI_WL_THRESHOLD",
    "word_bits": "CONFIG_64BIT",
}
# Keys of which the guest has one value; another one is refused.
STACK_ALWAYS: dict[str, tuple[object, str]] = {
    "bad_block_table": (True, "nandsim's table of bad blocks is always in memory"),
    "endian": ("little", "the guests are little-endian"),
    "nand_wait": ("busy", "nandsim waits by the clock (`udelay`)"),
    "subpage_writes": (True, "UBI writes parts of pages, which nandsim's chip can"),
}
# Keys of `STACK_COMPARED` that are of one file system: others are the same, whatever the kernel has.
COMPARED_FOR = {"fastmap": "ubifs", "summary": "jffs2", "wl_threshold": "ubifs"}
IMAGE = "begins with an erased chip"
# Keys of `[stack]` that are refused: "a reference run ..." and these words.
STACK_REFUSED = {
    "ageing": "has the chips of nandsim, whose cells do not age",
    "beb_reserve_pct": "has a kernel since Linux 3.7, which counts the reserve by max_beb_per1024",
    "block_device": "has no squashfs and no EROFS: their images are not put on nandsim's chip",
    "bitflip_threshold_bits": "has the threshold of the kernel",
    "clock_read_ns": "has the clock of the guest, and what it costs is not a setting",
    "fm_autoconvert": "loads ubi.ko without parameters, so no fastmap is written where there is none",
    "image": IMAGE,
    "image_autoplace": IMAGE,
    "image_mtdparts": IMAGE,
    "image_offset_B": IMAGE,
    "image_oob": IMAGE,
    "image_partition": IMAGE,
    "image_size_B": IMAGE,
    "inband_tags": "has no YAFFS2, which no kernel of a distribution has",
    "memory_KiB": "has a guest of 1 GiB, which also holds the chip: vm.dirty_B limits what may be dirty",
    "page_cache_KiB": "has the page cache of a guest of 1 GiB: dirty_KiB limits what may be dirty",
    "policy": "has the kernel's own rules, and nobody decides in its place",
    "slc_mode": "has the chips of nandsim, whose cells hold one bit",
    "traced": "has flashmon as its only tracer, whose price is taken off",
    "ubifs_debug": "has a kernel since Linux 3.7, whose UBIFS has no such option",
    "vid_hdr_offset_B": "lets UBI choose the place",
    "wall_clock_us": "has the clock chip of the machine: its case says where in its second it began",
    "yaffs2": "has no YAFFS2, which no kernel of a distribution has",
    "yaffs2_version": "has no YAFFS2, which no kernel of a distribution has",
}
# Keys of `[stack.vm]`: the files of /proc/sys/vm, how many of the key's units are one of the file's, and what a kernel
# has that nobody told otherwise. A share and a number of bytes exclude each other, so what restores one clears both.
VM_FILES = {
    "dirty_writeback_ms": ("dirty_writeback_centisecs", 10, 5000),
    "dirty_expire_ms": ("dirty_expire_centisecs", 10, 30000),
    "dirty_ratio_pct": ("dirty_ratio", 1, 20),
    "dirty_background_ratio_pct": ("dirty_background_ratio", 1, 10),
    "dirty_B": ("dirty_bytes", 1, None),
    "dirty_background_B": ("dirty_background_bytes", 1, None),
}
# The kernel takes two pages and more (`dirty_bytes_min` of kernel/sysctl.c).
DIRTY_B_MIN = 8192
PERCENT_MAX = 100
# Tables of an experiment beside `[stack]`. Applied: they say what is run. Of an answer: what verbs make of runs.
TOP_APPLIED = frozenset(["axes", "initial", "measure", "program", "seed", "setup", "stack", "state", "title"])
TOP_OF_ANSWERS = frozenset(
    ["budgets", "calls_max", "crashtest", "film", "probe_logs", "question", "requests_kept", "study"]
)
TOP_REFUSED = {
    "repeat": "is repeated with --boots N: leave it out",
}


def asked(experiment: Experiment) -> frozenset[str]:
    """The keys of `[stack]` that the experiment itself gives or varies; others have defaults that nobody asked for.

    Raises `InputError` for tables that a reference run has not.
    """
    tables = experiment.table()
    for name, why in TOP_REFUSED.items():
        if tables.get(name):
            raise InputError(f"{experiment.file_name}: {name}: a reference run {why}")
    axes = [key.removeprefix("stack.").partition(".")[0] for key in tables.get("axes", {})]
    return frozenset([*tables.get("stack", {}), *axes])


def asked_of_mounts(experiment: Experiment) -> dict[str, frozenset[str]]:
    """The keys that the experiment itself gives or varies for each further mount, by its directory without slashes."""
    tables = experiment.table()
    found = {table["at"].strip("/"): {*table} for table in tables.get("stack", {}).get("mount", [])}
    for axis in tables.get("axes", {}):
        at, _, key = axis.strip("/").rpartition(".")
        if at in found:
            found[at].add(key)
    return {at: frozenset(keys) for at, keys in found.items()}


def trouble(stack: dict[str, Any], keys: frozenset[str]) -> str | None:
    """Why the stack cannot be that of a reference run, for the first of the keys that were asked for."""
    for key in sorted(keys):
        # What is switched off or empty is how the guest is. A number is not, not even 0, which equals `False`.
        is_off = stack.get(key) is False or stack.get(key) in (None, [], {})
        if key in STACK_REFUSED and not is_off:
            return f"{key}: a reference run {STACK_REFUSED[key]}"
        if key in STACK_ALWAYS and stack.get(key) not in (None, STACK_ALWAYS[key][0]):
            value, why = STACK_ALWAYS[key]
            return f"{key} = {json.dumps(stack[key])}: {why}: leave it out, or say {json.dumps(value)}"
    for key, setting in vm_of(stack).items():
        _, unit, _ = VM_FILES[key]
        if setting % unit:
            return f"vm.{key} = {setting}: the kernel takes multiples of {unit}"
        if key.endswith("_pct") and setting > PERCENT_MAX:
            return f"vm.{key} = {setting}: the kernel takes {PERCENT_MAX} at most"
        if key == "dirty_B" and setting < DIRTY_B_MIN:
            return f"{setting} B may be dirty: the kernel takes {DIRTY_B_MIN} B (vm.dirty_bytes) or more"
    return None


def compared(stack: dict[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    """What was asked for that the kernel must have."""
    is_asked = {key for key in keys & STACK_COMPARED.keys() if COMPARED_FOR.get(key) in (None, stack.get("fs"))}
    return {key: stack[key] for key in sorted(is_asked) if stack.get(key) is not None}


def vm_of(stack: dict[str, Any]) -> dict[str, int]:
    """The settings of write-back that differ from the kernel's own."""
    found = {key: int(value) for key, value in (stack.get("vm") or {}).items() if value is not None}
    for key, of_vm in (("dirty_KiB", "dirty_B"), ("dirty_background_KiB", "dirty_background_B")):
        if stack.get(key) is not None:
            found[of_vm] = int(stack[key]) << 10
    if "dirty_B" in found and not {"dirty_background_B", "dirty_background_ratio_pct"} & found.keys():
        found["dirty_background_B"] = found["dirty_B"] // 2
    return found


def vm_lines(vm: dict[str, int]) -> list[str]:
    """Lines of a script that sets them."""
    return [f"echo {vm[key] // unit} > /proc/sys/vm/{name}" for key, (name, unit, _) in VM_FILES.items() if key in vm]


def vm_defaults() -> dict[str, int]:
    """What a kernel has that nobody told otherwise."""
    return {key: default for key, (_, _, default) in VM_FILES.items() if default is not None}


def vm_described(vm: dict[str, int]) -> dict[str, int]:
    """All settings, in the words of measured cases: bytes in place of the share that they replace."""
    found = {**vm_defaults(), **vm}
    for share, in_bytes in (("dirty_ratio_pct", "dirty_B"), ("dirty_background_ratio_pct", "dirty_background_B")):
        if in_bytes in vm:
            del found[share]
    return found
