"""Small work for file systems of bare programs: programs of each verb, requests, a shell, and what was spent."""

from __future__ import annotations

from pathlib import Path

from ffslab.answers.summary import CauseSummary, VariantSummary
from helpers.mounted import mounted, need_fuse

MACHINE = ["--system", "bare", "--board", "licheepi-nano", "--part", "w25q128jv", "--blocks", "32"]
FIO = "[global]\nfilename=f\nsize=64k\nbs=4k\n[w]\nrw=write\nfsync=4\n[r]\nrw=randread\nstonewall\n"
POSTMARK = "set size 500 3000\nset number 12\nset transactions 30\nset seed 3\nrun\nquit\n"
STRACE = """\
100 1700000000.000001 openat(AT_FDCWD, "a", O_WRONLY|O_CREAT|O_TRUNC, 0666) = 3 <0.000050>
100 1700000000.000101 write(3, "x"..., 3000) = 3000 <0.000050>
100 1700000000.000201 fsync(3) = 0 <0.000050>
100 1700000000.000301 close(3) = 0 <0.000020>
"""


def small_requests(count: int) -> str:
    """Steps that write a file of so many requests, write in it, and read it."""
    return f"""\
[[setup]]
step = "mount"
[[measure]]
step = "create"
file = "a"
bytes = {500 * count}
request_B = 500
[[measure]]
step = "open"
file = "a"
flags = ["rdwr"]
[[measure]]
step = "requests"
file = "a"
op = "write"
pattern = "random"
request_B = 500
count = 300
[[measure]]
step = "requests"
file = "a"
op = "read"
pattern = "sequential"
request_B = 500
count = {count}"""


def spent_by(variant: VariantSummary) -> dict[str, CauseSummary]:
    """What was spent by each cause that did anything."""
    causes = variant["by_cause"]
    return {
        cause["reason"]: cause for cause in causes if cause["page_reads"] + cause["page_programs"] + cause["erases"]
    }


def is_used_by_a_shell(folder: Path, fs: str) -> None:
    need_fuse()
    with mounted(folder, fs, *MACHINE) as mount:
        (mount.place / "d").mkdir()
        for number in range(5):
            (mount.place / f"d/f{number}").write_bytes(bytes([number]) * 3000)
        (mount.place / "d/f0").rename(mount.place / "moved")
        (mount.place / "d/f1").unlink()
        assert sorted(path.name for path in (mount.place / "d").iterdir()) == ["f2", "f3", "f4"]
        assert (mount.place / "moved").read_bytes() == bytes(3000)
    assert mount.variant["totals"]["page_programs"] > 0
