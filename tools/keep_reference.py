"""Puts the cases of reference runs among those that the repository keeps: tests/measured/reference.jsonl.gz.

    python tools/keep_reference.py results/reference/cases.jsonl ...

The id of a case gets the series of its kernel in front, so that several kernels can be kept side by side. What a kernel
has measured again replaces what was there; of an id that is given twice the last one counts. The files that steps name
come along, in tests/measured/inputs.
"""

from __future__ import annotations

import gzip
import json
import shutil
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "tests" / "measured"
KEPT = FOLDER / "reference.jsonl.gz"

Case = dict[str, Any]


def cases_of(path: Path) -> list[Case]:
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    return [json.loads(line) for line in text.splitlines()]


def kept(case: Case) -> Case:
    """With the series of its kernel in its id."""
    series = ".".join(case["system"]["version"].split(".")[:2])
    return {**case, "id": f"linux-{series}/{case['id']}"}


def main(paths: list[Path]) -> None:
    found = {case["id"]: case for case in (cases_of(KEPT) if KEPT.exists() else [])}
    for path in paths:
        found |= {case["id"]: case for case in map(kept, cases_of(path))}
        inputs = path.parent / "inputs"
        if inputs.exists():
            shutil.copytree(inputs, FOLDER / "inputs", dirs_exist_ok=True)
    lines = "".join(json.dumps(found[name], separators=(",", ":")) + "\n" for name in sorted(found))
    # Without a time stamp, so that the same cases make the same file.
    KEPT.write_bytes(gzip.compress(lines.encode(), mtime=0))


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]])
