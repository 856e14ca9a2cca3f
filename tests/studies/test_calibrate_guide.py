"""docs/calibrating-your-board.md: each of its commands works as it stands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from helpers.bench_logs import Bench
from helpers.command import ROOT

if TYPE_CHECKING:
    from helpers.command import Command

GUIDE = (ROOT / "docs/calibrating-your-board.md").read_text(encoding="utf-8")


def block(language: str) -> str:
    """The first block of code in a language."""
    found = re.search(rf"```{language}\n(.*?)```", GUIDE, re.DOTALL)
    assert found is not None
    return found.group(1)


def test_every_command_of_the_guide_works(ffslab: Command, tmp_path: Path) -> None:
    # The chip of the APF27 takes longer to erase.
    bench = Bench(repeats=2, time_us={"read": 185.065, "program": 507.6, "erase": 2536.4}, counts=(200, 400, 800))
    bench.write_loops(tmp_path / "loops.csv")
    bench.write_capture(tmp_path / "capture.csv", rate_hz=1000)
    (tmp_path / "logs").mkdir()
    bench.write_probe_logs(tmp_path / "logs")
    commands = [shlex.split(line)[1:] for line in re.findall(r"^    (ffslab .*)$", GUIDE, re.MULTILINE)]
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    assert [command[:2] for command in commands] == [
        ["profiles", "new"],
        ["calibrate", "--speedtest"],
        ["calibrate", "--loops"],
        ["calibrate", "--loops"],
        ["calibrate", "--probe"],
        ["profiles", "show"],
    ]
    for command in commands:
        done = ffslab(*command)
        assert (done.returncode, done.stderr) == (0, ""), command
        assert ("my-mt7981.toml" if command[:2] == ["profiles", "new"] else "My board") in done.stdout
    experiment = 'title = "x"\n' + block("toml") + '[[measure]]\nstep = "mount"\n'
    (tmp_path / "x.toml").write_text(experiment)
    assert ffslab("run", "x.toml").returncode == 0


def test_every_warning_of_the_guide_is_one_of_the_program() -> None:
    package = ROOT / "python/ffslab"
    files = [*(package / "studies/calibrate").glob("*.py"), *(package / "measured/tracereport").glob("*.py")]
    sources = "".join(path.read_text(encoding="utf-8") for path in files)
    table = GUIDE.split("### Warnings")[1].split("### Methods")[0]
    for cell in re.findall(r"^\| (`.*?`) \|", table, re.MULTILINE):
        for warning in re.findall(r"`(.*?)`", cell):
            pieces = [
                piece for piece in re.split(r"\.\.\.|\b[NM]\b|\(condition|\)", warning) if len(piece.strip(" :")) > 3
            ]
            for piece in pieces:
                assert piece.strip() in sources, warning
