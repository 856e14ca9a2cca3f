"""Real programs on a mount. Each function runs one in a folder and fails if the program finds anything wrong.

`scale` multiplies the amount of work: 1 is a few seconds at most.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

from helpers.command import ROOT
from helpers.fsx import Exerciser, shares_memory

# What a program finds in its environment: nothing of the user who runs the tests.
CLEAN = {
    "PATH": os.environ["PATH"],
    "LC_ALL": "C",
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
}


def run(folder: Path, *command: str | Path, text: str | None = None) -> str:
    """Runs a program; what it printed."""
    ran = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=CLEAN,
        input=text,
        capture_output=True,
        text=True,
        check=False,
        timeout=3000,
    )
    assert ran.returncode == 0, f"{command}: {ran.stdout[-2000:]}{ran.stderr[-2000:]}"
    return ran.stdout


def fio(folder: Path, scale: int = 1) -> None:
    """Writes blocks of several sizes at random places and reads them back; each carries its own check sum."""
    # Of each job the file is a MiB times the scale, written and verified.
    jobs = "[global]\nverify=crc32c\nverify_fatal=1\ndo_verify=1\nioengine=psync\nallrandrepeat=1\n"
    jobs += f"[random]\nrw=randwrite\nbs=4k\nsize={scale}m\nfsync=32\nstonewall\n"
    jobs += f"[mixed]\nrw=randrw\nbsrange=512-64k\nblockalign=512\nsize={scale}m\nstonewall\n"
    jobs += f"[sequential]\nrw=write\nbs=64k\nsize={2 * scale}m\nend_fsync=1\nstonewall\n"
    printed = run(folder, "fio", "--minimal", "-", text=jobs)
    errors = [line.split(";")[4] for line in printed.splitlines() if line.startswith("3;")]
    assert errors == ["0", "0", "0"], printed


def sqlite(folder: Path, scale: int = 1) -> None:
    """A data base with a rollback journal, then with a write-ahead log, whose index is mapped memory that processes
    share; where there is none, as on JFFS2, SQLite has a log only for one process alone (https://sqlite.org/wal.html)."""
    lock = "normal" if shares_memory(folder) else "exclusive"
    for mode in ("delete", "wal"):
        rows = 200 * scale
        script = f"PRAGMA locking_mode={lock};\nPRAGMA journal_mode={mode};\n"
        script += "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b BLOB);\n"
        script += "CREATE INDEX i ON t(a);\n"
        for number in range(rows):
            script += f"INSERT INTO t(a, b) VALUES('row {number * 7919 % 1000}', zeroblob({number % 3000}));\n"
        script += "BEGIN; UPDATE t SET a = a || '!' WHERE id % 3 = 0; DELETE FROM t WHERE id % 5 = 0; COMMIT;\n"
        script += "VACUUM;\nPRAGMA integrity_check;\nSELECT count(*), sum(length(b)) FROM t;\n"
        kept = [number for number in range(rows) if (number + 1) % 5]
        printed = run(folder, "sqlite3", "-bail", f"{mode}.db", text=script).split()
        assert printed == [lock, mode, "ok", f"{len(kept)}|{sum(number % 3000 for number in kept)}"]


def postmark(folder: Path, scale: int = 1) -> None:
    """Small files of a mail server: made, read, appended to, deleted."""
    commands = (
        f"set number {100 * scale}\nset transactions {200 * scale}\nset size 500 10000\nset location .\nrun\nquit\n"
    )
    printed = run(folder, "postmark", text=commands)
    assert f"{200 * scale} of transactions" in printed or "transactions (" in printed, printed
    assert "Error" not in printed, printed
    assert list(folder.iterdir()) == []


def tar(folder: Path, scale: int = 1) -> None:
    """This source tree: unpacked, compared, packed again, removed."""
    parts = ("crates/sim", "crates/flash", "crates/linux", "docs")[: 1 + scale]
    run(ROOT, "tar", "cf", folder / "tree.tar", *parts)
    run(folder, "tar", "xf", "tree.tar")
    same_as_packed(folder, "tree.tar")
    run(folder, "tar", "cf", "again.tar", *parts)
    for part in parts:
        run(folder, "diff", "-r", ROOT / part, part)
    same_as_packed(folder, "again.tar")
    run(folder, "rm", "-rf", parts[0].split("/")[0])


def same_as_packed(folder: Path, archive: str) -> None:
    """Compares files with an archive. Times may differ: YAFFS2 stamps a file that is closed with data in its cache,
    also after the program has set its time."""
    ran = subprocess.run(["tar", "df", archive], cwd=folder, env=CLEAN, capture_output=True, text=True, check=False)
    differences = [line for line in (ran.stdout + ran.stderr).splitlines() if not line.endswith("Mod time differs")]
    assert differences == []


def git(folder: Path, scale: int = 1) -> None:
    """A repository: commits, a branch, garbage collection, a clone, and git's own check of all objects."""
    run(folder, "git", "init", "-q", "-b", "main", "repository")
    repository = folder / "repository"
    for commit in range(2 * scale):
        for number in range(10):
            (repository / f"file{number}").write_text("".join(f"{commit} {number} {line}\n" for line in range(200)))
        run(repository, "git", "add", ".")
        run(repository, "git", "commit", "-q", "-m", f"commit {commit}")
    run(repository, "git", "checkout", "-q", "-b", "branch", "HEAD~1")
    run(repository, "git", "gc", "-q")
    run(folder, "git", "clone", "-q", "repository", "clone")
    for place in (repository, folder / "clone"):
        run(place, "git", "fsck", "--strict", "--full")
        assert run(place, "git", "status", "--porcelain") == ""
    assert len(run(repository, "git", "log", "--oneline", "main").splitlines()) == 2 * scale


def fsx(folder: Path, scale: int = 1) -> None:
    """Random operations on a file, mapped memory included."""
    Exerciser(folder / "file", seed=scale).run(400 * scale)


PROGRAMS: dict[str, Callable[[Path, int], None]] = {
    "fio": fio,
    "sqlite3": sqlite,
    "postmark": postmark,
    "tar": tar,
    "git": git,
    "fsx": fsx,
}
# Programs of these names that must be installed; fsx is here.
INSTALLED = ("fio", "sqlite3", "postmark", "tar", "git")
