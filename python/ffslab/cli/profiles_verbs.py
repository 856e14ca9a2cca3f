"""The verbs `ffslab profiles ...`: chips, boards, kernels and block devices, and where their numbers are from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ffslab._native import InputError
from ffslab.cli.parts import argument, group, option, verb
from ffslab.cli.result_options import Json
from ffslab.terminal.printing import say

profiles_app = group(
    "List chips, boards, kernels; show sources; begin your own.",
    "ffslab profiles show omap3evm",
)

# Beside the kinds of parts, of a profile that is begun.
DEVICE = "device"


@profiles_app.callback()
def _profiles(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        profiles_ls(json=False)


@verb(profiles_app, "ls")
def profiles_ls(
    kind: Annotated[
        str | None,
        option("--kind NAME", "Kind of part (nand, spi-nand, spi-nor or parallel-nor); only these are listed."),
    ] = None,
    json: Json = False,
) -> None:
    """List the built-in parts, boards and kernels.

    Example: ffslab profiles ls --json
    """
    from ffslab.api import profiles

    say(profiles.list_json(kind) if json else profiles.list_text(kind))


@verb(profiles_app, "show")
def profiles_show(
    name: Annotated[str, argument("NAME", "Name of a built-in profile, or the path of a profile file.")],
    json: Json = False,
) -> None:
    """Show a profile: every value with its unit, source and status.

    Example: ffslab profiles show omap3evm
    """
    from ffslab.api import profiles

    say(profiles.show_json(name) if json else profiles.show_text(name))


@verb(profiles_app, "new")
def profiles_new(
    file: Annotated[Path, argument("FILE", "The file to write; one that is there stays as it is.")],
    base: Annotated[
        str | None,
        option("--base NAME", "Profile on which it builds, by name or path; it decides the kind. [default: omap3evm]"),
    ] = None,
    kind: Annotated[
        str | None,
        option(
            "--kind NAME",
            "Kind of part (nand, spi-nand, spi-nor or parallel-nor); what a data sheet has of it is said. "
            "device: a block device instead, on sd-card unless --base says otherwise.",
        ),
    ] = None,
    soc: Annotated[
        str | None,
        option("--soc NAME", "System on a chip: its core, clock and flash controller are said, and what a boot shows."),
    ] = None,
    part: Annotated[str | None, option("--part NAME", "Flash part, by name or path. With --soc.")] = None,
    kernel: Annotated[str | None, option("--kernel NAME", "Kernel profile, by name or path. With --soc.")] = None,
    clock: Annotated[
        float | None, option("--clock-MHz N", "With --soc: clock of the CPU. [default: the usual one]")
    ] = None,
    bus: Annotated[
        float | None, option("--bus-MHz N", "With --soc: clock of the serial bus (spi-max-frequency).")
    ] = None,
    lines: Annotated[
        int | None, option("--lines N", "With --soc: data lines of the serial bus: 1, 2, 4 or 8.", least=1)
    ] = None,
) -> None:
    """Write a profile to begin with: every key with its unit, its meaning and the value of its base.

    Example: ffslab profiles new --soc imx28 --part mt29f2g08abaea my-board.toml
    """
    from ffslab.api import profiles
    from ffslab.registries.profiles import example_of, shown

    if soc is not None:
        if part is None or base is not None or kind is not None:
            raise InputError("--soc: give the part, too (--part NAME); --base and --kind follow from both")
        base = profiles.write_of_soc(file, soc, part, kernel=kernel, clock_mhz=clock, bus_mhz=bus, lines=lines)
        say(_begun(file, base))
        _say_boot(str(file), part)
        return
    of_soc = {"--part": part, "--kernel": kernel, "--clock-MHz": clock, "--bus-MHz": bus, "--lines": lines}
    if lost := next((flag for flag, given in of_soc.items() if given is not None), None):
        raise InputError(f"{lost}: belongs to --soc NAME")

    is_device = kind == DEVICE
    asked = "block device" if is_device else "part" if kind else None
    example = "sd-card" if is_device else example_of(kind) if kind else "omap3evm"
    base = base or example
    found = shown(base)
    if asked is not None and found["kind"] != asked:
        raise InputError(f"--base {base}: is a {found['kind']}, and a {asked} was asked for")
    if asked == "part" and (of_base := found.get("part_kind")) != kind:
        raise InputError(f"--base {base}: is of kind {of_base}, and --kind {kind} was asked for")
    profiles.write_new(file, base)
    say(_begun(file, base))


def _begun(file: Path, base: str) -> str:
    return f"{file}: builds on {base}; `ffslab profiles diff {base} {file}` shows what you change"


def _say_boot(board: str, part: str) -> None:
    from ffslab.studies import boot

    if boot.has_pages(part):
        say(boot.text(board))


@verb(profiles_app, "diff")
def profiles_diff(
    before: Annotated[str, argument("BEFORE", "Name of a built-in profile, or the path of a profile file.")],
    after: Annotated[str, argument("AFTER", "Another of the same kind.")],
    json: Json = False,
) -> None:
    """Show what differs between two profiles, with the source of each value.

    Example: ffslab profiles diff 2.6.37 6.1
    """
    from ffslab.api import profiles
    from ffslab.files import results

    if json:
        say(results.dump_json(profiles.difference(before, after)).rstrip())
    else:
        say(profiles.difference_text(before, after))
