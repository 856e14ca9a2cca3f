"""Runs experiments on a real kernel in QEMU, on flash that a module of it simulates, measured by the on-target kit.

One boot runs all variants of an experiment, each on fresh flash. Everything that the guest needs is in its initramfs,
and time in it is the number of instructions, so the same experiment gives the same cases again.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ffslab._native import InputError
from ffslab.files.inputs import check_is_input
from ffslab.measured.reference import cases, keys, medium
from ffslab.measured.reference.architecture import AMD64, Architecture
from ffslab.measured.reference.first_jobs import ignore, run_first_jobs
from ffslab.measured.reference.jffs2_module import with_rtime_alone
from ffslab.measured.reference.kit import (
    MODULES_OF_JOBS,
    PACKAGES,
    PART,
    Kernel,
    Kit,
    find_foreign_kit,
    find_kit,
    install_command,
    module_bytes,
    module_name,
    program,
)
from ffslab.measured.reference.machine import GuestError, Machine, text_of
from ffslab.measured.reference.packages import fetched
from ffslab.measured.reference.plan import INPUTS, JFFS2_MODES, Variant
from ffslab.measured.reference.progress import Progress
from ffslab.terminal.progress import Show

HERE = Path(__file__).resolve().parent
PROBE = HERE.parents[3] / "probe"
STEPS = HERE / "steps"
# 64 bits for sizes and times on every architecture.
COMPILE = ("-std=gnu11", "-static", "-O2", "-w", "-D_FILE_OFFSET_BITS=64", "-o")
INSTRUCTIONS_PER_US = 250
# Of all events of a run, setup included; the guest has 1 GiB.
TRACE_BUFFER_KiB = 256 << 10
# What an event costs at that speed: about 400 instructions; measured with `ffslab-probe overhead` in such a guest.
EVENT_NS = 1600
USUAL_TICKS_PER_S = 250
# By how much later the steps of another boot can begin. In no simple relation to 512 ms and 2 s, the periods of
# `kcompactd` and of the kernel's statistics.
WAIT_OF_BOOT_us = 3_703_703


@dataclass(frozen=True)
class Parts:
    """What a reference run is made of."""

    kit: Kit
    steps: bytes  # the program that does the steps
    probe: Path  # folder of the on-target kit


def find_parts(
    folder: Path,
    image: Path | None,
    modules: Path | None,
    probe: Path = PROBE,
    architecture: Architecture = AMD64,
) -> Parts:
    """Finds everything and compiles the program of the steps in `folder`. `image`, `modules`: a kernel of the user's.

    Raises `InputError` that says what is missing and how to get it.
    """
    if (image is None) != (modules is None):
        raise InputError(
            "--kernel-image and --modules belong together: a kernel and its folder of modules (with modules.dep)"
        )
    kernel = None
    if image is not None and modules is not None:
        for path in (image, modules / "modules.dep", modules / "modules.builtin"):
            check_is_input(path, PART, "file")
        kernel = Kernel(image, modules)
    if architecture is AMD64:
        kit, missing = find_kit(kernel=kernel)
        packages = PACKAGES
    else:
        kit, missing = find_foreign_kit(architecture, fetched(architecture), kernel)
        packages = architecture.qemu_package
    if program(architecture.cc) is None:
        missing.append(architecture.cc)
    if kit is None or missing:
        install = install_command(f"{packages} {architecture.cc_packages}")
        raise InputError(f"a reference run needs {', '.join(missing)}; as root: {install}")
    if not (probe / "ffslab-probe").exists():
        raise InputError(f"{probe}: the on-target kit (probe/ of ffslab's sources) is not there")
    steps = folder / "steps"
    compiler: list[str | Path] = [architecture.cc, *COMPILE, steps, *sorted(STEPS.glob("*.c"))]
    ran = subprocess.run(compiler, capture_output=True, text=True, check=False)
    if ran.returncode != 0:
        reason = (ran.stderr.strip().splitlines() or ["no reason given"])[0]
        raise InputError(f"the program that does the steps cannot be compiled (libc6-dev?): {reason}")
    return Parts(kit, steps.read_bytes(), probe)


def first_job(variants: list[Variant], boot: int = 0) -> str:
    """The script that runs all variants; each leaves a folder with its number.

    `boot`: of several boots which one this is. On a board that has just started nobody knows how far the kernel's own
    periodic work is; here each boot but the first waits for a time of its own, and lets `kcompactd` begin anew.
    """
    lines = [". /guest.sh", "mount -t tracefs tracefs /sys/kernel/tracing || true", "uname -r > release"]
    if boot:
        lines += [f"usleep {boot * WAIT_OF_BOOT_us}", "echo 20 > /proc/sys/vm/compaction_proactiveness || true"]
    lines += ["grep MemAvailable /proc/meminfo > memory"]
    rtime_alone = False
    for number, variant in enumerate(variants):
        flash, of = variant.flash, medium.of(variant.flash)
        scope = "chip" if variant.mounts else f"mtd{of.mtd_of(flash)}"
        start = f"flashmon start --scope {scope} --buffer-KiB {TRACE_BUFFER_KiB}"
        start += f" --keep first --overhead-ns {EVENT_NS}{of.probe_options(flash)}"
        marker = "/sys/kernel/tracing/instances/ffslab-flashmon/trace_marker"
        lines += [
            f"echo at variant {number} >&3",
            f"mkdir {number}",
            *([] if variant.rtime_alone == rtime_alone else ["rmmod jffs2", f"insmod {module_path(variant)}"]),
            f"insmod /modules/{of.MODULE}.ko {of.parameters(flash, variant.bch_bits, variant.sizes)}",
            f"/probe/ffslab-probe {start}",
            *keys.vm_lines(variant.vm),
            # A step that fails ends this variant; the others run.
            f"/steps /variant.{number} {number}/steps {marker} >&3 || true",
            f"/probe/ffslab-probe flashmon stop --raw {number}",
            "clean_up",
            *(keys.vm_lines(keys.vm_defaults()) if variant.vm else []),
        ]
        rtime_alone = variant.rtime_alone
    return "\n".join([*lines, "echo at end >&3", ""])


def module_path(variant: Variant) -> str:
    """JFFS2's module in the guest: the kernel's, or one that has rtime alone."""
    return "/modules/jffs2.rtime.ko" if variant.rtime_alone else "/modules/jffs2.ko"


@dataclass
class Measured:
    """What machines found."""

    cases: list[dict[str, object]] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)  # why a variant has no case, by its identity


def run(
    parts: Parts,
    experiments: Sequence[list[Variant]],
    folder: Path,
    at_once: int,
    show: Show | None = None,
    boots: int = 1,
) -> Measured:
    """Boots a machine for each experiment, `boots` times, `at_once` side by side; a case for each variant, in order.

    `folder` gets their traces: `traces/NUMBER.log`, and `traces/NUMBER.boot2.log` and so on of further boots. `show` is
    told how far it is. Raises `InputError` when a kernel did not boot.
    """
    runs = [(variants, boot) for variants in experiments for boot in range(boots)]
    with tempfile.TemporaryDirectory() as temporary:
        machines = [
            machine_of(parts, variants, Path(temporary) / str(number), boot)
            for number, (variants, boot) in enumerate(runs)
        ]
        at = Progress([variants for variants, _ in runs], show).take if show else ignore
        try:
            done = run_first_jobs(machines, at_once, at)
        except GuestError as error:
            raise InputError(f"the reference run failed: {error}") from None
        found = Measured()
        (folder / "traces").mkdir()
        put_inputs(
            folder / INPUTS,
            [path for variants in experiments for variant in variants for path in variant.inputs.values()],
        )
        for number, variants in enumerate(experiments):
            of_boots = [left.folder for left in done[number * boots : (number + 1) * boots]]
            for index, variant in enumerate(variants):
                stem = folder / "traces" / str(len(found.cases) + 1)
                try:
                    found.cases.append(case_of_boots(parts, variant, index, of_boots, stem))
                except InputError as error:
                    for log in stem.parent.glob(f"{stem.name}.*"):
                        log.unlink()
                    found.failed[variant.identity] = str(error)
        return found


def case_of_boots(parts: Parts, variant: Variant, index: int, of_boots: list[Path], stem: Path) -> dict[str, object]:
    """The case of the first boot, with what the others counted. `stem`: of the paths of their logs.

    Raises `InputError` as [`case_of`] does.
    """
    first, *others = [
        case_of(parts, variant, left, left / str(index), stem.with_name(f"{stem.name}{boot_name(boot)}.log"))
        for boot, left in enumerate(of_boots)
    ]
    return {**first, "boots": [cases.boot(other) for other in others]} if others else first


def boot_name(boot: int) -> str:
    return f".boot{boot + 1}" if boot else ""


def put_inputs(folder: Path, paths: Sequence[Path]) -> None:
    """Copies what steps name, so that the cases can be run elsewhere.

    Raises `InputError` when two have one name.
    """
    known: dict[str, Path] = {}
    for path in paths:
        if known.setdefault(path.name, path).resolve() != path.resolve():
            raise InputError(f"{path} and {known[path.name]} have one name: run their experiments one after the other")
    if known:
        folder.mkdir()
    for path in known.values():
        if path.is_dir():
            shutil.copytree(path, folder / path.name, symlinks=True)
        else:
            shutil.copyfile(path, folder / path.name)


def machine_of(parts: Parts, variants: list[Variant], folder: Path, boot: int = 0) -> Machine:
    """A machine that runs the variants of an experiment as its first job."""
    programs = {
        "steps": parts.steps,
        "detach": b"end 0 ubi_detach_all\n",
        "first.sh": first_job(variants, boot).encode(),
    }
    hz = ticks_per_s(parts.kit.kernel)
    programs |= {f"variant.{number}": variant.lines(hz).encode() for number, variant in enumerate(variants)}
    for variant in variants:
        module = medium.of(variant.flash).MODULE
        if module not in MODULES_OF_JOBS:
            programs[f"modules/{module}.ko"] = rare_module(parts.kit.kernel, variant, module)
        check_mode(parts.kit.kernel, variant)
        check_compared(parts.kit.kernel, variant)
        if variant.rtime_alone:
            programs[module_path(variant).lstrip("/")] = with_rtime_alone(jffs2_module(parts.kit.kernel))
    programs |= {path.lstrip("/"): data for variant in variants for path, data in variant.files.items()}
    for path in (parts.probe / "ffslab-probe", *sorted((parts.probe / "lib").iterdir())):
        if path.is_file():
            programs[f"probe/{path.relative_to(parts.probe)}"] = path.read_bytes()
    guest = (HERE / "guest.sh").read_bytes()
    return Machine(parts.kit, folder, guest, programs, INSTRUCTIONS_PER_US, boot=boot)


def case_of(parts: Parts, variant: Variant, of_machine: Path, left: Path, log: Path) -> dict[str, object]:
    """The case from what a variant left in the folder `left`, and its log.

    Raises `InputError` with the reason when a step failed otherwise than it was told to, or events were lost.
    """
    steps = cases.read_steps(left / "steps")
    format_log(parts, left, log)
    with log.open(encoding="utf-8") as lines:
        return cases.case(variant, system(parts.kit, variant, of_machine, steps), lines, steps)


def format_log(parts: Parts, raw: Path, log: Path) -> None:
    """Writes the log from what the guest left."""
    with tempfile.TemporaryFile() as out:
        command: list[str | Path] = ["sh", parts.probe / "ffslab-probe", "format", raw]
        ran = subprocess.run(command, stdout=out, stderr=subprocess.PIPE, check=False)
        out.seek(0)
        with log.open("wb") as kept:
            kept.writelines(cases.without_pauses(out))
    if ran.returncode != 0:
        raise InputError(f"{raw}: {ran.stderr.decode(errors='replace').strip()}")


def system(kit: Kit, variant: Variant, left: Path, steps: list[cases.StepDone]) -> dict[str, object]:
    """The software and its settings, in the words of measured cases."""
    available_KiB = int(text_of(left / "memory").split()[1])  # noqa: N806
    changed = "; in jffs2.ko all compressors but rtime are disabled" if variant.rtime_alone else ""
    if is_set(kit.kernel, JFFS2_MODES["size"]):
        changed = f"; built with CONFIG_{JFFS2_MODES['size']}"
    described: dict[str, object] = {
        "name": "linux",
        "version": text_of(left / "release").strip(),
        "tree": f"Debian's for {kit.architecture.name}, on QEMU with {INSTRUCTIONS_PER_US} instructions a us{changed}",
        "smp": is_set(kit.kernel, "SMP"),
        "word_bits": 64 if is_set(kit.kernel, "64BIT") else 32,
        "uptime_us": cases.uptime_us(steps),
        "wall_clock_us": cases.wall_clock_us(steps),
        "fs": variant.fs,
        "mount": {"compression": variant.compression},
        "read_ahead_KiB": variant.read_ahead_KiB,
        **medium.of(variant.flash).described(variant.bch_bits),
        "hz": ticks_per_s(kit.kernel),
        "ram_MiB": available_KiB >> 10,
        "vm": keys.vm_described(variant.vm),
    }
    if any(mount.fs == "jffs2" for mount in variant.mounts):
        described["summaries_of_others"] = has_summaries(kit.kernel)
    if variant.fs == "ubifs":
        described["ubi"] = {"max_beb_per1024": variant.max_beb_per1024}
    else:
        described["jffs2_summary"] = has_summaries(kit.kernel)
    return described


def ticks_per_s(kernel: Kernel) -> int:
    """CONFIG_HZ; most distributions' when there is no configuration."""
    return int(configured(kernel, "HZ") or USUAL_TICKS_PER_S)


