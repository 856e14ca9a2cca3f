"""Defects of the kind that users meet first, one in each of many verbs, and whether the journeys find them.

    python tools/seeded_defects.py [VERB ...]

Each stands in a copy of the package: a renamed column, a wrong path, a dropped file of package data. The journeys of
the verb run on the copy; who finds nothing is named, and the exit code is 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "ffslab"


class Defect(NamedTuple):
    """In a file of the package `after` stands for `before`; without them the file is dropped."""

    verb: str
    journeys: str
    file: str
    before: str = ""
    after: str = ""


DEFECTS = (
    Defect("run", "readme and run", "text/summary.py", '("page programs", lambda', '("page program", lambda'),
    Defect("replay", "replay", "files/results.py", '"variants.csv"', '"variant.csv"'),
    Defect("fio", "fio", "workloads/fio.py", '"IOPS"', '"ops/s"'),
    Defect("new", "new", "workloads/begun/files.toml.in"),
    Defect("report of a run", "replay", "report/templates/page.html.j2"),
    Defect("trace convert", "convert", "files/traces.py", '"think_ns"', '"think_us"'),
    Defect("trace report", "session", "measured/tracereport/page.py", "What this means", "What it means"),
    Defect("trace flame", "flame", "text/stacks.py", ";", ","),
    Defect("sweep", "sweep", "studies/sweep/folder.py", '"points.csv"', '"point.csv"'),
    Defect("advise", "advise", "studies/advise/text.py", "Take {named(choice)}", "Choose {named(choice)}"),
    Defect("diff", "diff", "studies/differences/text.py", '("", "A", "B", "change")', '("", "B", "A", "change")'),
    Defect("crashtest", "crashtest", "studies/crashtest/keep.py", 'f"failure-{number}.toml"', 'f"fault-{number}.toml"'),
    Defect("ci", "[ci]", "cli/ci_verb.py", "(junit, reports.junit)", "(junit, reports.benchmark)"),
    Defect("reproduce", "papers and driver", "studies/reproduce/driver.toml"),
    Defect("calibrate", "calibrate", "studies/calibrate/verb.py", '"board.toml"', '"boards.toml"'),
    Defect("profiles show", "profiles", "api/profiles.py", '"status", "source"', '"source", "status"'),
    Defect("uflip", "uflip", "studies/uflip/folder.py", '"uflip.json"', '"study.json"'),
    Defect("ageing", "ageing", "studies/ageing/text.py", '"frames lost"', '"pages lost"'),
    Defect("lifetime", "life", "studies/lifetime/whole.py", '"lives.json"', '"life.json"'),
    Defect("store", "store", "text/store.py", '"page programs"', '"programs"'),
    Defect("foreign build", "littlefs", "foreign/littlefs/littlefs.c"),
    Defect("inspect", "inspect", "images/inspection.py", '["fact", "value"]', '["value", "fact"]'),
    Defect("steps", "steps", "text/vocabulary.py", '("step", "what it does")', '("steps", "what it does")'),
    Defect(
        "compare", "compare", "measured/compare/verb.py", "over_runs_cells(compared), OVER_", "times_cells(compared), "
    ),
)


def is_found(defect: Defect, place: Path) -> bool:
    """Whether a journey of the verb fails on a package with it."""
    shutil.copytree(PACKAGE, place / "ffslab", ignore=shutil.ignore_patterns("__pycache__"))
    file = place / "ffslab" / defect.file
    if defect.before:
        text = file.read_text(encoding="utf-8")
        assert defect.before in text, f"{defect.file} has no {defect.before!r} any more"
        file.write_text(text.replace(defect.before, defect.after), encoding="utf-8")
    else:
        file.unlink()
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n0", "-p", "no:cacheprovider", "tests/journeys"]
    ran = subprocess.run(
        [*command, "-k", defect.journeys],
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(place)}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    return ran.returncode == 1


def main() -> int:
    chosen = [defect for defect in DEFECTS if not sys.argv[1:] or defect.verb in sys.argv[1:]]
    missed = []
    for defect in chosen:
        with tempfile.TemporaryDirectory() as made:
            found = is_found(defect, Path(made))
        print(f"{'found ' if found else 'MISSED'} {defect.verb}: {defect.file}", flush=True)
        missed += [] if found else [defect.verb]
    print(f"{len(chosen) - len(missed)} of {len(chosen)} found")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
