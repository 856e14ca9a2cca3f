"""What Python gets of a run: tables of requests, blocks and variants, kept in a folder and read again."""

from pathlib import Path

import pandas as pd
import pytest

from ffslab import Experiment, InputError, Run, Stack, __version__
from helpers.command import SMALL, Command

# With a board of which the power is known.
TEXT = SMALL.replace("zero-overhead", "omap3evm")


@pytest.fixture(scope="module")
def run() -> Run:
    return Experiment.from_toml(TEXT).run()


def test_a_variant_is_a_row_with_its_axes_and_figures(run: Run) -> None:
    table = run.variants
    assert list(table["read_ahead_KiB"]) == [128, 0]
    assert list(table["board"]) == ["omap3evm"] * 2 and list(table["fs"]) == ["jffs2"] * 2
    for row, variant in zip(table.to_dict("records"), run.summary["variants"], strict=True):
        assert row["page_reads"] == variant["totals"]["page_reads"]
        assert row["latency_p99_us"] == variant["latency_us"]["p99"]
        energy = variant["energy_uJ"]
        assert energy is not None and row["energy_total_uJ"] == energy["total"]
        assert row["erases_per_block_mean"] == variant["erases_per_block"]["mean"]


def test_results_are_read_again_as_they_were(run: Run, tmp_path: Path) -> None:
    again = Run.load(run.save(tmp_path / "results"))
    assert again.summary == run.summary and again.resolved_toml == run.resolved_toml
    for ours, theirs in [(run.requests, again.requests), (run.blocks, again.blocks), (run.variants, again.variants)]:
        pd.testing.assert_frame_equal(ours, theirs, check_dtype=False)
    first, second = tmp_path / "first.html", tmp_path / "second.html"
    run.report(first)
    again.report(second)
    assert first.read_bytes() == second.read_bytes()
    kept = pd.read_csv(tmp_path / "results" / "variants.csv", dtype={"kernel": str})
    pd.testing.assert_frame_equal(kept, run.variants, check_dtype=False)
    pd.testing.assert_frame_equal(
        pd.read_parquet(tmp_path / "results" / "variants.parquet"), run.variants, check_dtype=False
    )


def test_what_is_no_results_folder_is_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"not a results folder \(no summary.json\)"):
        Run.load(tmp_path)
    folder = run.save(tmp_path / "results")
    (folder / "requests.parquet").write_bytes(b"no parquet")
    with pytest.raises(InputError, match="is damaged"):
        Run.load(folder)
    summary = (folder / "summary.json").read_text()
    (folder / "summary.json").write_text(summary.replace(__version__, "0.0.1"))
    run.save(tmp_path / "other")
    (tmp_path / "other" / "summary.json").write_text(summary.replace(f'"{__version__}"', '"0.0.1"'))
    with pytest.raises(InputError, match=r"was written by ffslab 0\.0\.1"):
        Run.load(tmp_path / "other")


def test_axes_of_different_kinds_stand_in_one_column(run: Run, tmp_path: Path) -> None:
    wide = Experiment.from_toml(TEXT).with_axes({"fs": ["jffs2", "yaffs2"], "requests.op": ["read"]}).run()
    assert list(wide.variants["variant"]) == [
        f"read_ahead_KiB={window}, fs={fs}, requests.op=read" for window in (128, 0) for fs in ("jffs2", "yaffs2")
    ]
    single = Experiment.from_toml(TEXT).with_axes({"read_ahead_KiB": [64]})
    assert [variant["axes"] for variant in single.run().summary["variants"]] == [{"read_ahead_KiB": 64}]
    mixed = Experiment.from_toml(TEXT).with_axes({"requests.gap_us": [0, "10 ms"]}).run()
    assert list(mixed.variants["requests.gap_us"]) == ["0", "10 ms", "0", "10 ms"]
    Run.load(mixed.save(tmp_path / "mixed"))


def test_wrong_axes_and_texts_are_refused_as_in_files() -> None:
    experiment = Experiment.from_toml(TEXT)
    with pytest.raises(InputError, match="read_ahed_KiB"):
        experiment.with_axes({"read_ahed_KiB": [1]}).check()
    with pytest.raises(InputError, match="<experiment>:1"):
        Experiment.from_toml("title = ").with_axes({"fs": ["jffs2"]}).check()


