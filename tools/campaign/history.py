"""What campaigns did: a line of each in `campaign/history.jsonl`, and the page that is made of them."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from helpers.command import ROOT

HOME = ROOT / "campaign"
HISTORY, FAULTS, PAGE = HOME / "history.jsonl", HOME / "faults", ROOT / "docs" / "campaign.md"
COMMAND = "PYTHONPATH=python:tests:tools .venv/bin/python -m campaign --page"
# Counted of all kinds, in the order of the table.
COUNTED = ("calls", "cuts", "images", "kills", "kernels", "bytes")

Line = dict[str, Any]


def commit() -> str:
    """The commit that is hunted; `+`: with changes that are not in it."""

    def said(*words: str) -> str:
        ran = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        return ran.stdout.strip()

    changed = said("status", "--porcelain", "--", "python", "crates", "profiles", "tools/campaign")
    return said("rev-parse", "--short=8", "HEAD") + ("+" if changed else "")


def line(seed: int, minutes: float, draws: Counter[str], counts: Counter[str], found: Sequence[str]) -> Line:
    """Of one campaign. `found`: the files of its faults."""
    counted = {name: counts[name] for name in COUNTED}
    return {
        "commit": commit(),
        "seed": seed,
        "minutes": round(minutes, 1),
        "draws": dict(sorted(draws.items())),
        **counted,
        "faults": list(found),
    }


def append(told: Line, path: Path = HISTORY) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(told) + "\n")


def lines(path: Path = HISTORY) -> list[Line]:
    if not path.exists():
        return []
    return [json.loads(text) for text in path.read_text(encoding="utf-8").splitlines()]


def faults(folder: Path = FAULTS) -> list[tuple[str, dict[str, Any]]]:
    """The faults that are open, by the names of their files."""
    return [(path.name, json.loads(path.read_text(encoding="utf-8"))) for path in sorted(folder.glob("*.json"))]


HEAD = Path(__file__).with_name("head.md")


def page(told: Sequence[Line], still_open: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """`docs/campaign.md`."""
    draws: Counter[str] = Counter()
    for each in told:
        draws.update(each["draws"])
    # Lines of before a kind was there do not count it.
    totals = [sum(each.get(name, 0) for each in told) for name in COUNTED]
    minutes = sum(each["minutes"] for each in told)
    found = sum(len(each["faults"]) for each in told)
    rows = ["| | minutes | draws | system calls | power cuts | images | kills | kernels | GiB moved | faults found |"]
    rows += ["|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|", _row("all", minutes, sum(draws.values()), totals, found)]
    for each in reversed(told):
        name = f"`{each['commit']}`, seed {each['seed']}"
        counted = [each.get(name, 0) for name in COUNTED]
        rows.append(_row(name, each["minutes"], sum(each["draws"].values()), counted, len(each["faults"])))
    by_kind = ", ".join(f"{count:,} of `{kind}`" for kind, count in draws.most_common())
    still = [f"- [{name}](../campaign/faults/{name}): {one['title']}" for name, one in still_open]
    parts = [
        HEAD.read_text(encoding="utf-8"),
        "## What was tried",
        f"Made of [history.jsonl](../campaign/history.jsonl) by\n\n    {COMMAND}",
        "\n".join(rows),
        f"Draws: {by_kind or 'none'}.",
        "## Open faults",
        "\n".join(still) or "None.",
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _row(name: str, minutes: float, draws: int, counted: Sequence[int], found: int) -> str:
    *others, moved = counted
    cells = [name, f"{minutes:,.1f}", f"{draws:,}", *(f"{count:,}" for count in others), f"{moved / 2**30:,.1f}"]
    return f"| {' | '.join([*cells, str(found)])} |"


def write_page() -> None:
    PAGE.write_text(page(lines(), faults()), encoding="utf-8")
