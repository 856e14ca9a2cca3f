"""Policies: the built-in ones by name, and victim policies that are written in Python."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Callable
from typing import Any, cast

from ffslab import _native
from ffslab._native import InputError

# What is known of a built-in policy: decision, name, about, paper, parameter.
Known = dict[str, Any]


def known() -> list[Known]:
    """The built-in policies, in the order in which people read them."""
    return cast(list[Known], json.loads(_native.policies()))


def policy(chooser: Callable[..., Any], name: str | None = None) -> str:
    """Makes a victim policy known and returns the name for `policy = {"victim": ...}` of a stack.

    `chooser` is a function of the candidates, or a class whose objects have `choose(candidates)`: of a class each
    mount gets an object of its own. It returns the position of the victim, or `None` for the layer's own rule. The
    candidates have numpy arrays with one entry a block, `block`, `valid`, `invalid`, `erases`, `age`, `idle` and
    `stream`, and `capacity`, `room` ("bytes" or "pages", for `valid`, `invalid` and `capacity`), `age_unit` and
    `must_gain`.

    `name`: lower-case letters, digits and hyphens. Without it the name is that of `chooser`, and behind it stands what
    tells this source text from others, so that kept states of another policy are not taken for those of this one.

    Raises InputError: it cannot be a name, or another policy has it.
    """
    wanted = name or _name_of(chooser)
    if wanted in _REGISTERED:
        if _REGISTERED[wanted] is not chooser and name is not None:
            message = f"there is already a policy `{wanted}`: forget it first, or take another name"
            raise InputError(message)
        _native.unregister_policy(wanted)
    made: Callable[[], object] = chooser if inspect.isclass(chooser) else lambda: chooser
    _native.register_policy(wanted, made)
    _REGISTERED[wanted] = chooser
    return wanted


def forget(name: str) -> None:
    """Forgets a policy that was made known; stacks that exist keep it."""
    _REGISTERED.pop(name, None)
    _native.unregister_policy(name)


_REGISTERED: dict[str, object] = {}


def _name_of(chooser: object) -> str:
    own = getattr(chooser, "__name__", type(chooser).__name__)
    plain = re.sub(r"[^a-z0-9]+", "-", own.lower()).strip("-")
    try:
        text = inspect.getsource(cast(Any, chooser))
    except (OSError, TypeError):
        code = getattr(chooser, "__code__", None)
        text = repr((code.co_code, code.co_consts, code.co_names)) if code is not None else repr(chooser)
    return f"{plain or 'policy'}-{hashlib.sha256(text.encode()).hexdigest()[:8]}".lstrip("-0123456789")
