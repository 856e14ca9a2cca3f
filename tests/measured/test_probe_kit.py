"""The on-target kit without a target: its shell code, what it refuses, and logs that it writes from kept raw traces.

`tests/referee/test_probe.py` runs it in a real kernel.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from helpers.command import ROOT, Command
from helpers.left_out import leave_out

PROBE = ROOT / "probe"
SCRIPTS = [PROBE / "ffslab-probe", *sorted((PROBE / "lib").glob("*.sh"))]
AWKS = [name for name in ("mawk", "gawk", "busybox") if shutil.which(name)]


def test_shellcheck_has_nothing_to_say() -> None:
    if shutil.which("shellcheck") is None:
        leave_out("shellcheck is missing; apt-get install shellcheck")
    names = [path.relative_to(PROBE) for path in SCRIPTS]
    ran = subprocess.run(
        ["shellcheck", "-x", "-s", "sh", *names], cwd=PROBE, capture_output=True, text=True, check=False
    )
    assert (ran.stdout, ran.returncode) == ("", 0)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "ffslab-probe:"),
        (["flashmonn"], "flashmonn: no such command"),
        (["bench", "loops"], "which partition?"),
        (["bench", "loops", "sda"], "a partition is named mtd0"),
        (["bench", "fio", "."], "say the directory twice"),
        (["bench", "fio", ".", "--confirm", "/"], "say the directory twice"),
        (["bench", "files", "/nowhere", "--confirm", "/nowhere"], "there is no such directory"),
        (["format", "."], "no folder of stop --raw"),
    ],
)
def test_bad_arguments_end_with_a_line_and_status_2(arguments: list[str], says: str, tmp_path: Path) -> None:
    command: list[str | Path] = ["sh", PROBE / "ffslab-probe", *arguments]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert says in ran.stderr
    assert list(tmp_path.iterdir()) == []


HEADER = "# ffslab-probe 1 {kind}\n# columns: whatever\n"
SETTINGS = """\
LEVEL={level} PAGE_B=2048 OOB_B=64 BLOCK_B=131072
FROM_B={from_B} SIZE_B={size_B}
FUNCTIONS='{functions}'
MISSED=0 LOST=0
"""
# Lines as kernels print them: with and without flags behind the CPU, numbers decimal (4.8 and later) or hexadecimal.
CHIP_LEVEL = """\
# tracer: nop
     flash_erase-356     [000] .....     1.000001: erase_op: (nand_erase_op+0x0/0xd0 [nand]) chip=0xffff0 page=3
  jffs2_gcd_mtd0-360     [000] d....     1.000002: read_oob_op: (f+0x0/0x1) chip=0xffff0 page=192 off=0 len=64
  jffs2_gcd_mtd0-360     [000] d....     1.000003: read_page_op: (f+0x0/0x1) chip=0xffff0 page=192 off=2048 len=64
     <...>-360     [000]     1.000004: read_page_op: (f+0x0/0x1) chip=0xffff0 page=0xc0 off=0x0 len=0x200
     a name-7-9     [001]     1.000005: tracing_mark_write: text; of the user
     a name-7-9     [001]     1.000006: prog_page_begin_op: (f+0x0/0x1) chip=0xffff0 page=193 off=0 len=0
     a;name-7     [001]     1.000007: prog_page_op: (f+0x0/0x1) chip=0xffff0 page=193 off=2048 len=64
"""
CHIP_EVENTS = [
    "1.000001;E;3;flash_erase;356;131072",
    "1.000002;r;192;jffs2_gcd_mtd0;360;64",
    "1.000004;R;192;jffs2_gcd_mtd0;360;512",
    "1.000005;M;;text; of the user",
    "1.000006;W;193;a name-7;9;2048",
    "1.000007;w;193;a,name;7;64",
]
COMMAND_LEVEL = """\
 dd-5  [000]  2.0: nand_command_lp: (f+0x0/0x1) chip=0xc0 command=0x0 off=0x0 page=0x41
 dd-5  [000]  2.1: nand_command_lp: (f+0x0/0x1) chip=0xc0 command=0x50 off=0x0 page=0x41
 dd-5  [000]  2.2: nand_command_lp: (f+0x0/0x1) chip=0xc0 command=0x80 off=0x800 page=0x41
 dd-5  [000]  2.3: nand_command_lp: (f+0x0/0x1) chip=0xc0 command=0x80 off=0x0 page=0x41
 dd-5  [000]  2.4: nand_command_lp: (f+0x0/0x1) chip=0xc0 command=0x10 off=0xffffffff page=0xffffffffffffffff
 dd-5  [000]  2.5: nand_command_lp: (f+0x0/0x1) chip=0xc0 command=0x60 off=0xffffffff page=0x40
"""
COMMAND_EVENTS = [
    "2.0;R;65;dd;5;2048",
    "2.1;r;65;dd;5;64",
    "2.2;w;65;dd;5;64",
    "2.3;W;65;dd;5;2048",
    "2.5;E;1;dd;5;131072",
]
MTD_LEVEL = """\
 dd-5  [000]  3.0: mtd_spinand_mtd_read: (x+0x0/0x1) chip=0xc0 low=0xf00 high=0x0 len=0x900 ooblen=0x0
 dd-5  [000]  3.1: mtd_spinand_mtd_write: (x+0x0/0x1) chip=0xc0 low=0x0 high=0x1 len=0x800 ooblen=0x0
 dd-5  [000]  3.2: mtd_spinand_mtd_write: (x+0x0/0x1) chip=0xc0 low=0x20000 high=0x0 len=0x0 ooblen=0x10
 dd-5  [000]  3.3: mtd_nanddev_mtd_erase: (x+0x0/0x1) chip=0xc0 from=0x20000 len=0x40000
