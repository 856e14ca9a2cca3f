"""All verbs, walked: options that are alike, examples, JSON and its schema, exit codes, progress, interrupts."""

from __future__ import annotations

import inspect
import re
import shlex
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import pytest

from ffslab import __main__ as program
from ffslab.api import schemas
from ffslab.cli import index, root
from ffslab.cli.parts import VerbCommand
from helpers.verbs import VERBS

LEAVES = {name: verb for name, verb in VERBS.items() if isinstance(verb, VerbCommand)}
# Up to here the help of an option is the same wherever it stands; what follows is about its verb.
CLAUSE_END = re.compile(r"[.:;(\[]| and |, (?:whose|with|which)")


def declared_options() -> Iterator[tuple[str, str, Any]]:
    """Verb, flag, parameter."""
    for name, verb in VERBS.items():
        for parameter in verb.params:
            if parameter.param_type_name == "option":
                yield from ((name, flag, parameter) for flag in parameter.opts)


# Where something is written is a folder in most verbs, and in some a file: one meaning.
SAME_PLACE = {("FILE", "File to write"): ("DIR", "Folder to write")}


def clause(text: str) -> str:
    return CLAUSE_END.split(text)[0].strip()


def unlike(options: Iterator[tuple[str, str, Any]]) -> list[str]:
    """Options that stand in several verbs and are not the same in each."""
    ways: dict[str, dict[tuple[object, ...], list[str]]] = defaultdict(lambda: defaultdict(list))
    for verb, flag, parameter in options:
        said = (parameter.metavar, clause(parameter.help))
        way = (*SAME_PLACE.get(said, said), bool(getattr(parameter, "is_flag", False)))
        ways[flag][way].append(verb)
    return [f"{flag}: {dict(found)}" for flag, found in ways.items() if len(found) > 1]


def test_an_option_is_the_same_wherever_it_stands() -> None:
    assert unlike(declared_options()) == []
    assert len({flag for _, flag, _ in declared_options()}) > 80


def test_the_walk_sees_an_option_that_is_not() -> None:
    class Option(NamedTuple):
        metavar: str
        help: str

    same = [
        ("a", "--out", Option("DIR", "Folder to write. Of a.")),
        ("b", "--out", Option("DIR", "Folder to write; b.")),
    ]
    assert unlike(iter(same)) == []
    assert len(unlike(iter([*same, ("c", "--out", Option("FILE", "Folder to write."))]))) == 1
    assert len(unlike(iter([*same, ("c", "--out", Option("DIR", "Where it goes."))]))) == 1


def test_the_index_says_what_the_verbs_say() -> None:
    tops = [name for name in VERBS if " " not in name]
    told = {name: about for verbs in index.SECTIONS.values() for name, (_, about) in verbs.items()}
    assert list(told) == tops
    for name in tops:
        assert " ".join(str(VERBS[name].help).split()).startswith(told[name]), name


# ---- the table ----------------------------------------------------------------------------------------------


class Promise(NamedTuple):
    """What a verb promises. `schema`: of its JSON. `is_long`: it shows on a terminal how far it is."""

    schema: str | None
    is_long: bool = False


