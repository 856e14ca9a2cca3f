"""`ffslab reference run`: measures an experiment on a real kernel and puts the simulation beside it."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from ffslab import InputError, validation
from ffslab.experiment import Experiment
from ffslab.reference import plan, run

CASES = "cases.jsonl"


def measure(
    path: Path, folder: Path, kernel: Path | None = None, modules: Path | None = None, probe: Path | None = None
) -> list[dict[str, Any]]:
    """Runs an experiment file on a real kernel. `folder` becomes `cases.jsonl`, and a log of flashmon for each variant.

    The folder is complete or absent; an older one of the same kind is replaced. Raises `InputError` when the experiment
    is wrong, something is missing, or the kernel refuses a step.
    """
    if folder.exists() and not (folder / CASES).exists():
        raise InputError(f"{folder}: exists and is no folder of `ffslab reference run`; name another one with --out")
    variants = plan.variants(Experiment.from_file(path))
    name = path.name.removesuffix(".toml")
    with tempfile.TemporaryDirectory() as temporary:
        parts = run.find_parts(Path(temporary), kernel, modules, *([probe] if probe else []))
        made = Path(temporary) / "made"
        made.mkdir()
        cases = run.run(parts, variants, name, made)
        lines = "".join(json.dumps(case) + "\n" for case in cases)
        (made / CASES).write_text(lines, encoding="utf-8")
        replace(folder, made)
    return cases


def replace(folder: Path, made: Path) -> None:
    """Puts a folder that is ready in its place, as a whole."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}.") as beside:
        shutil.copytree(made, Path(beside) / "new")
        if folder.exists():
            folder.rename(Path(beside) / "old")
        (Path(beside) / "new").rename(folder)


def text(folder: Path) -> str:
    """The simulation beside the measurement."""
    return f"{validation.text(validation.compare(folder / CASES))}\n\nCases and traces: {folder}"