"""
MTD_EVENTS = [
    *("3.0;R;1;dd;5;256", "3.0;R;2;dd;5;2048", "3.1;W;2097152;dd;5;2048", "3.2;w;64;dd;5;16"),
    *("3.3;E;1;dd;5;131072", "3.3;E;2;dd;5;131072"),
]
# A read is one event however long it is, a program one for each page.
NOR_LEVEL = """\
 dd-5  [000]  3.0: nor_ram_read: (x+0x0/0x1) chip=0xc0 low=0xf00 len=0x2000
 dd-5  [000]  3.1: nor_spi_nor_write: (x+0x0/0x1) chip=0xc0 low=0x7f8 high=0x0 len=0x810
 dd-5  [000]  3.2: nor_ram_erase: (x+0x0/0x1) chip=0xc0 from=0x20000 len=0x20000
"""
NOR_EVENTS = [
    *("3.0;R;1;dd;5;8192", "3.1;W;0;dd;5;8", "3.1;W;1;dd;5;2048", "3.1;W;2;dd;5;8", "3.2;E;1;dd;5;131072"),
]
CALLS = """\
 dd-5  [000]  4.000010: leave_1: (a+0x1/0x2 <- b) ret=7
 dd-5  [000]  4.000100: enter_1: (outer+0x0/0x1) ino=0x2a bytes=0x1000 pos=0x2000
 cat-6  [000]  4.000150: enter_2: (inner+0x0/0x1)
 dd-5  [000]  4.000200: enter_2: (inner+0x0/0x1) index=3 pages=2
 dd-5  [000]  4.000260: leave_2: (c+0x1/0x2 <- inner) ret=0x0
 dd-5  [000]  4.000400: leave_1: (c+0x1/0x2 <- outer) ret=0xffffffffffffffe4
"""
VFS_EVENTS = [
    "4.000200;60;inner;dd;5;;12288;8192;0",
    "4.000100;300;outer;dd;5;42;8192;4096;-28",
    "4.000150;;inner;cat;6;;;;",
]
FUNC_EVENTS = ["4.000200;60;inner;dd;5", "4.000100;300;outer;dd;5", "4.000150;;inner;cat;6"]


def formatted(
    folder: Path, kind: str, level: str, trace: str, awk: str, scope: tuple[str, str] = ("", "")
) -> list[str]:
    """The log that `format` makes of a raw trace, with one of the programs named awk."""
    raw, programs = folder / "raw", folder / "bin"
    raw.mkdir()
    programs.mkdir()
    script = f'#!/bin/sh\nexec {shutil.which(awk)} {"awk" if awk == "busybox" else ""} "$@"\n'
    (programs / "awk").write_text(script, encoding="utf-8")
    (programs / "awk").chmod(0o755)
    settings = SETTINGS.format(level=level, from_B=scope[0], size_B=scope[1], functions=" outer inner")
    for name, text in (
        ("header", HEADER.format(kind=kind)),
        ("settings", settings),
        ("trace", trace),
        ("end", f"{kind} 0 9.5 100\n"),
    ):
        (raw / name).write_text(text, encoding="utf-8")
    environment = {"PATH": f"{programs}:/usr/bin:/bin"}
    command: list[str | Path] = ["sh", PROBE / "ffslab-probe", "format", raw]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (ran.stderr, ran.returncode) == ("", 0)
    lines = ran.stdout.splitlines()
    events = [line for line in lines if not line.startswith("#")]
    assert lines[-1] == f"# end: t_s=9.5 events={len(events)} lost=0 overhead_ns_per_event=100"
    return events


@pytest.mark.parametrize("awk", AWKS)
@pytest.mark.parametrize(
    ("kind", "level", "trace", "events"),
    [
        ("flashmon", "chip", CHIP_LEVEL, CHIP_EVENTS),
        ("flashmon", "command", COMMAND_LEVEL, COMMAND_EVENTS),
        ("flashmon", "mtd", MTD_LEVEL, MTD_EVENTS),
        ("flashmon", "nor", NOR_LEVEL, NOR_EVENTS),
        ("vfsmon", "auto", CALLS, VFS_EVENTS),
        ("funcmon", "auto", CALLS, FUNC_EVENTS),
    ],
    ids=["chip", "command", "mtd", "nor", "vfsmon", "funcmon"],
)
def test_raw_traces_of_old_and_new_kernels_become_events(
    kind: str, level: str, trace: str, events: list[str], awk: str, tmp_path: Path
) -> None:
    assert formatted(tmp_path, kind, level, trace, awk) == events


def test_a_scope_leaves_other_partitions_out(tmp_path: Path) -> None:
    block_3 = (str(3 * 131072), str(131072))
    assert formatted(tmp_path, "flashmon", "chip", CHIP_LEVEL, AWKS[0], block_3) == CHIP_EVENTS
    (tmp_path / "other").mkdir()
    block_2 = (str(2 * 131072), str(131072))
    markers = [line for line in CHIP_EVENTS if ";M;" in line]
    assert formatted(tmp_path / "other", "flashmon", "chip", CHIP_LEVEL, AWKS[0], block_2) == markers


@pytest.mark.parametrize("job", [path.name for path in sorted((PROBE / "fio").glob("*.fio"))])
def test_fio_jobs_of_the_kit_run_in_the_simulator(job: str, ffslab: Command) -> None:
    """So a measurement can be compared with a simulation of the same jobs."""
    ran = ffslab("fio", PROBE / "fio" / job, "--partition-blocks", "160")
    assert ran.returncode == 0, ran.stderr
