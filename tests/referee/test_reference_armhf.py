"""`ffslab reference run --arch armhf`: JFFS2 and UBIFS on a 32-bit machine count as on amd64, and as the simulator.

Soak: Debian's kernel for arm is downloaded and kept in pytest's cache.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ffslab import InputError
from ffslab.measured import validation
from ffslab.measured.reference import run, verb
from ffslab.measured.reference.architecture import ARMHF
from ffslab.measured.reference.packages import fetch, fetched
from helpers.command import ROOT
from helpers.left_out import leave_out

pytestmark = pytest.mark.soak


def test_an_arm_kernel_counts_as_the_simulator(
    pytestconfig: pytest.Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pytestconfig.cache is not None
    monkeypatch.setenv("XDG_CACHE_HOME", str(pytestconfig.cache.mkdir("armhf")))
    try:
        if not fetched(ARMHF).exists():
            fetch(ARMHF, fetched(ARMHF))
        run.find_parts(tmp_path, None, None, architecture=ARMHF)
    except InputError as error:
        leave_out(str(error))
    names = ("jffs2-reads", "ubifs-appends")
    paths = [ROOT / "experiments" / "reference" / f"{name}.toml" for name in names]
    cases = verb.measure(paths, tmp_path / "out", arch="armhf")
    written = [json.loads(line) for line in (tmp_path / "out" / verb.CASES).read_text(encoding="utf-8").splitlines()]
    assert {case["system"]["version"].endswith("-armmp") for case in written} == {True}
    compared = validation.compare(tmp_path / "out" / verb.CASES)["cases"]
    assert len(compared) == len(cases) == 6
    for case in compared:
        assert case["error"] is None
        assert all(pair["expected"] == pair["simulated"] for pair in case["counters"].values()), case
