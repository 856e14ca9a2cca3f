"""The verb `mount`, and those of a mount that goes on: `mount ls`, `mount stat`, `mount checkpoint`."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ffslab._native import InputError
from ffslab.api.machine import SETTLED
from ffslab.cli.image_options import Place
from ffslab.cli.parts import argument, option, verb
from ffslab.cli.result_options import Json, SummaryJson, TimelineOptions, serve_and_tell
from ffslab.cli.stack_options import (
    Initial,
    Kernel,
    MountedBlocks,
    MountedFs,
    MountOptions,
    OwnBoard,
    Part,
    Settings,
    System,
)
from ffslab.systems import DEFAULT
from ffslab.terminal.printing import say


class MountThink(StrEnum):
    """What the time between the calls of a program is on the board."""

    REAL = "real"
    NONE = "none"
    FAST = "fast"


class Torn(StrEnum):
    """What becomes of the operation at which the power is cut."""

    NOTHING = "nothing"
    PARTIAL = "partial"
    COMPLETE = "complete"


def add_to(app: typer.Typer) -> None:
    """Makes the verbs known to the command."""
    verb(app, "mount")(mount)
    for function in (ls, stat, checkpoint):
        verb(app, f"mount {function.__name__}")(function)


def mount(
    mountpoint: Annotated[
        Path, argument("MOUNTPOINT", "A folder, best an empty one: what it holds is hidden meanwhile.")
    ],
    command: Annotated[
        list[str] | None,
        argument("-- COMMAND", "A program to run on the mount, which ends with it. [default: until it is unmounted]"),
    ] = None,
    system: System = None,
    fs: MountedFs = None,
    board: OwnBoard = None,
    part: Part = None,
    kernel: Kernel = None,
    blocks: MountedBlocks = None,
    settings: Settings = None,
    image: Annotated[
        Path | None,
        option("--image FILE", "What the chip or disk holds at the start: an image or a dump. [default: nothing]"),
    ] = None,
    oob: Annotated[
        bool | None,
        option("--oob/--no-oob", "Each page of the image is followed by its OOB area. [default: as is found in it]"),
    ] = None,
    autoplace: Annotated[
        bool,
        option(
            "--autoplace", "Place the image's OOB areas as nandwrite --autoplace does. [default: as is found in it]"
        ),
    ] = False,
    *,
    place: Place,
    options: MountOptions = None,
    initial: Initial = SETTLED,
    owner: Annotated[
        str | None,
        option(
            "--owner UID[:GID]",
            "Who gets the root of the file system. [default: who mounts a new one; an image's stays]",
        ),
    ] = None,
    think: Annotated[
        MountThink,
        option(
            "--think",
            "What becomes of the time between calls; real: it also passes while the program computes or sleeps; "
            "none: only in its calls; "
            "fast: in its calls and sleeps, and the sleeps take the host no time.",
        ),
    ] = MountThink.REAL,
    realtime: Annotated[
        bool, option("--realtime", "Let the program wait for each call as long as it would on the board.")
    ] = False,
    power_cut_after: Annotated[
        int | None,
        option(
            "--power-cut-after OPERATIONS",
            "Cut the power at this page program or erase, counted from the end of the mount.",
            least=1,
        ),
    ] = None,
    torn: Annotated[
        Torn, option("--torn", "What becomes of that operation: nothing, partial (left in its middle) or complete.")
    ] = Torn.PARTIAL,
    seed: Annotated[int, option("--seed N", "Seed of what chance decides: where a torn operation stops.", least=0)] = 1,
    save: Annotated[
        Path | None,
        option("--save FILE", "Write what the chip holds at the end to this file, with OOB areas; of RTEMS its disk."),
    ] = None,
    no_results: Annotated[bool, option("--no-results", "Write no results folder.")] = False,
    out: Annotated[
        Path | None,
        option(
            "--out DIR", "Folder to write; one that ffslab wrote is replaced, another refused. [default: results/mount]"
        ),
    ] = None,
    json: SummaryJson = False,
    written: TimelineOptions,
) -> None:
    """Mount a simulated file system for real programs. See docs/mount.md.

    Example: ffslab mount --fs ubifs /mnt/flash -- sqlite3 /mnt/flash/data.db '.read load.sql'
    """
    if no_results and out is not None:
        raise InputError("--out and --no-results: give one of them")
    if realtime and think is MountThink.FAST:
        raise InputError(
            "--realtime and --think fast: the one makes programs wait, the other does not let them: give one"
        )
    from ffslab.mount.run import Mount, Wanted

    observe = written.observe()
    where = {key: value for key, value in place.chosen().items() if value is not None}
    wanted = Wanted(
        system or DEFAULT.name,
        fs,
        board,
        part,
        kernel,
        blocks,
        image,
        oob,
        autoplace,
        settings or [],
        options or [],
        where,
    )
    cut = (power_cut_after, torn.value)
    mounted = Mount(wanted, mountpoint, think.value, realtime, *cut, seed, save, owner, observe, initial)
    folder = None if no_results else out if out is not None else Path("results") / "mount"
    serve_and_tell(lambda to: mounted.serve(command or [], to=to), folder, json=json)


def ls(json: Json = False) -> None:
    """List the mounts of yours that go on.

    Example: ffslab mount ls
    """
    from ffslab.files import results
    from ffslab.mount import control as mount_control

    places = mount_control.mounts()
    say(results.dump_json({"mounts": places}).rstrip() if json else "\n".join(places) or "nothing is mounted")


def stat(
    mountpoint: Annotated[Path, argument("MOUNTPOINT", "Where ffslab mount mounted.")],
    watch: Annotated[
        bool, option("--watch", "Show a map of the erase blocks again and again, until q or the end of the mount.")
    ] = False,
    web: Annotated[
        bool,
        option("--web", "The same as a web page for this computer alone, until Ctrl-C or the end of the mount."),
    ] = False,
    port: Annotated[int | None, option("--port PORT", "Of --web. [default: one that is free]", least=1)] = None,
    json: Json = False,
) -> None:
    """Show what a mount has done so far.

    Example: ffslab mount stat /mnt/flash --watch
    """
    from ffslab.files import results
    from ffslab.mount import control as mount_control

    if watch + web + json > 1:
        raise InputError("--watch, --web and --json: ask for one of them")
    if port is not None and not web:
        raise InputError(f"--port {port}: is of --web, which is not asked for")
    if watch:
        from ffslab.mount.watch import watch as show

        show(mountpoint)
    elif web:
        from ffslab.mount.web import serve

        serve(mountpoint, port or 0)
    else:
        now = mount_control.stat(mountpoint)
        say(results.dump_json(now).rstrip() if json else mount_control.text(now))


def checkpoint(
    mountpoint: Annotated[Path, argument("MOUNTPOINT", "Where ffslab mount mounted.")],
    file: Annotated[
        Path, argument("FILE", "New file for the image; ffslab mount --image, inspect and extract read it.")
    ],
    sync: Annotated[
        bool,
        option("--sync", "Write what waits in memory first. Without it the image is what a power cut would leave."),
    ] = False,
    no_oob: Annotated[
        bool, option("--no-oob", "Leave the OOB areas out. Not for YAFFS2, whose tags stand there.")
    ] = False,
) -> None:
    """Save what the chip of a mount holds now.

    Example: ffslab mount checkpoint /mnt/flash nand.bin --sync
    """
    from ffslab.mount import control as mount_control

    size = mount_control.checkpoint(mountpoint, file, sync=sync, oob=not no_oob)
    say(f"{file}: {size} bytes")
