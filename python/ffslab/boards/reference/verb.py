"""`ffslab reference run`: measures experiments on a real kernel and puts the simulation beside them."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ffslab import InputError
from ffslab.api.experiment import Experiment
from ffslab.boards import validation
from ffslab.boards.reference import plan, run
from ffslab.boards.reference.architecture import ARCHITECTURES
from ffslab.cli.progress import Show
from ffslab.files import results

CASES = "cases.jsonl"


def measure(
    paths: Sequence[Path],
    folder: Path,
    kernel: Path | None = None,
    modules: Path | None = None,
    probe: Path | None = None,
    jobs: int | None = None,
    show: Show | None = None,
    arch: str = "amd64",
) -> list[dict[str, object]]:
    """Runs experiment files on a real kernel. `folder` becomes `cases.jsonl`, and a log of flashmon for each case.

    A machine is booted for each experiment, `jobs` at a time (otherwise one per core). `show` is told how far it is.
    `arch`: a name of `ARCHITECTURES`.

    The folder is complete or absent; an older one of the same kind is replaced. Raises `InputError` when an experiment
    is wrong, something is missing, or the kernel refuses a step.
    """
    if folder.exists() and not (folder / CASES).exists():
        raise InputError(f"{folder}: exists and is no folder of `ffslab reference run`; name another one with --out")
    for name, n in Counter(map(name_of, paths)).items():
        if n > 1:
            raise InputError(f"{name}.toml is there {n} times: cases would have the same names")
    experiments = [plan.variants(Experiment.from_file(path), name_of(path)) for path in paths]
    with tempfile.TemporaryDirectory() as temporary:
        parts = run.find_parts(Path(temporary), kernel, modules, probe or run.PROBE, ARCHITECTURES[arch])
        made = Path(temporary) / "made"
        made.mkdir()
        cases = run.run(parts, experiments, made, jobs or os.cpu_count() or 1, show)
        lines = "".join(json.dumps(case) + "\n" for case in cases)
        (made / CASES).write_text(lines, encoding="utf-8")
        results.replace(folder, lambda fresh: shutil.copytree(made, fresh, dirs_exist_ok=True))
    return cases


def name_of(path: Path) -> str:
    return path.name.removesuffix(".toml")


def folder_of(paths: Sequence[Path], arch: str = "amd64") -> Path:
    """Where the results go unless the user says otherwise."""
    words = ["reference", *([name_of(paths[0])] if len(paths) == 1 else []), *([arch] if arch != "amd64" else [])]
    return Path("results") / "-".join(words)


def text(folder: Path) -> str:
    """The simulation beside the measurement."""
    return f"{validation.text(validation.compare(folder / CASES))}\n\nCases and traces: {folder}"
