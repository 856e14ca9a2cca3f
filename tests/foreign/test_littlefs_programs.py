"""What runs on other file systems runs on littlefs: fio, Postmark, SQLite, recordings, a mount. Small ones of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from helpers.command import Command
from helpers.mounted import mounted, need_fuse

MACHINE = ["--system", "bare", "--board", "licheepi-nano", "--part", "w25q128jv", "--blocks", "32"]
FIO = "[global]\nfilename=f\nsize=64k\nbs=4k\n[w]\nrw=write\nfsync=4\n[r]\nrw=randread\nstonewall\n"
POSTMARK = "set size 500 3000\nset number 12\nset transactions 30\nset seed 3\nrun\nquit\n"
SQLITE = "create table t(a);\ninsert into t values(1),(2),(3);\nselect sum(a) from t;\n"
STRACE = """\
100 1700000000.000001 openat(AT_FDCWD, "a", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3 <0.000050>
100 1700000000.000101 write(3, "x"..., 3000) = 3000 <0.000050>
100 1700000000.000201 fsync(3) = 0 <0.000050>
100 1700000000.000301 close(3) = 0 <0.000020>
"""


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
    need_fuse()
    with mounted(tmp_path, "littlefs", *MACHINE) as mount:
        (mount.place / "d").mkdir()
        for number in range(5):
            (mount.place / f"d/f{number}").write_bytes(bytes([number]) * 3000)
        (mount.place / "d/f0").rename(mount.place / "moved")
        (mount.place / "d/f1").unlink()
        assert sorted(path.name for path in (mount.place / "d").iterdir()) == ["f2", "f3", "f4"]
        assert (mount.place / "moved").read_bytes() == bytes(3000)
    assert mount.variant["totals"]["page_programs"] > 0
