"""Times as people say them."""

from __future__ import annotations

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
