"""The verbs `ffslab reference ...`: experiments on a real Linux kernel in QEMU."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ffslab.cli.parts import argument, group, option, verb
from ffslab.cli.result_options import Json
from ffslab.terminal.printing import say

reference_app = group(
    "Measure experiments on a real Linux kernel in QEMU. See docs/reference.md.",
    "ffslab reference run experiments/reference/jffs2-reads.toml",
)


class GuestArchitecture(StrEnum):
    """Machines that QEMU emulates for a real kernel, by Debian's names (`ffslab.measured.reference.architecture`)."""

    AMD64 = "amd64"
    ARMHF = "armhf"


@reference_app.callback()
def _reference(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        ls()


@verb(reference_app, "ls")
def ls() -> None:
    """List the machines, and what is missing for each.

    Example: ffslab reference ls
    """
    from ffslab.measured.reference.architecture import ARCHITECTURES
    from ffslab.measured.reference.kit import find_foreign_kit, find_kit
    from ffslab.measured.reference.packages import fetched

    for name, architecture in ARCHITECTURES.items():
        is_own = name == GuestArchitecture.AMD64.value
        kit, missing = find_kit() if is_own else find_foreign_kit(architecture, fetched(architecture))
        found = f"missing: {', '.join(missing)}" if kit is None else str(kit.kernel.image)
        say(f"{name:<8}{found}")


@verb(reference_app, "run")
def reference_run(
    experiments: Annotated[
        list[Path],
        argument(
            "EXPERIMENT.toml",
            "Experiment files (TOML) with JFFS2 or UBIFS; docs/reference.md says which steps there are.",
        ),
    ],
    arch: Annotated[
        GuestArchitecture,
        option("--arch", "Architecture, by Debian's name; others than amd64 need `ffslab reference fetch` once."),
    ] = GuestArchitecture.AMD64,
    kernel: Annotated[
        Path | None,
        option(
            "--kernel-image FILE",
            "A kernel of your own (bzImage, zImage); give --modules, too. [default: the newest in /boot]",
        ),
    ] = None,
    modules: Annotated[Path | None, option("--modules DIR", "Its folder of modules, which holds modules.dep.")] = None,
    probe: Annotated[
        Path | None, option("--kit DIR", "The on-target kit. [default: probe/ of ffslab's sources]")
    ] = None,
    out: Annotated[
        Path | None,
        option(
            "--out DIR",
            "Folder to write; for cases.jsonl and traces. [default: results/reference-NAME, or results/reference]",
        ),
    ] = None,
    jobs: Annotated[
        int | None,
        option(
            "--jobs N", "How many run at once; one machine for each experiment file. [default: one per core]", least=1
        ),
    ] = None,
    boots: Annotated[
        int,
        option(
            "--boots N",
            "How often each machine boots, with other random numbers each time and later begun; a case then says how "
            "far the kernel agrees with itself.",
            least=1,
        ),
    ] = 1,
    json: Json = False,
) -> None:
    """Run experiments on a real kernel in QEMU; compare the simulation.

    Example: ffslab reference run experiments/reference/jffs2-reads.toml
    """
    from ffslab.files import results
    from ffslab.measured.reference import verb as measured
    from ffslab.terminal.progress import progress_of_parts

    folder = out if out is not None else measured.folder_of(experiments, arch.value)
    with progress_of_parts() as show:
        measured.measure(experiments, folder, kernel, modules, probe, jobs, show, arch.value, boots)
    say(results.dump_json(measured.answer(folder)).rstrip() if json else measured.text(folder))


@verb(reference_app, "fetch")
def reference_fetch(
    arch: Annotated[GuestArchitecture, option("--arch", "Architecture, by Debian's name.")],
    suite: Annotated[
        str, option("--suite NAME", "Release of Debian: bullseye has Linux 5.10, bookworm 6.1, trixie 6.12.")
    ] = "bookworm",
    out: Annotated[
        Path | None,
        option("--out DIR", "Folder to write. [default: ~/.cache/ffslab/reference/ARCH, where `reference run` looks]"),
    ] = None,
) -> None:
    """Fetch Debian's kernel and busybox for another architecture; nothing is installed.

    Example: ffslab reference fetch --arch armhf
    """
    from ffslab.measured.reference import packages
    from ffslab.measured.reference.architecture import ARCHITECTURES

    architecture = ARCHITECTURES[arch.value]
    kernel = packages.fetch(architecture, out if out is not None else packages.fetched(architecture), suite)
    say(f"{kernel.image}\n{kernel.modules}")
