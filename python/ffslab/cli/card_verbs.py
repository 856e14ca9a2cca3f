"""The verbs `card ...`: simulated cards, sticks and disks for real kernels."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ffslab._native import InputError
from ffslab.cli.parts import argument, group, help_without_verb, option, verb
from ffslab.cli.result_options import SummaryJson, serve_and_tell
from ffslab.cli.stack_options import Settings

card_app = group(
    "Serve simulated cards to real kernels. See docs/cards.md.", "ffslab card serve emmc-slc-cache --socket card.sock"
)


@card_app.callback()
def _card(context: typer.Context) -> None:
    help_without_verb(context)


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
    socket: Annotated[
        Path | None, option("--socket FILE", "Listen on a new Unix socket, which is yours alone.")
    ] = None,
    tcp: Annotated[
        int | None, option("--tcp PORT", "Listen on this port of 127.0.0.1; 0: one that is free.", least=0)
    ] = None,
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
        option("--cut-after WRITES", "Cut the power at this write, which is not answered, and end.", least=1),
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
    if (socket is None) == (tcp is None):
        raise InputError("say where to listen: --socket FILE or --tcp PORT, one of them")
    from ffslab.mount.card import Wanted
    from ffslab.mount.card_server import Listening, Service

    folder = None if no_results else out if out is not None else Path("results") / "card"
    wanted = Wanted(device, tuple(settings or ()), image)
    service = Service(wanted, Listening(socket, tcp), think is CardThink.REAL, realtime, cut_after, seed, save)
    serve_and_tell(lambda to: service.serve(command or [], to=to), folder, json=json)
