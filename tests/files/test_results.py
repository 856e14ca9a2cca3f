"""The results folder: ours is replaced, a foreign one refused, and a failure leaves what was there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from ffslab import InputError
from ffslab.api.run import Run
from ffslab.files import results
from ffslab.files.tables import STACKS

if TYPE_CHECKING:
    from ffslab.answers import Columns


def made(monkeypatch: pytest.MonkeyPatch, title: str) -> Run:
    # What the report and the table of variants hold is tested elsewhere; here only that they are written.
    monkeypatch.setattr(Run, "variant_columns", {"variant": ["base"]})
    monkeypatch.setattr(Run, "report", lambda self, path: Path(path).write_text(title, encoding="utf-8"))
    requests: Columns = {"variant": ["base"], "latency_us": np.array([1.5])}
    blocks: Columns = {"variant": ["base"], "block": np.array([0])}
    summary: Any = {"title": title}
    return Run(summary, requests, blocks, "")


def test_results_replace_earlier_results(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "results"
    made(monkeypatch, "first").save(folder)
    made(monkeypatch, "second").save(folder)
    assert "second" in (folder / results.SUMMARY).read_text(encoding="utf-8")
    assert {path.name for path in folder.iterdir()} == results.FILES - {STACKS}
    assert [path.name for path in folder.parent.iterdir()] == ["results"]


def test_an_empty_folder_is_filled(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    made(monkeypatch, "first").save(tmp_path / "empty")
    (tmp_path / "other").mkdir()
    made(monkeypatch, "first").save(tmp_path / "other")
    assert {path.name for path in (tmp_path / "other").iterdir()} == results.FILES - {STACKS}


@pytest.mark.parametrize("held", ["notes.txt", "report.html", ".hidden"])
def test_a_foreign_folder_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, held: str) -> None:
    (tmp_path / held).write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match="not a results folder"):
        made(monkeypatch, "first").save(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [held]


def test_what_is_no_file_is_written_to_and_stays(tmp_path: Path) -> None:
    """Root, as a build server has it in a container, can put a file in the place of a device."""
    pipe, file, link = (tmp_path / name for name in ("pipe", "file", "link"))
    os.mkfifo(pipe)
    file.write_text("before", encoding="utf-8")
    link.symlink_to(file)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    results.write_text(pipe, "all of it")
    results.write_text(link, "behind it")
    assert os.read(reader, 100) == b"all of it"
    os.close(reader)
    assert (pipe.is_fifo(), link.is_symlink(), file.read_text(encoding="utf-8")) == (True, True, "behind it")
    if Path("/dev/full").exists():
        # With a name in a folder of its own, so that a device is safe from a mistake here, too.
        (tmp_path / "full").symlink_to("/dev/full")
        with pytest.raises(InputError, match="no space left on device"):
            results.write_text(tmp_path / "full", "lost")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OSError(28, "No space left on device")])
def test_a_failure_keeps_the_earlier_results(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: BaseException
) -> None:
    folder = tmp_path / "results"
    made(monkeypatch, "first").save(folder)
    second = made(monkeypatch, "second")

    def fail(self: Run, path: Path) -> None:
        raise error

    monkeypatch.setattr(Run, "report", fail)
    with pytest.raises(KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else InputError):
        second.save(folder)
    assert "first" in (folder / results.SUMMARY).read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir()] == ["results"]


def test_a_place_that_nobody_can_write_to_shows_before_the_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It showed at its end, and what had been reckoned was lost."""
    (tmp_path / "file").touch()
    for refuses, name in ((results.check_free, "file/out"), (results.check_report, "file/deeper/page.html")):
        with pytest.raises(InputError, match=f"{name}: cannot be written: {tmp_path}/file is not a folder"):
            refuses(tmp_path / name)
    monkeypatch.setattr("os.access", lambda *given: False)
    with pytest.raises(InputError, match="cannot be written: permission denied"):
        results.check_report(tmp_path / "new" / "page.html")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
