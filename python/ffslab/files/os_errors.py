"""Why the system refused a file, in the words of all error messages."""

from __future__ import annotations


def reason(error: OSError) -> str:
    """The cause as a part of a sentence: "no such file or directory"."""
    return (error.strerror or str(error)).lower()
