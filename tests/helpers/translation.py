"""The translation layers that there are."""

from __future__ import annotations

import re

from ffslab import InputError, Stack

FLASH = {"part": "k9f1g08u0a", "blocks": 24, "spare": 0.6}


def mappings() -> list[str]:
    """All of them, as the message about one that there is not lists them."""
    try:
        Stack.of({"system": "bare", "fs": "block-device", "device": {"ftl": "none-such", **FLASH}})
    except InputError as said:
        return re.findall(r"[a-z]+(?:-[a-z]+)*", str(said).partition("known: ")[2])
    raise AssertionError("a translation layer that there is not was taken")
