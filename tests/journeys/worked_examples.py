"""The worked examples of docs/worked, the guides of docs/how-to and the tutorial: their commands are executed in order,
and what they print stands there.

    python tests/journeys/worked_examples.py [PAGE ...]

writes the outputs again. In a block ```` ```console ```` a line that begins with `$ ` is a command; what follows is its
whole output, or, where a line `...` stands, parts of it in this order. Commands run in a copy of the example's folder,
which the line `<!-- in examples/... -->` names. They end with exit code 0; where one has another answer, the line
`<!-- exit codes 0, 1 -->` above the block says the code of each of its commands.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from helpers.command import ROOT
from journeys import keep, table

PAGES = sorted(
    page
    for page in [
        ROOT / "docs" / "tutorial.md",
        *(ROOT / "docs").glob("worked/*.md"),
        *(ROOT / "docs").glob("how-to/*.md"),
    ]
    if page.name != "index.md"
)
BLOCK = re.compile(r"^(?:<!-- exit codes ([\d, ]+) -->\n)?```console\n(.*?)^```\n", re.MULTILINE | re.DOTALL)
FOLDER = re.compile(r"^<!-- in (examples/[\w-]+) -->$", re.MULTILINE)
WORDS = re.compile(r"\s*\S+(?: \S+)?")
ELISION = "..."
ENVIRONMENT = table.usual(columns=200)


@dataclass(frozen=True)
class Command:
    """A command of a page, what stands below it, and with which exit code it ends."""

    line: str
    shown: list[str]
    exit_code: int = 0


def commands(text: str) -> list[Command]:
    """The commands of a page, or of one of its blocks."""
    return [command for block in BLOCK.finditer(text) for command in _of_block(block)]


def _of_block(block: re.Match[str]) -> list[Command]:
    codes = [int(code) for code in (block[1] or "").split(",") if code]
    first, *parts = re.split(r"^\$ ", block[2], flags=re.MULTILINE)
    assert not first, f"a block begins with its command: {first}"
    assert len(codes) in (0, len(parts)), f"exit codes {block[1]}: the block has {len(parts)} commands"
    lines = [part.splitlines() for part in parts]
    return [Command(line, shown, code) for (line, *shown), code in zip(lines, codes or [0] * len(lines), strict=True)]


def folder_of(text: str) -> Path:
    """Where the files of a page are."""
    found = FOLDER.search(text)
    assert found is not None, "the page names no folder: <!-- in examples/NAME -->"
    return ROOT / found[1]


def answer(command: str, place: Path, call: table.Call) -> tuple[list[str], int]:
    """What a command prints, and its exit code."""
    ran = table.run(command, place, ENVIRONMENT, call)
    return (ran.stdout + ran.stderr).rstrip("\n").splitlines(), ran.returncode


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
        lines, codes = [], []
        for command in _of_block(found):
            print(f"{page.name}: {command.line}", file=sys.stderr)
            printed, code = answer(command.line, place, partial(keep.started, environment=ENVIRONMENT))
            # Neither done nor a negative answer: no page shows that.
            assert code in (0, 1), printed
            lines += [f"$ {command.line}", *renewed(command.shown, printed)]
            codes.append(str(code))
        said = f"<!-- exit codes {', '.join(codes)} -->\n" if "1" in codes else ""
        return f"{said}```console\n" + "\n".join(lines) + "\n```\n"

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
