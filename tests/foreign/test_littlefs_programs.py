"""What runs on other file systems runs on littlefs: fio, Postmark, SQLite, recordings, a mount. Small ones of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.command import Command
from helpers.small_work import FIO, MACHINE, POSTMARK, STRACE, is_used_by_a_shell

SQLITE = "create table t(a);\ninsert into t values(1),(2),(3);\nselect sum(a) from t;\n"


@pytest.mark.parametrize(
    ("verb", "name", "text"),
    [
        ("fio", "job.fio", FIO),
        ("postmark", "mail.pmrc", POSTMARK),
        ("sqlite", "rows.sql", SQLITE),
        ("replay", "app.strace", STRACE),
    ],
    ids=["fio", "postmark", "sqlite", "replay"],
)
def test_programs_run_on_littlefs(verb: str, name: str, text: str, ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    done = ffslab(verb, name, "--fs", "littlefs", *MACHINE, "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stderr
    summary: dict[str, Any] = json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))
    (variant,) = summary["variants"]
    reasons = {cause["reason"] for cause in variant["by_cause"]}
    assert "commit" in reasons and "other" not in reasons, reasons
    assert variant["totals"]["page_programs"] > 0 and variant["totals"]["erases"] > 0


def test_a_mount_of_littlefs_is_used_by_a_shell(tmp_path: Path) -> None:
    is_used_by_a_shell(tmp_path, "littlefs")
