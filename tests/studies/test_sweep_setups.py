"""Studies whose points have setups in common."""

from __future__ import annotations

from pathlib import Path

from ffslab import Experiment, Study
from ffslab.store import Store
from ffslab.studies.sweep.running import PIECE_POINTS_MAX, _size
from ffslab.studies.sweep.tasks import Ran
from helpers.command import SMALL


def test_points_that_share_a_setup_give_the_same_files_in_pieces_that_are_long_beside_it(tmp_path: Path) -> None:
    setup = '[[setup]]\nstep = "fill"\nfile = "f"\nrequest_B = 200\n[[setup]]\nstep = "unlink"\nfile = "f"\n'
    text = SMALL.split("[axes]")[0].replace("[[measure]]", setup + "[[measure]]", 1)
    axes = {"requests.count": [10, 20, 30, 40], "partition_blocks": [32, 34]}
    study = Study.of(Experiment.from_toml(text), axes, minimise=["time_us"])
    files = []
    for share in (True, False):
        study.run(store=Store(tmp_path / str(share)), share_setups=share).save(tmp_path / "out")
        files.append({path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()})
    assert files[0] == files[1]
    done = Ran(b"", 2, 0, 12.0, 10.0)
    # Each point has taken a second.
    assert (_size(2, done), _size(2, done._replace(setup_seconds=0.0))) == (100, 2)
    assert _size(2, done._replace(seconds=10.01)) == PIECE_POINTS_MAX
