"""The worked examples of docs/worked, the guides of docs/how-to and the tutorial: their commands are executed in order,
and what they print stands there.

    python tests/journeys/worked_examples.py [PAGE ...]

writes the outputs again. In a block ```` ```console ```` a line that begins with `$ ` is a command; what follows is its
whole output, or, where a line `...` stands, parts of it in this order. Commands run in a copy of the example's folder,
which the line `<!-- in examples/... -->` names.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from helpers.command import ROOT

PAGES = sorted(
    page
    for page in [
        ROOT / "docs" / "tutorial.md",
        *(ROOT / "docs").glob("worked/*.md"),
        *(ROOT / "docs").glob("how-to/*.md"),
    ]
    if page.name != "index.md"
)
BLOCK = re.compile(r"^```console\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
FOLDER = re.compile(r"^<!-- in (examples/[\w-]+) -->$", re.MULTILINE)
WORDS = re.compile(r"\s*\S+(?: \S+)?")
ELISION = "..."


@dataclass(frozen=True)
class Command:
    """A command of a page and what stands below it."""

    line: str
    shown: list[str]


def commands(block: str) -> list[Command]:
    """The commands of a block."""
    found: list[Command] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:], []))
        else:
            found[-1].shown.append(line)
    return found


def folder_of(text: str) -> Path:
    """Where the files of a page are."""
    found = FOLDER.search(text)
    assert found is not None, "the page names no folder: <!-- in examples/NAME -->"
    return ROOT / found[1]


def output(command: str, place: Path) -> list[str]:
    """What a command prints; it must end as it should, with 0 or a negative answer."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "LC_ALL": "C.UTF-8", "COLUMNS": "200", "TZ": "UTC"}
    ran = subprocess.run(["bash", "-c", command], cwd=place, env=environment, capture_output=True, text=True)
    assert ran.returncode in (0, 1), f"{command}: {ran.stderr}"
    return (ran.stdout + ran.stderr).rstrip("\n").splitlines()


def is_shown(shown: list[str], printed: list[str]) -> bool:
    """Whether the output is what the page shows; `...` stands for any number of lines."""
    if ELISION not in shown:
        return shown == printed
    at = shown.index(ELISION)
    if printed[:at] != shown[:at]:
        return False
    rest = shown[at + 1 :]
    return not rest or any(is_shown(rest, printed[start:]) for start in range(at, len(printed) + 1))


def renewed(shown: list[str], printed: list[str]) -> list[str]:
    """The output; where a page leaves lines out, those that it shows now, told by their first words."""
    if ELISION not in shown:
        return printed
    kept: list[str] = []
    at = 0
    for line in shown:
        if line == ELISION:
            kept.append(line)
            continue
        head = "".join(WORDS.findall(line)[:1])
        found = next((i for i in range(at, len(printed)) if printed[i].startswith(head)), None)
        assert found is not None, f"nothing begins with {head!r}: {printed}"
        if found > at and kept[-1:] != [ELISION]:
            kept.append(ELISION)
        kept.append(printed[found])
        at = found + 1
    return kept


def renewed_page(page: Path, place: Path) -> str:
    """The text of a page with what its commands print now."""

    def block(found: re.Match[str]) -> str:
        lines = []
        for command in commands(found[1]):
            print(f"{page.name}: {command.line}", file=sys.stderr)
            lines += [f"$ {command.line}", *renewed(command.shown, output(command.line, place))]
        return "```console\n" + "\n".join(lines) + "\n```\n"

    return BLOCK.sub(block, page.read_text(encoding="utf-8"))


def main() -> None:
    """Writes what the commands print into the pages."""
    for page in [page for page in PAGES if page.stem in sys.argv[1:]] or PAGES:
        with tempfile.TemporaryDirectory() as made:
            place = Path(made) / "example"
            shutil.copytree(folder_of(page.read_text(encoding="utf-8")), place)
            page.write_text(renewed_page(page, place), encoding="utf-8")


if __name__ == "__main__":
    main()
