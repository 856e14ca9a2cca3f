"""Reference runs without a kernel: what is refused before anything boots, and how a log becomes a case."""

from __future__ import annotations

from pathlib import Path

import pytest

from conftest import SMALL, Command
from ffslab import InputError
from ffslab.api.experiment import Experiment
from ffslab.boards.reference import cases, plan
from ffslab.boards.reference.progress import Progress

LOG = """\
# ffslab-probe 1 flashmon
0.9;M;;setup 0 mount
1.0;W;0;steps;1;2048
1.1;M;;measure 0 open
1.2;R;0;steps;1;512
1.3;W;0;steps;1;2048
1.4;W;1;kworker/0:1;1;2048
1.5;M;;measure 1 requests
1.6;E;0;jffs2_gcd_mtd0;1;131072
1.7;w;0;jffs2_gcd_mtd0;1;64
1.8;W;0;steps;1;2048
1.9;r;0;steps;1;64
2.0;M;;end
2.1;E;1;jffs2_gcd_mtd0;1;131072
# end: t_s=3 events=13 lost=0 overhead_ns_per_event=1
"""


def test_the_steps_are_those_of_the_experiment() -> None:
    text = SMALL.replace('fs = "jffs2"', 'fs = "ubifs"')
    variants = plan.variants(Experiment.from_toml(text), "small")
    assert [variant.name for variant in variants] == ["read_ahead_KiB=128", "read_ahead_KiB=0"]
    lines = variants[0].lines.splitlines()
    assert lines[0].startswith("begin 0 begin fs=ubifs period_us=2560000 phase_us=0")
    assert lines[1:4] == [
        "setup 0 ubi_attach max_beb_per1024=20",
        "setup 1 ubi_make_volume",
        "setup 2 mount read_ahead_KiB=128 fs_options=compr=none",
    ]
    assert "measure 0 open file=target flags=rdwr" in lines
    assert "parts=32" in variants[0].nandsim
    assert "id_bytes=0x20,0xda" in variants[0].nandsim


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('fs = "jffs2"', 'fs = "yaffs2"', 'fs = "yaffs2": a distribution kernel has jffs2 and ubifs'),
        ('step = "drop_caches"', 'step = "crash"', "setup step 4: crash: cannot be run on a real kernel"),
        ('file = "target"', 'file = "a name"', "names must hold no spaces"),
        ('board = "zero-overhead"', 'board = "zero-overhead"\npart = "tc58nvg1s3e"\nfirst_block = 8', "first_block"),
        ("[[measure]]", '[[state]]\nstep = "mount"\n[[measure]]', "keeps no initial states"),
    ],
)
def test_what_a_real_kernel_cannot_run_is_refused(old: str, new: str, says: str) -> None:
    with pytest.raises(InputError, match=says.replace("[", r"\[")):
        plan.variants(Experiment.from_toml(SMALL.replace(old, new)), "small")


def test_operations_are_counted_by_phase_task_and_block() -> None:
    counts = cases.count(LOG.splitlines(), 4)
    first, second = counts.after_step
    assert cases.plain(first) == dict.fromkeys(cases.COUNTERS, 0) | {
        "page_reads": 1,
        "page_programs": 2,
        "partial_page_reads": 1,
        "reprograms": 1,
    }
    # The block was erased before its page was programmed again.
    assert (second["reprograms"], second["erases"], second["oob_programs"], second["oob_reads"]) == (1, 1, 1, 1)
    assert counts.by_task["jffs2_gc_thread"] == {"erases": 1, "oob_programs": 1}
    assert counts.by_task["kworker"] == {"page_programs": 1}
    assert counts.erases_per_block == [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("log", "says"),
    [(LOG.replace("lost=0", "lost=7"), "events were lost"), (LOG.rpartition("# end")[0], "has no end: it was cut off")],
)
def test_a_log_with_holes_is_no_case(log: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        cases.count(log.splitlines(), 4)


def test_a_step_that_fails_is_told(tmp_path: Path) -> None:
    said = tmp_path / "steps"
    said.write_text("step setup 0\nfailed setup step 1 (mount): mount: No such device\n", encoding="utf-8")
    with pytest.raises(InputError, match="on the real kernel: setup step 1"):
        cases.read_steps(said)
    said.write_text("step setup 0 first_latency=0 latencies=0\n", encoding="utf-8")
    with pytest.raises(InputError, match="cut off after 1"):
        cases.read_steps(said)


def test_the_command_refuses_bad_input_in_one_line(ffslab: Command, small: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    for arguments, says in (
        ([small], "small.toml is there 2 times"),
        (["--jobs", "0"], "--jobs"),
        (["--out", other], "is no folder of `ffslab reference run`"),
        (["--kernel", small], "--kernel and --modules belong together"),
        (["--kernel", small, "--modules", other], "modules.dep: no such file"),
    ):
        ran = ffslab("reference", "run", small, *arguments)
        assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1), ran.stderr
        assert says in ran.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "small.toml"]


def test_progress_names_case_and_step() -> None:
    """Two machines side by side, each with two variants."""
    experiments = [plan.variants(Experiment.from_toml(SMALL), name) for name in ("first", "second")]
    setup, measure = experiments[0][0].setup, experiments[0][0].measure
    steps = len(setup) + len(measure)
    shown: list[tuple[float, str]] = []
    progress = Progress(experiments, lambda share, what: shown.append((share, what)))
    lines = ["begin 0 begin"]
    for phase, of_phase in (("setup", setup), ("measure", measure)):
        lines += [f"{phase} {index} {step['step']}" for index, step in enumerate(of_phase)]
    for line in ("variant 0", *lines, "variant 1", *lines, "end"):
        for number in range(2):
            progress.take(number, line)
    assert shown[0] == (0.0, "boot")
    texts = [text for _, text in shown]
    assert texts[5] == f"first/read_ahead_KiB=128: setup, step 1 of {steps}: mount"
    assert f"second/read_ahead_KiB=0: measure, step {steps} of {steps}: sync" in texts
    shares = [share for share, _ in shown]
    assert shares == sorted(shares)
    assert shares[5] == pytest.approx(2 / 6)
    assert shares[-1] == 1
