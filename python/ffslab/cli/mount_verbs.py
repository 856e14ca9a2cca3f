"""The verbs `mount`, `stat` and `checkpoint` of the command."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ffslab._native import InputError
from ffslab.cli.image_options import MtdParts, Offset, Partition, Size, place
from ffslab.cli.parts import argument, option, verb
from ffslab.cli.stack_options import Board, Kernel
from ffslab.cli.terminal import say


class MountThink(StrEnum):
    """What the time between the calls of a program is on the board."""

    REAL = "real"
    NONE = "none"


class Torn(StrEnum):
    """What becomes of the operation at which the power is cut."""

    NOTHING = "nothing"
    PARTIAL = "partial"
    COMPLETE = "complete"


def add_to(app: typer.Typer) -> None:
    """Makes the verbs known to the command."""
    for function in (mount, stat, checkpoint):
        verb(app, function.__name__)(function)


def mount(
    mountpoint: Annotated[Path, argument("mount", "mountpoint", "MOUNTPOINT")],
    command: Annotated[list[str] | None, argument("mount", "command", "-- COMMAND")] = None,
    fs: Annotated[str | None, option("mount", "fs", "--fs", metavar="NAME")] = None,
    board: Board = "omap3evm",
    part: Annotated[str | None, option("mount", "part", "--part", metavar="NAME")] = None,
    kernel: Kernel = None,
    blocks: Annotated[int | None, option("mount", "blocks", "--blocks", metavar="BLOCKS", least=1)] = None,
    settings: Annotated[list[str] | None, option("mount", "set", "--set", metavar="KEY=VALUE")] = None,
    image: Annotated[Path | None, option("mount", "image", "--image", metavar="FILE")] = None,
    oob: Annotated[bool | None, option("mount", "oob", "--oob/--no-oob")] = None,
    autoplace: Annotated[bool, option("mount", "autoplace", "--autoplace")] = False,
    mtdparts: MtdParts = None,
    offset: Offset = None,
    size: Size = None,
    partition: Partition = None,
    options: Annotated[list[str] | None, option("mount", "option", "--option", "-o", metavar="OPTION")] = None,
    owner: Annotated[str | None, option("mount", "owner", "--owner", metavar="UID[:GID]")] = None,
    think: Annotated[MountThink, option("mount", "think", "--think")] = MountThink.REAL,
    realtime: Annotated[bool, option("mount", "realtime", "--realtime")] = False,
    power_cut_after: Annotated[
        int | None, option("mount", "power_cut_after", "--power-cut-after", metavar="OPERATIONS", least=1)
    ] = None,
    torn: Annotated[Torn, option("mount", "torn", "--torn")] = Torn.PARTIAL,
    seed: Annotated[int, option("mount", "seed", "--seed", metavar="N", least=0)] = 1,
    save: Annotated[Path | None, option("mount", "save", "--save", metavar="FILE")] = None,
    no_results: Annotated[bool, option("mount", "no_results", "--no-results")] = False,
    out: Annotated[Path | None, option("mount", "out", "--out", metavar="DIR")] = None,
    json: Annotated[bool, option("mount", "json", "--json")] = False,
) -> None:
    """Serves a simulated file system until it is unmounted."""
    if no_results and out is not None:
        raise InputError("--out and --no-results: give one of them")
    from ffslab.files import results
    from ffslab.mount.run import Mount, Wanted
    from ffslab.text.summary import summary_text

    where = {key: value for key, value in place(mtdparts, offset, size, partition).items() if value is not None}
    wanted = Wanted(fs, board, part, kernel, blocks, image, oob, autoplace, settings or [], options or [], where)
    mounted = Mount(wanted, mountpoint, think.value == "real", realtime, power_cut_after, torn.value, seed, save, owner)
    folder = None if no_results else out if out is not None else Path("results") / "mount"
    if folder is not None:
        results.check_free(folder)
    done, code = mounted.serve(command or [], to=sys.stderr if json else None)
    if folder is not None:
        done.save(folder)
    report = f"\n\nReport: {folder / results.REPORT}" if folder is not None else ""
    say(results.dump_json(done.summary).rstrip() if json else summary_text(done.summary) + report)
    if code:
        raise typer.Exit(code)


def stat(
    mountpoint: Annotated[Path, argument("stat", "mountpoint", "MOUNTPOINT")],
    watch: Annotated[bool, option("stat", "watch", "--watch")] = False,
    json: Annotated[bool, option("stat", "json", "--json")] = False,
) -> None:
    """Asks a mount what it has done."""
    from ffslab.files import results
    from ffslab.mount import control as mount_control

    if watch and json:
        raise InputError("--watch and --json: ask for one of them")
    if watch:
        mount_control.watch(mountpoint)
    else:
        now = mount_control.stat(mountpoint)
        say(results.dump_json(now).rstrip() if json else mount_control.text(now))


def checkpoint(
    mountpoint: Annotated[Path, argument("checkpoint", "mountpoint", "MOUNTPOINT")],
    file: Annotated[Path, argument("checkpoint", "file", "FILE")],
    sync: Annotated[bool, option("checkpoint", "sync", "--sync")] = False,
    no_oob: Annotated[bool, option("checkpoint", "no_oob", "--no-oob")] = False,
) -> None:
    """Saves the image of a mount."""
    from ffslab.mount import control as mount_control

    size = mount_control.checkpoint(mountpoint, file, sync=sync, oob=not no_oob)
    say(f"{file}: {size} bytes")
