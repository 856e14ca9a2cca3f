"""JSON Schemas of what people write and of what ffslab answers, as `ffslab schema` prints them."""

from __future__ import annotations

import json

from ffslab import _native
from ffslab._native import InputError


def text(name: str) -> str:
    """The schema of what is called so, for people and editors.

    Raises `ffslab.InputError` when nothing is.
    """
    known = [known for known, _ in _native.schemas()]
    if name not in known:
        raise InputError(f'schema "{name}": must be {", ".join(known[:-1])} or {known[-1]}')
    return json.dumps(json.loads(_native.schema(name)), indent=2)
