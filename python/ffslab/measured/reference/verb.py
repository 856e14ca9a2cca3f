"""`ffslab reference run`: measures experiments on a real kernel and puts the simulation beside them."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from ffslab._native import InputError
from ffslab.api.experiment import Experiment
from ffslab.files import results
from ffslab.measured import validation
from ffslab.measured.reference import plan, run
from ffslab.measured.reference.architecture import ARCHITECTURES
from ffslab.terminal.progress import Show

CASES = "cases.jsonl"
FAILED = "failed.json"


def measure(
    paths: Sequence[Path],
    folder: Path,
    kernel: Path | None = None,
    modules: Path | None = None,
    probe: Path | None = None,
    jobs: int | None = None,
    show: Show | None = None,
    arch: str = "amd64",
    boots: int = 1,
) -> list[dict[str, object]]:
    """Runs experiment files on a real kernel and returns the cases.

    `folder` becomes `cases.jsonl`, a log of flashmon for each case, and `failed.json` with the reason for each variant
    that has none.

    A machine is booted for each experiment, `jobs` at a time (otherwise one per core), and that `boots` times: a case
    has what the first boot counted, and under `boots` what the others did. `show` is told how far it is. `arch`: a
    name of `ARCHITECTURES`.

    The folder is complete or absent; an older one of the same kind is replaced. Raises `InputError` when an experiment
    is wrong, something is missing, or no variant could be measured.
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
        found = run.run(parts, experiments, made, jobs or os.cpu_count() or 1, show, boots)
        if not found.cases:
            identity, why = next(iter(found.failed.items()))
            raise InputError(f"{identity}: {why}")
        lines = "".join(json.dumps(case) + "\n" for case in found.cases)
        (made / CASES).write_text(lines, encoding="utf-8")
        if found.failed:
            (made / FAILED).write_text(json.dumps(found.failed, indent=2) + "\n", encoding="utf-8")
        results.replace(folder, lambda fresh: shutil.copytree(made, fresh, dirs_exist_ok=True))
    return found.cases


def not_measured(folder: Path) -> dict[str, str]:
    """Why a variant has no case, by what would be its case's id."""
    if not (folder / FAILED).exists():
        return {}
    found: dict[str, str] = json.loads((folder / FAILED).read_text(encoding="utf-8"))
    return found


def answer(folder: Path) -> dict[str, object]:
    """The simulation beside the measurement, as data."""
    return {**validation.compare(folder / CASES), "not_measured": not_measured(folder)}


def name_of(path: Path) -> str:
    return path.name.removesuffix(".toml")


def folder_of(paths: Sequence[Path], arch: str = "amd64") -> Path:
    """The folder of the results unless the user names another one."""
    words = ["reference", *([name_of(paths[0])] if len(paths) == 1 else []), *([arch] if arch != "amd64" else [])]
    return Path("results") / "-".join(words)


def text(folder: Path) -> str:
    """The simulation beside the measurement."""
    rows = [f"{identity}: not measured: {why}" for identity, why in not_measured(folder).items()]
    return "\n".join([validation.text(validation.compare(folder / CASES)), *rows, "", f"Cases and traces: {folder}"])