def rare_module(kernel: Kernel, variant: Variant, name: str) -> bytes:
    """A module that not every kernel has. Those who do not need it boot without it, so that nothing changes for them.

    Raises `InputError` when this one has it not.
    """
    found = next((path for path in kernel.closure([name]) if module_name(path) == name), None)
    if found is None:
        raise InputError(f"{variant.identity}: {kernel.image} has no module {name}, which stands in for its flash")
    return module_bytes(found)


def check_mode(kernel: Kernel, variant: Variant) -> None:
    """Raises `InputError` when JFFS2 was not built for the choice of compressors that no mount option names."""
    for fs, compression in variant.compressors:
        wanted = JFFS2_MODES.get(compression) if fs == "jffs2" else None
        others = [f"CONFIG_{option}" for option in JFFS2_MODES.values() if option != wanted and is_set(kernel, option)]
        if wanted and not is_set(kernel, wanted) and (others or wanted != JFFS2_MODES["priority"]):
            found = f"{kernel.image} has {others[0]}" if others else f"{kernel.image} says nothing of it"
            raise InputError(
                f'{variant.identity}: compression = "{compression}": no mount can choose it, so the kernel must be '
                f"built with CONFIG_{wanted}=y, but {found}"
            )


def of_kernel(kernel: Kernel) -> dict[str, object]:
    """The keys of `keys.STACK_COMPARED` as the kernel has them; None where nothing tells."""
    threshold = configured(kernel, "MTD_UBI_WL_THRESHOLD")
    version = re.match(r"\d+\.\d+", kernel.modules.name)
    return {
        "fastmap": is_set(kernel, "MTD_UBI_FASTMAP"),
        "hz": ticks_per_s(kernel),
        "kernel": version[0] if version else None,
        "smp": is_set(kernel, "SMP"),
        "summary": has_summaries(kernel),
        "wl_threshold": int(threshold) if threshold else None,
        "word_bits": 64 if is_set(kernel, "64BIT") else 32,
    }


