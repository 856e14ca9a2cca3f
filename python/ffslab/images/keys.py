"""What is in a store of keys and values, as a table."""

from __future__ import annotations

from collections import Counter

from ffslab.answers.image import Facts
from ffslab.answers.inspection import KeyFacts
from ffslab.text.quoting import one_line, quoted
from ffslab.text.tables import number, text_table

# Rows that a terminal shows of those that count, and of all others; JSON and report have more.
CURRENT_SHOWN = 40
OTHERS_SHOWN = 12
HEAD = ["key", "type", "size, B", "value", "block", "entry", "state"]
ALIGNED = "llrlrrl"


def rows(keys: list[KeyFacts]) -> list[list[str]]:
    """A row for each, in the order of the answer: by namespace and key, those that count first."""
    return [
        [
            quoted(key["key"] if key["namespace"] is None else f"{key['namespace']}/{key['key']}"),
            key["type"],
            number(key["size_B"]),
            one_line("damaged" if key["value"] is None else key["value"]),
            str(key["block"]),
            str(key["entry"]),
            key["state"],
        ]
        for key in keys
    ]


def counted(facts: Facts) -> str:
    """How many there are of which state: "3 current, 1 older"."""
    counts = Counter(key["state"] for key in facts["keys"])
    return ", ".join(f"{number(count)} {state}" for state, count in counts.items())


def text(facts: Facts) -> str:
    """The table for a terminal; empty for what is no store."""
    if not facts["keys"]:
        return ""
    current = [key for key in facts["keys"] if key["state"] == "current"]
    others = [key for key in facts["keys"] if key["state"] != "current"]
    shown = current[:CURRENT_SHOWN] + others[:OTHERS_SHOWN]
    left = len(facts["keys"]) - len(shown)
    more = f"\n  ... and {number(left)} more: --json has all" if left else ""
    return f"values: {counted(facts)}\n{text_table(HEAD, rows(shown), ALIGNED)}{more}"
