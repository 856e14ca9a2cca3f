"""A measured case is an experiment: run as one, on its board's profile, it counts what `validate` says of the case."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ffslab import Experiment
from ffslab.measured import validation
from helpers.command import Command

HERE = Path(__file__).parent
COUNTERS = ("page_reads", "oob_reads", "page_programs", "oob_programs", "erases")
# Files with steps of machines that experiments have.
FILES = ("linux-2.6.37", "linux-6.1", "reference")


def families() -> Iterator[tuple[Path, str]]:
    """The first case of each machine, kernel, file system and medium whose measured part is a whole."""
    seen = set()
    for file in FILES:
        path = HERE / f"{file}.jsonl.gz"
        with gzip.open(path, "rt") as lines:
            for line in lines:
                case = json.loads(line)
                system, expect = case["system"], case["expect"]
                family = (system.get("tree"), system["version"][:4], system["fs"], case["flash"].get("medium"))
                is_whole = expect["from_step"] is None and expect["at_step"] == len(case["measure"]) - 1
                if is_whole and family not in seen:
                    seen.add(family)
                    yield path, case["id"]


@pytest.mark.parametrize(("path", "name"), list(families()), ids=lambda value: value if isinstance(value, str) else "")
def test_what_a_case_is_proven_with_is_what_a_user_gets(path: Path, name: str, tmp_path: Path) -> None:
    proven = validation.compare(path, only=name)["cases"]
    written = validation.write_experiments(path, name, tmp_path)
    assert len(proven) == len(written) == 1 and proven[0]["error"] is None
    ran: Any = Experiment.from_file(written[0]).run().summary["variants"][0]
    counted = {counter: pair["simulated"] for counter, pair in proven[0]["counters"].items() if counter in COUNTERS}
    assert counted == {counter: ran["totals"][counter] for counter in counted}
    assert counted
    # The clock is that of the case, too: its machine's work takes as long.
    latency = proven[0]["latency_us"].get("mean")
    if latency is not None and ran["latency_us"] is not None:
        assert ran["latency_us"]["mean"] == pytest.approx(latency["simulated"], rel=1e-9)


def test_cases_are_written_as_files_that_run(ffslab: Command, tmp_path: Path) -> None:
    path, name = next((path, name) for path, name in families() if path.name.startswith("reference"))
    asked = ("validate", path, "--id", name, "--out", tmp_path / "cases")
    said = ffslab(*asked)
    written = Path(said.stdout.split()[-1])
    assert said.returncode == 0 and written.parent == tmp_path / "cases"
    assert 'board = "qemu-debian-amd64"' in written.read_text()
    ran = ffslab("run", written)
    assert ran.returncode == 0 and "board qemu-debian-amd64; a chip of [stack.chip]; " in ran.stdout
    again = ffslab(*asked)
    assert again.returncode == 2 and "is there already" in again.stderr
