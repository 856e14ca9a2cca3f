"""Policies: the built-in ones by name, and those that are written in Python."""

from __future__ import annotations

import hashlib
import inspect
import json
import re
from collections.abc import Callable
from tokenize import TokenError
from typing import Any, cast

from ffslab import _native
from ffslab._native import InputError

# What is known of a built-in policy: decision, name, about, paper, parameter.
Known = dict[str, Any]


def known() -> list[Known]:
    """The built-in policies, in the order in which people read them."""
    return cast(list[Known], json.loads(_native.policies()))


def decisions() -> list[Known]:
    """What policies decide: key, score (what a score says), columns (name, about)."""
    return cast(list[Known], json.loads(_native.decisions()))


def policy(chooser: Callable[..., Any], name: str | None = None, *, decision: str = "victim") -> str:
    """Makes a policy known and returns the name for `policy = {"victim": ...}` of a stack, or for another key.

    `chooser` is a function of what the decision shows, or a class whose objects have `choose(shown)`: of a class each
    mount gets an object of its own. It returns the position of what it chooses, or the number that is asked for, or
    `None` for the layer's own rule.

    What is shown has a numpy array for each column of the decision (`ffslab policy show DECISION`), with one entry a
    candidate; where a number is asked for (`stream`, `read_ahead`) the columns are numbers. Victims have `capacity`,
    `room` ("bytes" or "pages", for `valid`, `invalid` and `capacity`), `age_unit` and `must_gain`, too.

    `name`: lower-case letters, digits and hyphens. Without it the name is that of `chooser`, and behind it stands what
    tells this source text from others, so that kept states of another policy are not taken for those of this one.

    Raises InputError: it cannot be a name, or another policy has it; there is no such decision.
    """
    wanted = name or _name_of(chooser)
    if (decision, wanted) in _REGISTERED:
        if _REGISTERED[decision, wanted] is not chooser and name is not None:
            message = f"there is already a policy `{wanted}`: forget it first, or take another name"
            raise InputError(message)
        forget(wanted, decision=decision)
    made: Callable[[], object] = chooser if inspect.isclass(chooser) else lambda: chooser
    if decision == "victim":
        _native.register_policy(wanted, made)
    else:
        _native.register_rule(decision, wanted, made)
    _REGISTERED[decision, wanted] = chooser
    return wanted


def forget(name: str, *, decision: str = "victim") -> None:
    """Forgets a policy that was made known; stacks that exist keep it."""
    _REGISTERED.pop((decision, name), None)
    if decision == "victim":
        _native.unregister_policy(name)
    else:
        _native.unregister_rule(decision, name)


# What was made known, by its decision and its name.
_REGISTERED: dict[tuple[str, str], object] = {}


def _name_of(chooser: object) -> str:
    own = getattr(chooser, "__name__", type(chooser).__name__)
    plain = re.sub(r"[^a-z0-9]+", "-", own.lower()).strip("-")
    try:
        text = inspect.getsource(cast(Any, chooser))
    except (OSError, TypeError, SyntaxError, TokenError):
        # There is no source text, or not where the code says it is.
        code = getattr(chooser, "__code__", None)
        text = repr((code.co_code, code.co_consts, code.co_names)) if code is not None else repr(chooser)
    return f"{plain or 'policy'}-{hashlib.sha256(text.encode()).hexdigest()[:8]}".lstrip("-0123456789")
