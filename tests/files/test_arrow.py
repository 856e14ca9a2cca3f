"""Columns that are handed to Arrow as memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from ffslab.files.arrow import numbers_of, table_of
from helpers.command import SMALL

COLUMNS: dict[str, Any] = {
    "counts": np.arange(5, dtype=np.uint32),
    "every other": np.linspace(0, 1, 10)[::2],
    "texts": ["x", "ü", None, "", "zz"],
    "whole": [1, None, 3, 4, -5],
    "numbers": [1.5, 2, None, float("nan"), 1],
    "truths": [True, None, False, True, True],
    "nothing": [None] * 5,
}


def test_they_are_what_pyarrow_makes_of_them() -> None:
    made, expected = table_of(COLUMNS), pa.table(COLUMNS)
    made.validate(full=True)
    assert made.schema == expected.schema
    assert str(made.to_pydict()) == str(expected.to_pydict())
    assert table_of({"none": [], "no numbers": np.zeros(0)}).equals(pa.table({"none": [], "no numbers": np.zeros(0)}))


@pytest.mark.parametrize("name", ["counts", "every other", "whole", "numbers"])
def test_numbers_come_back(name: str) -> None:
    for table in (table_of(COLUMNS), table_of(COLUMNS).slice(2), table_of(COLUMNS).slice(3)):
        np.testing.assert_array_equal(numbers_of(table[name]), table[name].to_numpy())


def test_a_run_and_one_that_is_known_need_no_pandas(tmp_path: Path) -> None:
    """It takes longer to import than a small run takes, a film of its blocks included."""
    (tmp_path / "small.toml").write_text(f"film = true\n{SMALL}", encoding="utf-8")
    twice = (
        "import sys, pathlib, ffslab, ffslab.store\n"
        "store = ffslab.store.Store(pathlib.Path('store'))\n"
        "for _ in range(2): ffslab.Experiment.from_file('small.toml').run(store=store).save('out')\n"
        "print('pandas' in sys.modules)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", twice], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "False\n", "")