# JSON without a schema of its own: "profile" and so on are lists of what the native half shows.
NO_SCHEMA = "none of its own"
TABLE = {
    "new": Promise(None),
    "run": Promise("summary", True),
    "replay": Promise("summary", True),
    "fio": Promise(NO_SCHEMA, True),
    "postmark": Promise("summary", True),
    "sqlite": Promise("summary", True),
    "uflip": Promise("uflip_study", True),
    "advise": Promise("advice", True),
    "lifetime": Promise("lifetime", True),
    "ageing": Promise("ageing_study"),
    "sweep": Promise("study", True),
    "crashtest": Promise("crashtest", True),
    "diff": Promise("run_diff"),
    "ci": Promise("budgets", True),
    "policy ls": Promise(NO_SCHEMA),
    "policy show": Promise(None),
    "policy amplification": Promise(NO_SCHEMA, True),
    "inspect": Promise("image"),
    "extract": Promise(NO_SCHEMA),
    "mount": Promise("summary"),
    "mount ls": Promise(NO_SCHEMA),
    "mount stat": Promise("mount"),
    "mount checkpoint": Promise(None),
    "card serve": Promise("summary"),
    "card cuts": Promise("card_cuts", True),
    "chip serve": Promise("summary"),
    "profiles ls": Promise("profiles"),
    "profiles show": Promise("profile"),
    "profiles new": Promise(None),
    "profiles diff": Promise("profile_difference"),
    "calibrate": Promise("calibration", True),
    "trace convert": Promise(None),
    "trace report": Promise("trace_report", True),
    "trace diff": Promise("trace_diff"),
    "trace compare": Promise("comparison", True),
    "trace timeline": Promise(None),
    "trace flame": Promise(None, True),
    "reference ls": Promise(None),
    "reference run": Promise(NO_SCHEMA, True),
    "reference fetch": Promise(None),
    "validate": Promise("validation", True),
    "reproduce": Promise("reproduction", True),
    "foreign ls": Promise(None),
    "foreign build": Promise(None),
    "foreign flags": Promise(None),
    "foreign include": Promise(None),
    "foreign report": Promise(None),
    "steps": Promise(None),
    "schema": Promise(None),
    "image commands": Promise(None),
    "image build": Promise("built_image"),
    "store ls": Promise(NO_SCHEMA),
    "store show": Promise(NO_SCHEMA),
    "store rm": Promise(None),
    "store merge": Promise(None),
    "store verify": Promise(None),
    "doctor": Promise("doctor"),
    "man": Promise(None),
}


def test_the_table_has_all_verbs() -> None:
    assert set(TABLE) == set(LEAVES)


@pytest.mark.parametrize("name", LEAVES)
def test_the_example_is_a_call_of_the_verb(name: str) -> None:
    example = str(LEAVES[name].epilog).removeprefix("Example: ")
    words = shlex.split(example.partition(" < ")[0].partition(" > ")[0])
    assert words[: 1 + len(name.split())] == ["ffslab", *name.split()]
    LEAVES[name].make_context(f"ffslab {name}", words[1 + len(name.split()) :])


@pytest.mark.parametrize("name", LEAVES)
def test_every_verb_can_be_quiet_and_can_say_more(name: str) -> None:
    flags = {flag for parameter in LEAVES[name].params for flag in parameter.opts}
    assert {"--quiet", "-q", "--verbose", "-v"} <= flags


@pytest.mark.parametrize("name", LEAVES)
def test_what_prints_json_has_a_schema(name: str) -> None:
    has_json = any("--json" in parameter.opts for parameter in LEAVES[name].params)
    schema = TABLE[name].schema
    assert has_json == (schema is not None)
    if schema not in (None, NO_SCHEMA):
        assert schema in schemas.names()


@pytest.mark.parametrize("name", LEAVES)
def test_bad_input_is_one_line_and_exit_code_2(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    for bad in (["--no-such-option"], ["--quiet", "--quiet", "--no-such-option=3"]):
        code = root.run([*name.split(), *bad])
        said = capsys.readouterr()
        assert (code, said.out, said.err.count("\n")) == (2, "", 1)
        assert said.err.startswith("ffslab: ") and f"(see ffslab {name} --help)" in said.err


def test_every_schema_can_be_printed() -> None:
    for name in schemas.names():
        assert schemas.text(name).startswith("{"), name


# What shows a bar: the bar itself, or what verbs share that does.
SHOWS = re.compile(r"\b(?:progress_bar|progress_of_parts|_run|run_and_print|verb\.run|sql\.run)\(")


@pytest.mark.parametrize("name", LEAVES)
def test_what_takes_long_shows_how_far_it_is(name: str) -> None:
    """Those that promise a bar ask for one; that it is seen needs a terminal (`tests/cli/test_command_talk.py`)."""
    declared = inspect.getsource(inspect.unwrap(cast("Any", LEAVES[name].callback)))
    assert bool(SHOWS.search(declared)) == TABLE[name].is_long


@pytest.mark.parametrize("name", LEAVES)
def test_an_interrupt_is_one_line_and_exit_code_130(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    example = str(LEAVES[name].epilog).removeprefix("Example: ")
    words = shlex.split(example.partition(" < ")[0].partition(" > ")[0])
    monkeypatch.setattr(LEAVES[name], "callback", interrupted)
    monkeypatch.setattr(sys, "argv", words)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    try:
        with pytest.raises(SystemExit) as ended:
            program.main()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    said = capsys.readouterr()
    assert (ended.value.code, said.out, said.err) == (130, "", "ffslab: interrupted\n")
