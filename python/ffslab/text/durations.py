"""Times as people say them."""

from __future__ import annotations

import re

from ffslab._native import InputError

_US = ((1e6, "s"), (1e3, "ms"), (1.0, "us"))


def duration(us: float) -> str:
    """A duration in microseconds: "804.9 us", "11.8 ms", "2.3 s", "1 min 3 s", "1 h 0 min 3 s", "2 d 3 h 0 min"."""
    if us >= 59_999_500:
        return _long(round(us / 1e6))
    for size, unit in _US:
        # What would be rounded up to a thousand of a unit is said in the next one.
        if us >= 0.99995 * size:
            return f"{us / size:.1f} {unit}"
    return f"{us:.1f} us"


def _long(seconds: int) -> str:
    minutes, s = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days:,} d {hours} h {minutes} min"
    return f"{hours} h {minutes} min {s} s" if hours else f"{minutes} min {s} s"


DAYS_PER_YEAR = 365.25
# Units of an age, in days.
_DAYS = {
    **dict.fromkeys(("y", "year", "years"), DAYS_PER_YEAR),
    **dict.fromkeys(("month", "months"), DAYS_PER_YEAR / 12),
    **dict.fromkeys(("w", "week", "weeks"), 7.0),
    **dict.fromkeys(("d", "day", "days"), 1.0),
    **dict.fromkeys(("h", "hour", "hours"), 1 / 24),
}


def days_of(flag: str, text: str) -> float:
    """An age as people write it, in days: "2y", "18 months", "90d", "1.5 years"."""
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", text)
    days = float(found[1]) * _DAYS.get(found[2], 0.0) if found else 0.0
    if not 0 < days < 1e6:
        raise InputError(f"{flag} {text}: must be a time such as 2y, 18months, 90d or 36h")
    return days