def check_compared(kernel: Kernel, variant: Variant) -> None:
    """Raises `InputError` when the experiment asks for a kernel that was built otherwise."""
    has = of_kernel(kernel)
    for key, value in variant.compared.items():
        if has[key] != value:
            found = "says nothing of it" if has[key] is None else f"has {json.dumps(has[key])}"
            raise InputError(
                f"{variant.identity}: [stack]: {key} = {json.dumps(value)}: {kernel.image} {found} "
                f"({keys.STACK_COMPARED[key]}), and no setting changes it: leave it out, or give another kernel with "
                "--kernel-image"
            )


def is_set(kernel: Kernel, option: str) -> bool:
    return configured(kernel, option) == "y"


def configured(kernel: Kernel, option: str) -> str | None:
    """The value of an option, from the configuration beside the kernel."""
    config = kernel.image.with_name(kernel.image.name.replace("vmlinuz", "config"))
    for line in text_of(config).splitlines():
        if line.startswith(f"CONFIG_{option}="):
            return line.partition("=")[2]
    return None


def has_summaries(kernel: Kernel) -> bool:
    """Whether JFFS2 writes summaries: then it always does, and its module has the functions."""
    return b"jffs2_sum_write_sumnode" in jffs2_module(kernel)


def jffs2_module(kernel: Kernel) -> bytes:
    """Nothing when JFFS2 is compiled in."""
    module = next((path for path in kernel.closure(["jffs2"]) if module_name(path) == "jffs2"), None)
    return b"" if module is None else module_bytes(module)
