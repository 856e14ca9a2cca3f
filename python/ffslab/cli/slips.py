"""Slips in a call that a parser takes for something else: the one line that each is answered with."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ffslab._native import InputError

# Whether a word can be the value of an option; of the options whose values are known when they are seen.
Fits = Callable[[str], bool]


def is_whole(word: str) -> bool:
    """Whether it is a whole number."""
    return re.fullmatch("[0-9]+", word) is not None


def check_values(command: Any, words: list[str], fits: dict[str, Fits]) -> None:
    """Refuses further values behind that of an option (`--fs jffs2 ubifs`): they would be taken for files."""
    options = {flag: each for each in command.params if each.param_type_name == "option" for flag in each.opts}
    end = words.index("--") if "--" in words else len(words)
    for at in range(end - 2):
        flag, value = words[at : at + 2]
        if flag not in options or flag not in fits or value.startswith("-"):
            continue
        more = []
        for word in words[at + 2 : end]:
            if not fits[flag](word) or Path(word).exists():
                break
            more.append(word)
        if not more:
            continue
        given = " ".join([flag, value, *more])
        if options[flag].multiple:
            right = " ".join(f"{flag} {each}" for each in (value, *more))
            raise InputError(f"{given}: each value needs its own {flag}: {right}")
        raise InputError(f"{given}: {flag} takes one value here")


def refuse_experiment(path: Path | None, wanted: str) -> None:
    """Refuses a TOML file where something else is read. `wanted`: what that is."""
    if path is not None and path.suffix == ".toml" and path.is_file():
        raise InputError(f"{path}: is TOML, as experiments are, which `ffslab run` runs; {wanted}")


def check_commas(flag: str, value: object) -> None:
    """Refuses several values in one word."""
    if isinstance(value, str) and re.fullmatch(r"[\w.-]+([,;\s]+[\w.-]+)+", value):
        right = " ".join(f"{flag} {each}" for each in re.split(r"[,;\s]+", value))
        raise InputError(f"{flag} {value}: is one name; several are {right}")
