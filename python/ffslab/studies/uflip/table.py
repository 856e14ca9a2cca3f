"""A device in one row, as table 3 of the uFLIP paper has devices: base costs, and what pauses, locality, partitions,
order change.

Pure functions on mean response times. By which rule a "good" range ends is this laboratory's own: it ends where a call
costs more than the geometric mean of a sequential and a random write, that is where it is nearer to a random write.
"""

from __future__ import annotations

from collections.abc import Mapping

from ffslab.answers.uflip_study import DeviceRow, GoodRange

# Costs that differ by less are called the same, "=".
SAME = 1.25


def device_row(
    base_us: Mapping[str, float],
    pauses_us: Mapping[int, float],
    locality_us: Mapping[int, float],
    partitions_us: Mapping[int, float],
    order_us: Mapping[int, float],
) -> DeviceRow:
    """The row of a device from mean response times: of the base patterns; of random writes by pause (us) and by size of
    their target (bytes); of sequential writes by number of partitions and by increment (-1, 0, and larger than 1)."""
    sequential, random = base_us["SW"], base_us["RW"]
    large = max(incr for incr in order_us if incr > 1)
    return {
        "SR_ms": base_us["SR"] / 1_000,
        "RR_ms": base_us["RR"] / 1_000,
        "SW_ms": sequential / 1_000,
        "RW_ms": random / 1_000,
        "pause_ms": _pause_ms(sequential, random, pauses_us),
        "locality_B": good_range(sequential, random, locality_us),
        "partitions": good_range(sequential, random, partitions_us),
        "reverse": order_us[-1] / sequential,
        "in_place": order_us[0] / sequential,
        "large_incr": order_us[large] / sequential,
    }


def good_range(sequential_us: float, random_us: float, costs_us: Mapping[int, float]) -> GoodRange:
    """The values up to which calls are good, from the smallest one on without a gap. The factor is the worst of
    them."""
    limit_us = max((sequential_us * random_us) ** 0.5, SAME * sequential_us)
    good: list[int] = []
    for value in sorted(costs_us):
        if costs_us[value] > limit_us:
            break
        good.append(value)
    if not good:
        return {"value": None, "factor": None, "whole": False}
    factor = max(costs_us[value] for value in good) / sequential_us
    return {"value": good[-1], "factor": factor, "whole": len(good) == len(costs_us)}


def _pause_ms(sequential_us: float, random_us: float, pauses_us: Mapping[int, float]) -> float | None:
    if random_us <= SAME * sequential_us:
        return None
    shortest = None
    # Those that are longer must help, too: one alone may do so by chance.
    for pause in sorted((pause for pause in pauses_us if pause > 0), reverse=True):
        if pauses_us[pause] > SAME * sequential_us:
            break
        shortest = pause
    return None if shortest is None else shortest / 1_000


HEAD = [
    "",
    "SR\nms",
    "RR\nms",
    "SW\nms",
    "RW\nms",
    "pause\nRW, ms",
    "locality\nRW, MiB",
    "partitions\nSW",
    "reverse",
    "in place",
    "large\nincr",
]
ALIGN = "lrrrrrrrrrr"


def cells(name: str, row: DeviceRow) -> list[str]:
    """The row as the paper prints it: "8 (x2)" is a range of 8 in which a call costs two sequential writes, "=" as much
    as one."""
    mib = 1 << 20
    locality, partitions = row["locality_B"], row["partitions"]
    return [
        name,
        *(f"{cost:.3g}" for cost in (row["SR_ms"], row["RR_ms"], row["SW_ms"], row["RW_ms"])),
        "-" if row["pause_ms"] is None else f"{row['pause_ms']:.3g}",
        _range(locality, "" if locality["value"] is None else f"{locality['value'] / mib:.3g}"),
        _range(partitions, f"{partitions['value']}"),
        *(times(row[key]) for key in ("reverse", "in_place", "large_incr")),
    ]


def times(factor: float) -> str:
    """A factor as the paper prints it."""
    return "=" if 1 / SAME <= factor <= SAME else f"x{factor:.2g}" if factor < 10 else f"x{factor:.0f}"


def _range(found: GoodRange, value: str) -> str:
    if found["factor"] is None:
        return "no"
    return f"{value}{'+' if found['whole'] else ''} ({times(found['factor'])})"
