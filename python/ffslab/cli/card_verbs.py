"""The verbs `card ...`: simulated cards, sticks and disks for real kernels."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ffslab._native import InputError
from ffslab.cli.parts import EXIT_NEGATIVE, argument, group, help_without_verb, option, verb
from ffslab.cli.result_options import Json, SummaryJson, serve_and_tell
from ffslab.cli.stack_options import Settings
from ffslab.terminal.printing import say
from ffslab.terminal.progress import progress_of_parts

card_app = group(
    "Serve simulated cards to real kernels. See docs/cards.md.", "ffslab card serve emmc-slc-cache --socket card.sock"
)


@card_app.callback()
def _card(context: typer.Context) -> None:
    help_without_verb(context)


Socket = Annotated[Path | None, option("--socket FILE", "Listen on a new Unix socket, which is yours alone.")]
Tcp = Annotated[int | None, option("--tcp PORT", "Listen on this port of 127.0.0.1; 0: one that is free.", least=0)]


def check_one_place(socket: Path | None, tcp: int | None) -> None:
    """Raises `InputError` where nothing or both say where to listen."""
    if (socket is None) == (tcp is None):
        raise InputError("say where to listen: --socket FILE or --tcp PORT, one of them")


class CardThink(StrEnum):
    """What the time between requests is on the device."""

    REAL = "real"
    NONE = "none"


@verb(card_app, "serve")
def serve(
    device: Annotated[
        str,
        argument(
            "DEVICE",
            "A profile of a block device (ffslab profiles ls), or the path of one; with --set device.part=PART a "
            "translation layer, such as page-map (docs/ftl.md).",
        ),
    ],
    command: Annotated[
        list[str] | None,
        argument("-- COMMAND", "A program to run; the server ends with it. FFSLAB_NBD is the address, as a URI."),
    ] = None,
    socket: Socket = None,
    tcp: Tcp = None,
    settings: Settings = None,
    image: Annotated[
        Path | None,
        option(
            "--image FILE", "What the chip or disk holds at the start: of --save, or plain bytes. [default: nothing]"
        ),
    ] = None,
    save: Annotated[
        Path | None,
        option("--save FILE", "Write what the chip holds at the end to this file, with map and wear, for --image."),
    ] = None,
    think: Annotated[
        CardThink,
        option(
            "--think",
            "What becomes of the time between calls; real: it also passes on the device, which may work meanwhile; "
            "none: time passes in requests alone.",
        ),
    ] = CardThink.NONE,
    realtime: Annotated[
        bool, option("--realtime", "Let the program wait for each call as long as it would on the board.")
    ] = False,
    cut_after: Annotated[
        int | None,
        option("--cut-after N", "Cut the power and end: at this write, which is not answered.", least=1),
    ] = None,
    record: Annotated[
        Path | None,
        option("--record FILE", "Write what is asked of the device to this file, for `ffslab card cuts`."),
    ] = None,
    seed: Annotated[int, option("--seed N", "Seed of what chance decides: of policies that draw.", least=0)] = 1,
    no_results: Annotated[bool, option("--no-results", "Write no results folder.")] = False,
    out: Annotated[
        Path | None,
        option(
            "--out DIR", "Folder to write; one that ffslab wrote is replaced, another refused. [default: results/card]"
        ),
    ] = None,
    json: SummaryJson = False,
) -> None:
    """Serve a simulated card, stick or disk over NBD to kernels and tools of this computer. See docs/cards.md.

    Example: ffslab card serve emmc-slc-cache --socket card.sock -- qemu-img convert -n root.ext4 nbd:unix:card.sock
    """
    if no_results and out is not None:
        raise InputError("--out and --no-results: give one of them")
    check_one_place(socket, tcp)
    if record is not None and cut_after is not None:
        raise InputError("--record and --cut-after: give one of them; a record is cut by `ffslab card cuts`")
    from ffslab.mount.card import Wanted
    from ffslab.mount.card_server import Listening, Service

    folder = None if no_results else out if out is not None else Path("results") / "card"
    wanted = Wanted(device, tuple(settings or ()), image)
    service = Service(wanted, Listening(socket, tcp), think is CardThink.REAL, realtime, cut_after, seed, save, record)
    serve_and_tell(lambda to: service.serve(command or [], to=to), folder, json=json)


class Tear(StrEnum):
    """What becomes of the operation that a power cut hits."""

    NOTHING = "nothing"
    PARTIAL = "partial"
    UNSTABLE = "unstable"
    COMPLETE = "complete"


@verb(card_app, "cuts")
def cuts(
    record: Annotated[Path, argument("RECORD", "What `ffslab card serve --record` wrote.")],
    command: Annotated[
        list[str] | None,
        argument(
            "-- CHECK",
            "A program that reads a line for each cut (its place, how it tears, a file of the marks before it), looks "
            "at the card, and answers by a line: `ok` or what is wrong. FFSLAB_NBD is the address, as a URI.",
        ),
    ] = None,
    socket: Socket = None,
    tcp: Tcp = None,
    count: Annotated[int, option("--cuts N", "How many cuts, spread evenly over the session.", least=1)] = 200,
    at: Annotated[
        int | None,
        option("--at N", "Cut once, at this program or erase of the flash, from 1; or behind this write.", least=1),
    ] = None,
    torn: Annotated[
        Tear | None,
        option(
            "--torn",
            "What becomes of that operation: nothing, partial, unstable, complete. [default: in turn, but unstable]",
        ),
    ] = None,
    save: Annotated[
        Path | None,
        option("--save FILE", "Write what the chip holds at the end to this file: after the cut of --at."),
    ] = None,
    seed: Annotated[int, option("--seed N", "Seed of what chance decides: how an operation tears.", least=0)] = 1,
    json: Json = False,
) -> None:
    """Cut the power within a recorded session of a card, and let a check look at each state. See docs/cards.md.

    Example: ffslab card cuts log.rec --socket cut.sock -- python tools/card_guest.py check ext4
    """
    if command:
        check_one_place(socket, tcp)
    if not command and save is None:
        raise InputError("say what becomes of the cuts: -- CHECK looks at each, --at N --save FILE keeps one")
    if save is not None and at is None:
        raise InputError("--save: is of one cut: name it by --at N")
    from ffslab.files import results
    from ffslab.mount.card_cuts import Cuts
    from ffslab.mount.card_server import Listening
    from ffslab.text.card_cuts import cuts_text

    listening = Listening(socket, tcp) if command else None
    with progress_of_parts("cuts") as show:
        answer = Cuts(record, listening, count, at, torn and torn.value, seed, save).run(command or [], show)
    say(results.dump_json(answer).rstrip() if json else cuts_text(answer))
    if not all(row["good"] for row in answer["verdicts"]):
        raise typer.Exit(EXIT_NEGATIVE)
