"""`ffslab uflip` for a terminal: the table of devices, their phases, and what was waited."""

from __future__ import annotations

from ffslab.answers.uflip_study import PatternPhases, UflipStudy
from ffslab.studies.uflip.table import ALIGN, HEAD, cells
from ffslab.text.tables import number, size, text_table

PHASES_HEAD = [
    "",
    "pattern",
    "calls",
    "start-up\ncalls",
    "start-up\nms",
    "running\nms",
    "cheap\nms",
    "expensive\nms",
    "expensive\nshare",
    "one of",
    "IOIgnore",
    "IOCount",
]
PHASES_ALIGN = "llrrrrrrrrrr"


def text(study: UflipStudy) -> str:
    """Tables and sentences."""
    rows = [cells(device["name"], device["row"]) for device in study["devices"]]
    parts = [
        f"{study['title']}: {size(study['io_size_B'])} a call, state {study['state']}",
        study["machine"],
        text_table(HEAD, rows, ALIGN),
        text_table(PHASES_HEAD, phases_rows(study), PHASES_ALIGN),
        "\n".join(said(study)),
    ]
    return "\n\n".join(parts)


def phases_rows(study: UflipStudy) -> list[list[str]]:
    """The phases of each device, a row each base pattern."""
    return [[device["name"], *_phases(one)] for device in study["devices"] for one in device["phases"]]


def said(study: UflipStudy) -> list[str]:
    """What was done with the devices, and what the tables mean."""
    sentences = [
        "Factors are in sequential writes of the same size, = is within a quarter; a range ends where a call is "
        "nearer to a random write; + after it: the largest value that was tried.",
    ]
    for device in study["devices"]:
        slowed = (
            f"random writes slow the reads after them down for {device['lingering_us'] / 1_000:,.1f} ms"
            if device["lingering_us"]
            else "random writes leave nothing that would slow down the reads after them"
        )
        sentences.append(
            f"{device['name']}: {size(device['device_B'])}; {slowed}, so {device['pause_us'] / 1e6:g} s lie between "
            f"two experiments; {number(device['sessions'])} sessions begin with its state."
        )
        unsure = [one["pattern"] for one in device["phases"] if not one["converged"]]
        if unsure:
            sentences.append(
                f"{device['name']}: {', '.join(unsure)} oscillates too slowly for its mean to be known within 5 %."
            )
    return sentences


def _phases(one: PatternPhases) -> list[str]:
    def ms(value_us: float | None) -> str:
        return "-" if value_us is None else f"{value_us / 1_000:.3g}"

    spacing = "-" if one["spacing_n"] is None else f"{one['spacing_n']:.3g}"
    oscillates = one["expensive_share"] > 0
    return [
        one["pattern"],
        number(one["calls"]),
        number(one["startup_n"]),
        ms(one["startup_us"]),
        ms(one["running_us"]),
        ms(one["cheap_us"]) if oscillates else "-",
        ms(one["expensive_us"]) if oscillates else "-",
        f"{100 * one['expensive_share']:.3g} %" if oscillates else "-",
        spacing if one["period_n"] is None else str(one["period_n"]),
        number(one["io_ignore"]),
        number(one["io_count"]),
    ]