def test_a_notebook_shows_the_table(run: Run) -> None:
    shown = run._repr_html_()
    assert "<table>" in shown and "read_ahead_KiB" in shown and "page reads" in shown


def test_a_step_may_have_a_key_called_name() -> None:
    stack = Stack(board="omap3evm", fs="ubifs", partition_blocks=100)
    stack.mount()
    stack.step("create", file="f", bytes="4 KiB")
    stack.step("setxattr", file="f", name="user.origin", value="sensor")
    stack.step("getxattr", file="f", name="user.origin")


# A file that fits into a partition of twice the size.
TOO_LARGE = (
    'title = "too large"\n[stack]\nboard = "omap3evm"\nfs = "jffs2"\npartition_blocks = 64\n'
    '[[measure]]\nstep = "mount"\n[[measure]]\nstep = "create"\nfile = "f"\nbytes = "6 MiB"\n'
)


def test_a_variant_in_which_a_file_does_not_fit_lets_the_others_finish(ffslab: Command, tmp_path: Path) -> None:
    text = TOO_LARGE + "[axes]\npartition_blocks = [64, 32, 96]\n"
    run = Experiment.from_toml(text).run()
    assert [variant["axes"] for variant in run.summary["variants"]] == [
        {"partition_blocks": 64},
        {"partition_blocks": 96},
    ]
    (failure,) = run.failures
    assert failure.startswith('partition_blocks=32: measure step 2 (create "f"): ENOSPC after ')
    with pytest.raises(InputError, match="variant partition_blocks=32: measure step 2"):
        run.whole()
    errors = run.variants.set_index("partition_blocks")["error"]
    assert "ENOSPC" in str(errors[32]) and errors[[64, 96]].isna().all()
    assert Run.load(run.save(tmp_path / "results")).failures == [failure]
    assert "partition_blocks=32" in (tmp_path / "results" / "report.html").read_text()
    (tmp_path / "e.toml").write_text(text)
    done = ffslab("run", "e.toml")
    assert done.returncode == 1
    assert done.stderr == "ffslab: e: 1 of 3 variants did not come to their end\n"
    assert 'Not finished, partition_blocks=32: measure step 2 (create "f"): ENOSPC' in done.stdout


def test_a_run_of_which_no_variant_ends_is_refused() -> None:
    with pytest.raises(InputError, match="variant partition_blocks=20: measure step 2"):
        Experiment.from_toml(TOO_LARGE + "[axes]\npartition_blocks = [20, 32]\n").run()


def test_a_session_reads_a_recording_again_that_has_changed(tmp_path: Path) -> None:
    log = tmp_path / "log.iolog"
    head = "fio version 2 iolog\nf add\nf open\n"
    log.write_text(head + "f write 0 4096\nf close\n")
    stack = Stack("jffs2", partition_blocks=60, base_dir=tmp_path)
    stack.mount()
    stack.step("replay", file="log.iolog")
    assert stack.stat("/f").size_bytes == 4096
    log.write_text(head + "f write 0 4096\nf write 4096 8192\nf close\n")
    stack.step("replay", file="log.iolog")
    assert stack.stat("/f").size_bytes == 12_288


def test_an_axis_of_contents_runs_again_from_its_results(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("hello world " * 100)
    (tmp_path / "b.txt").write_text("another text " * 100)
    text = TEXT.replace('bytes = "256 KiB"', 'bytes = "256 KiB"\ncontent_file = "a.txt"', 1)
    axes = {"setup.create.content_file": ["a.txt", "b.txt"]}
    run = Experiment.from_toml(text, tmp_path).with_axes(axes).run()
    again = Experiment.from_file(run.save(tmp_path / "results") / "resolved.toml").run()
    steps = [[variant["steps"] for variant in one.summary["variants"]] for one in (run, again)]
    assert steps[0] == steps[1]
    assert "a.txt" in run.variants["setup.create.content_file"].iloc[0]
