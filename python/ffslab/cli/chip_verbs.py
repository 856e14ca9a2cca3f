"""The verbs `chip ...`: simulated flash parts for firmware that brings its own driver."""

from __future__ import annotations

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ffslab._native import InputError
from ffslab.cli.card_verbs import Socket, Tcp, Tear, check_one_place
from ffslab.cli.parts import argument, group, help_without_verb, option, verb
from ffslab.cli.result_options import SummaryJson, serve_and_tell
from ffslab.cli.stack_options import Settings, profile_option

chip_app = group(
    "Serve simulated flash parts on their bus. See docs/chip-serve.md.",
    "ffslab chip serve --part w25n01gv --socket chip.sock",
)

# FROM-END=NAME, in bytes, KiB or MiB.
_CAUSE = re.compile(r"(0x[0-9a-fA-F]+|\d+)([KM]?)-(0x[0-9a-fA-F]+|\d+)([KM]?)=(.+)")
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20}


@chip_app.callback()
def _chip(context: typer.Context) -> None:
    help_without_verb(context)


def cause_of(text: str) -> tuple[int, int, str]:
    """First byte, end and name of `--cause`.

    Raises `ffslab.InputError`.
    """
    found = _CAUSE.fullmatch(text)
    if found is None:
        raise InputError(f'--cause "{text}": must be FROM-END=NAME, as 0-256K=bootloader or 0x40000-2M=log')
    start, end = (int(found[i], 0) * _UNITS[found[i + 1]] for i in (1, 3))
    if start >= end:
        raise InputError(f'--cause "{text}": the end must be behind the begin')
    return start, end, found[5]


def read_id_of(text: str | None) -> bytes | None:
    """The bytes of `--read-id`.

    Raises `ffslab.InputError`.
    """
    if text is None:
        return None
    try:
        return bytes.fromhex(text)
    except ValueError:
        raise InputError(f"--read-id {text}: must be bytes as hexadecimal digits, as EFAA21") from None


class Protocol(StrEnum):
    """What clients speak."""

    FFSLAB = "ffslab"
    SERPROG = "serprog"


@verb(chip_app, "serve")
def serve(
    command: Annotated[
        list[str] | None,
        argument("-- COMMAND", "A program to run; the server ends with it. FFSLAB_CHIP is where the chip is."),
    ] = None,
    part: Annotated[
        str | None,
        profile_option("part", "Flash part, by name or path. SPI NOR, SPI NAND, or raw NAND on a bus of 8 bits."),
    ] = None,
    socket: Socket = None,
    tcp: Tcp = None,
    protocol: Annotated[
        Protocol,
        option("--protocol", "What clients speak: the one of docs/chip-serve.md, or flashrom's serprog (SPI)."),
    ] = Protocol.FFSLAB,
    settings: Settings = None,
    read_id: Annotated[
        str | None, option("--read-id HEX", "What the part answers to READ ID. [default: what is known of it]")
    ] = None,
    causes: Annotated[
        list[str] | None,
        option(
            "--cause FROM-END=NAME",
            "Why something is done in this range of bytes, as 0-256K=bootloader; can be given several times.",
        ),
    ] = None,
    image: Annotated[
        Path | None,
        option(
            "--image FILE",
            "What the chip or disk holds at the start: of --save, or plain bytes, of NAND with or without out-of-band "
            "areas. [default: nothing]",
        ),
    ] = None,
    save: Annotated[
        Path | None,
        option("--save FILE", "Write what the chip holds at the end to this file, with wear, for --image."),
    ] = None,
    dump: Annotated[
        Path | None,
        option("--dump FILE", "Write the bytes of the chip at the end, of NAND with out-of-band areas, for `inspect`."),
    ] = None,
    cut_after: Annotated[
        int | None,
        option("--cut-after N", "Cut the power and end: at this program or erase, from 1.", least=1),
    ] = None,
    torn: Annotated[
        Tear,
        option("--torn", "What becomes of that operation: nothing, partial, unstable, complete."),
    ] = Tear.PARTIAL,
    seed: Annotated[int, option("--seed N", "Seed of what chance decides: how an operation tears.", least=0)] = 1,
    no_results: Annotated[bool, option("--no-results", "Write no results folder.")] = False,
    out: Annotated[
        Path | None,
        option(
            "--out DIR", "Folder to write; one that ffslab wrote is replaced, another refused. [default: results/chip]"
        ),
    ] = None,
    json: SummaryJson = False,
) -> None:
    """Serve a simulated flash part on its bus: it takes commands and answers bytes. See docs/chip-serve.md.

    Example: ffslab chip serve --part w25n01gv --socket chip.sock -- ./test
    """
    if part is None:
        raise InputError("say which part: --part NAME, as w25q128jv, w25n01gv or mt29f2g08abaea (`ffslab profiles ls`)")
    if no_results and out is not None:
        raise InputError("--out and --no-results: give one of them")
    check_one_place(socket, tcp)
    from ffslab.mount.card_server import Listening
    from ffslab.mount.chip_server import Cut, Service, Wanted

    folder = None if no_results else out if out is not None else Path("results") / "chip"
    ranges = tuple(map(cause_of, causes or ()))
    wanted = Wanted(part, tuple(settings or ()), read_id_of(read_id), ranges, image)
    cut = None if cut_after is None else Cut(cut_after, torn.value, seed)
    service = Service(wanted, Listening(socket, tcp), cut, save, dump, serprog=protocol is Protocol.SERPROG)
    serve_and_tell(lambda to: service.serve(command or [], to=to), folder, json=json)
