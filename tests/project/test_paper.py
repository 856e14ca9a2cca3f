"""The draft of a software paper: its figures come from the commands beside them, its numbers from the simulation."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from helpers.command import ROOT

PAPER = ROOT / "docs" / "paper"
# Another change may move a case or two of a row; then the paper is drawn anew before it is sent anywhere.
SHARE_OFF_MAX_POINTS = 5


def rows(text: str) -> dict[tuple[str, str], list[int]]:
    """Of the table: number of cases, and the shares in percent."""
    found = re.findall(r"^\| ([^|]+) \| (\w+) \| (\d+) \| (\d+) % \| (\d+) % \| (\d+) % \|$", text, re.MULTILINE)
    return {(place, fs): [int(cell) for cell in cells] for place, fs, *cells in found}


def test_the_table_is_what_the_simulation_gives(tmp_path: Path) -> None:
    command = [sys.executable, str(PAPER / "figures.py"), "--out", str(tmp_path)]
    drawn = subprocess.run(command, check=True, capture_output=True, text=True)
    kept, now = (rows((folder / "paper.md").read_text(encoding="utf-8")) for folder in (PAPER, tmp_path))
    assert len(kept) > 10 and kept.keys() == now.keys()
    for row, values in kept.items():
        assert all(abs(a - b) <= SHARE_OFF_MAX_POINTS for a, b in zip(values[1:], now[row][1:], strict=True)), row
    count = sum(values[0] for values in now.values())
    assert drawn.stdout.startswith(f"{count:,} cases simulated in ")
    pictures = [(folder / "fidelity.svg").read_text(encoding="utf-8") for folder in (PAPER, tmp_path)]
    words = [re.findall(r"<text[^>]*>([^<]*)</text>", picture) for picture in pictures]
    assert words[0] == words[1] and "every count equal" in words[0]


def test_what_it_cites_is_in_its_list() -> None:
    cited = set(re.findall(r"@([a-z]\w*)", (PAPER / "paper.md").read_text(encoding="utf-8")))
    listed = re.findall(r"^@\w+\{(\w+),$", (PAPER / "paper.bib").read_text(encoding="utf-8"), re.MULTILINE)
    assert cited <= set(listed) and len(listed) == len(set(listed)) >= 9
