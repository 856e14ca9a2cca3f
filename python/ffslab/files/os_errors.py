"""Why the system refused a file, and how it ended a process, in the words of all error messages."""

from __future__ import annotations

import signal


def reason(error: OSError) -> str:
    """The cause as a part of a sentence: "no such file or directory"."""
    return (error.strerror or str(error)).lower()


def how_ended(code: int) -> str:
    """How a process ended, by its code as Python tells it: "with 3", "by signal 9 (Killed)"."""
    return f"by signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"with {code}"
