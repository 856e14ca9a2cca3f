"""The core without extras: an installation without pandas, matplotlib, SciPy, SQLite and the rest runs experiments; a
verb that needs more says in one line what brings it, before it has begun.
"""

from __future__ import annotations

import csv
import importlib
import io
import json
import subprocess
import sys
import tomllib
from pathlib import Path

import pandas as pd
import pytest

from ffslab.cli.endings import end_with
from ffslab.cli.needs import NEEDS, REQUIREMENT, required
from ffslab.files import results
from ffslab.files.tables import STACKS
from helpers.command import ROOT, SMALL

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MODULES = {"salib": "SALib", "dask-jobqueue": "dask_jobqueue"}
OF_EXTRAS = sorted({MODULES.get(name, name) for name, extra in required() if extra is not None} | {"dask", "patsy"})
# Python as it is where these are not installed: a search does not find them.
WITHOUT = """
import sys
from importlib.machinery import PathFinder

class Core(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in {} else super().find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Core
from ffslab.__main__ import main
main()
"""


def core(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs the command as if nothing but the core's packages were installed."""
    command = [sys.executable, "-c", WITHOUT.format(OF_EXTRAS), *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_the_core_runs_an_experiment(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    ran = core(tmp_path, "run", "small.toml", "--repeat", "2")
    assert (ran.returncode, ran.stderr) == (0, ""), ran.stderr
    folder = tmp_path / "results" / "small"
    assert {each.name for each in folder.iterdir()} >= results.FILES - {STACKS}
    table = pd.read_parquet(folder / results.VARIANTS)
    assert len(table) == len(pd.read_csv(folder / results.VARIANTS_CSV)) == 4
    answered = core(tmp_path, "run", "small.toml", "--json", "--out", "again")
    assert len(json.loads(answered.stdout)["variants"]) == 2
    assert core(tmp_path, "doctor").returncode == 0


@pytest.mark.parametrize("verb", [["profiles", "ls"], ["steps"], ["policy", "ls"], ["schema"]])
def test_the_core_answers(tmp_path: Path, verb: list[str]) -> None:
    ran = core(tmp_path, *verb)
    assert (ran.returncode, ran.stderr) == (0, "")


# What is given is looked at only when the packages are there.
CALLS = {
    "advise": ["advise", "question.toml"],
    "ageing": ["ageing", "small.toml"],
    "calibrate": ["calibrate", "--loops", "loops.csv"],
    "diff": ["diff", "a", "b"],
    "lifetime --out": ["lifetime", "small.toml", "--out", "life"],
    "policy amplification --out": ["policy", "amplification", "--out", "points.png"],
    "reproduce": ["reproduce", "readahead"],
    "sqlite": ["sqlite"],
    "store ls": ["store", "ls"],
    "sweep": ["sweep", "study.toml"],
    "trace compare": ["trace", "compare", "."],
    "uflip": ["uflip", "devices.toml"],
}


@pytest.mark.parametrize("verb", NEEDS)
def test_a_verb_says_which_extra_it_needs(tmp_path: Path, verb: str) -> None:
    (tmp_path / "small.toml").write_text(SMALL, encoding="utf-8")
    ran = core(tmp_path, *CALLS[verb])
    extras = dict(required())
    wanted = ",".join(sorted({str(extras[name]) for name in NEEDS[verb]}))
    are = "is" if len(NEEDS[verb]) == 1 else "are"
    said = f"ffslab: {verb}: needs {', '.join(NEEDS[verb])}, which {are} not installed: pip install 'ffslab[{wanted}]'"
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", f"{said}\n")
    assert [each.name for each in tmp_path.iterdir()] == ["small.toml"]


def test_what_an_option_needs_is_said_when_it_is_imported(capsys: pytest.CaptureFixture[str]) -> None:
    assert end_with(ModuleNotFoundError("none", name="matplotlib.figure")) == 2
    assert capsys.readouterr().err == (
        "ffslab: this needs matplotlib, which is not installed: pip install 'ffslab[plots]'\n"
    )
    with pytest.raises(ModuleNotFoundError) as own:
        importlib.import_module("ffslab.nothing")
    assert end_with(own.value) == 70, "our own mistake"


def test_each_extra_is_in_all_and_in_that_of_developers() -> None:
    extras = {
        name: {match[1].lower() for line in lines if (match := REQUIREMENT.match(line))}
        for name, lines in PROJECT["optional-dependencies"].items()
    }
    single = extras["plots"] | extras["sqlite"] | extras["studies"] | extras["cluster"]
    assert extras["all"] == single and single <= extras["dev"]
    assert {name for verb in NEEDS.values() for name in verb} <= single


def test_a_table_is_written_as_pandas_writes_it(tmp_path: Path) -> None:
    columns: dict[str, list[object]] = {
        "variant": ["a, b", 'say "hi"', "plain"],
        "count": [1, 2, 3],
        "gap": [1, None, 3],
        "ratio": [0.1, 2, 1e-7],
        "large": [1e22, 123456789.5, float("nan")],
        "flag": [True, None, False],
        "text": [None, "x", ""],
    }
    results._write_csv(columns, tmp_path / "own.csv")
    told = pd.DataFrame(columns).to_csv(index=False, lineterminator="\n")
    assert (tmp_path / "own.csv").read_text(encoding="utf-8") == told
    assert len(list(csv.reader(io.StringIO(told)))) == 4
