"""Names that verbs and options had before: they work until the next version, and a line says what they are now."""

from __future__ import annotations

import tomllib
from collections.abc import Collection
from pathlib import Path

from ffslab._native import InputError
from ffslab.files.inputs import read_text
from ffslab.files.one_file import is_experiment
from ffslab.terminal.printing import tell

# The words of a verb, then and now.
VERBS = {
    ("checkpoint",): ("mount", "checkpoint"),
    ("compare",): ("trace", "compare"),
    ("profiles", "list"): ("profiles", "ls"),
    ("stat",): ("mount", "stat"),
}
# An option, then and now, of verbs that have the one and not the other.
OPTIONS = {"--picture": "--out", "--report": "--out"}


def called_now(words: list[str]) -> list[str]:
    """A call with the verb's name of today; tells when that is another."""
    for old, new in VERBS.items():
        if tuple(words[: len(old)]) == old:
            tell_renamed(" ".join(old), " ".join(new))
            return [*new, *words[len(old) :]]
    return words


def options_now(words: list[str], known: Collection[str]) -> list[str]:
    """What follows a verb whose options are `known`, with the names of today; tells which are others."""
    end = words.index("--") if "--" in words else len(words)
    found = []
    for word in words[:end]:
        flag, equals, value = word.partition("=")
        new = OPTIONS.get(flag)
        if new is not None and flag not in known and new in known:
            tell_renamed(flag, new)
            word = f"{new}{equals}{value}"
        found.append(word)
    return found + words[end:]


def out_of(verb: str, out: Path | None, last: Path | None) -> Path:
    """The file that is written: that of `--out`, or the last word, as was said before."""
    if out is None and last is None:
        raise InputError(f"{verb}: where to? --out FILE names the file to write")
    if last is not None:
        if out is not None:
            raise InputError(f"{verb} {last}: the file to write is named twice, here and by --out")
        tell_renamed(f"{verb} ... {last}", f"{verb} ... --out {last}")
    return out or last or Path()


def tell_renamed(old: str, new: str) -> None:
    """Tells what to write from now on."""
    tell(f"{old} is now {new}; the old name goes with the next version")


# What replaces the files that one verb alone could read: the keys by which they are known, and what to write.
FORMS = {
    "advise": (
        {"workload"},
        "the stack, setup and measure of the first workload stand at the top of the file, all else under [question], "
        "and [vary] is [question.axes]",
    ),
    "crashtest": (
        {"steps", "judge", "cuts", "program", "command"},
        "[[steps]] are [[measure]], and program, command, judge and cuts stand under [crashtest]",
    ),
    "sweep": (
        {"experiment"},
        "what is in [experiment] stands at the top of the file, and all else under [study]",
    ),
}


def tell_old_form(verb: str, path: Path) -> None:
    """Tells of a file of the form that one verb alone reads what to write from now on."""
    keys, instead = FORMS[verb]
    try:
        data = tomllib.loads(read_text(path, "experiment"))
    except tomllib.TOMLDecodeError:
        return
    # A study may name the file of an experiment that has several; a failure that was kept is written by the program.
    names_one = verb == "sweep" and isinstance(data.get("experiment"), str)
    if keys & data.keys() and not is_experiment(data) and not names_one and "cut" not in data:
        tell(f"{path}: files are read by all verbs now: {instead}; the old form goes with the next version")
