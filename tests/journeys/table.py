"""The tables of journeys, and one of their commands run."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from helpers.command import ROOT, Ran
from journeys.shapes import shape

HERE = Path(__file__).resolve().parent
KEPT = HERE / "kept"
# What stands in a folder of a journey beside its own files, as in a checkout.
CHECKOUT = ("experiments", "examples", "tests", "README.md")
# Lines of a command's answer that are kept, if the journey does not say how many.
FIRST_LINES = 6
# These belong to a shell: what has none of them needs none.
OF_SHELL = set("|&;$`*?(){}~\\")

# Runs one call of the installed command in a folder, with a file as its standard input or none.
Call = Callable[[list[str], Path, Path | None], Ran]


@dataclass(frozen=True)
class Journey:
    """`documented`: lines of README and docs/verbs.md that its commands are.

    `needs`: "kernels" or "long" is no part of `make test`.

    `copies`: what of the checkout it changes, and so gets as a copy. `shapes`: whether insides of files are kept.
    """

    table: str
    name: str
    run: tuple[str, ...]
    documented: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    needs: str = ""
    lines: int = FIRST_LINES
    shapes: bool = False
    text: Mapping[str, str] = field(default_factory=dict)

    @property
    def id(self) -> str:
        return f"{self.table}: {self.name}"


def _expanded(table: str, keys: Mapping[str, Any]) -> Iterator[Journey]:
    """One journey, or for `each` one of every file that the patterns name: `{}` in its commands is the file."""
    run = [keys["run"]] if isinstance(keys["run"], str) else keys["run"]
    own: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in keys.items()}
    patterns, but = own.pop("each", ()), own.pop("but", ())
    own.pop("run")
    if not patterns:
        yield Journey(table, own.pop("name", run[0]), tuple(run), **own)
        return
    files = [path for pattern in patterns for path in sorted(ROOT.glob(pattern))]
    assert len(files) >= len(patterns), f"{table}.toml: {patterns}: there is no such file"
    for file in (path.relative_to(ROOT).as_posix() for path in files):
        if file in but:
            continue
        typed = tuple(line.replace("{}", file) for line in run)
        yield Journey(table, typed[0], typed, **own)


def journeys(table: str) -> list[Journey]:
    """Those of a table, in its order."""
    read = tomllib.loads((HERE / f"{table}.toml").read_text(encoding="utf-8"))
    return [journey for keys in read["journey"] for journey in _expanded(table, keys)]


def each_of(table: str) -> pytest.MarkDecorator:
    """For a test: it asks each of a table. `make test` leaves out what needs something."""
    marks = {"": [], "long": [pytest.mark.long], "kernels": [pytest.mark.kernels]}
    return pytest.mark.parametrize(
        "journey", [pytest.param(one, id=one.name, marks=marks[one.needs]) for one in journeys(table)]
    )


def tables() -> list[str]:
    return sorted(path.stem for path in HERE.glob("*.toml"))


def all_journeys() -> list[Journey]:
    return [journey for table in tables() for journey in journeys(table)]


# ---- one of them run -------------------------------------------------------------------------------------------------


def prepare(journey: Journey, place: Path) -> None:
    """Lays a checkout as far as journeys see one, and the files that somebody wrote before."""
    for name in CHECKOUT:
        (place / name).symlink_to(ROOT / name)
    for name in journey.copies:
        folder = Path(name).parts[0]
        if (place / folder).is_symlink():
            (place / folder).unlink()
            shutil.copytree(ROOT / folder, place / folder)
    for name, text in journey.text.items():
        (place / name).write_text(text, encoding="utf-8")


def told(journey: Journey, place: Path, call: Call) -> list[str]:
    """Runs its commands in a folder that `prepare` has laid, and says what they answered."""
    lines: list[str] = []
    for line in journey.run:
        before = _files(place)
        ran = run(line, place, environment(place), call)
        lines.append(f"$ {line}")
        lines.append(f"  exit code {ran.returncode}")
        lines += _first(" ", ran.stdout, journey.lines, place)
        lines += _first("!", ran.stderr, 2, place)
        written = {name: stamp for name, stamp in _files(place).items() if before.get(name) != stamp}
        for name in sorted(written):
            of = f": {shape(place / name)}" if journey.shapes else ""
            lines.append(f"  + {_by_chance(name)}{of}")
    return lines


# Keys of stores and what they take on a disk depend on the build and on the libraries that write their files.
BY_CHANCE = (
    (re.compile(r"(?:(?<=tables/)|(?<=runs/)|^)[0-9a-f]{12,}(?:-all)?\b"), "KEY"),
    (re.compile(r"SQLite \d[\d.]+"), "SQLite VERSION"),
    (re.compile(r"[\d.,]+ (?:B|KiB|MiB)(?= in HERE)"), "BYTES"),
)


def _by_chance(line: str) -> str:
    for pattern, word in BY_CHANCE:
        line = pattern.sub(word, line)
    return line


def _first(mark: str, text: str, lines: int, place: Path) -> list[str]:
    said = text.replace(str(place), "HERE").replace(str(ROOT), "CHECKOUT").splitlines()
    return [f"{mark} | {_by_chance(line)}".rstrip() for line in said[:lines]]


def _files(place: Path) -> dict[str, tuple[int, int]]:
    """The files of a journey's own, with what changes when they are written."""
    found = {}
    for folder, names, files in os.walk(place):
        # What Python compiles stands beside what it loads, where the environment does not forbid it.
        names[:] = [name for name in names if name not in ("store", "__pycache__")]
        for name in files:
            path = Path(folder, name)
            if not path.is_symlink():
                stat = path.stat()
                found[path.relative_to(place).as_posix()] = (stat.st_mtime_ns, stat.st_ino)
    return found


def run(line: str, place: Path, environment: Mapping[str, str], call: Call) -> Ran:
    """Runs a line as it was typed: by `call`, or by a shell where it needs one."""
    command, _, file = line.partition(" < ")
    if command.startswith("ffslab ") and not OF_SHELL & set(line) and ">" not in line:
        return call(shlex.split(command)[1:], place, place / file if file else None)
    return subprocess.run(
        ["bash", "-c", line],
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )


def environment(place: Path) -> dict[str, str]:
    """A shell in which `ffslab` is the installed command, with a store of its own."""
    store = place / "store"
    return {**usual(columns=120), "FFSLAB_STORE": str(store), "FFSLAB_STATES": str(store / "states")}


def usual(columns: int) -> dict[str, str]:
    """A shell in which `ffslab` is the installed command, on a terminal of that width."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "LC_ALL": "C.UTF-8", "COLUMNS": str(columns), "TZ": "UTC"}


def kept(table: str) -> dict[str, list[str]]:
    """What was answered when somebody last looked, by journey."""
    answers: dict[str, list[str]] = {}
    path = KEPT / f"{table}.txt"
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        if line.startswith("== "):
            answers[line[3:]] = current = []
        elif line:
            current.append(line)
    return answers


def keep(table: str, answers: Mapping[str, list[str]]) -> None:
    KEPT.mkdir(exist_ok=True)
    text = "\n\n".join("\n".join([f"== {name}", *lines]) for name, lines in answers.items())
    (KEPT / f"{table}.txt").write_text(text + "\n", encoding="utf-8")
