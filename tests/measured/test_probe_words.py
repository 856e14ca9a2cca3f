"""The on-target kit's names of arguments on each architecture, and what its BPF variant makes of bpftrace's output."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from test_probe_kit import AWKS, PROBE

# Registers of the first arguments, the fifth argument, the third of f(pointer, pointer, 64 bits), by `uname -m`. Tried
# in guests: x86_64, armv7l, aarch64, mips (probe/README.md).
WORDS = {
    "x86_64": ("%di %si %dx", "%r8", "%dx"),
    "i686": ("%ax %dx %cx", "$stack2", "$stack1"),
    "armv7l": ("%r0 %r1 %r2", "$stack0", "%r2"),
    "aarch64": ("%x0 %x1 %x2", "%x4", "%x2"),
    "mips": ("%r4 %r5 %r6", "$stack4", "%r6"),
    "mips64": ("%r4 %r5 %r6", "%r8", "%r6"),
    "riscv64": ("%a0 %a1 %a2", "%a4", "%a2"),
    "loongarch64": ("$arg1 $arg2 $arg3", "$arg5", "$arg3"),
}


def shell(script: str, *libraries: str) -> str:
    read = "\n".join(f". {PROBE}/lib/{name}.sh" for name in ("tracefs", *libraries))
    ran = subprocess.run(["sh", "-euc", f"{read}\n{script}"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("machine", WORDS)
def test_arguments_are_where_the_calling_convention_has_them(machine: str) -> None:
    first, fifth, third = WORDS[machine]
    said = shell(f"ARCH={machine}; echo $(word 1) $(word 2) $(word 3); word 5; third_of_64_bits")
    assert said.splitlines() == [first, fifth, third]


@pytest.mark.parametrize(
    ("release", "older"),
    [("4.4.0-21-generic", True), ("4.11.12", True), ("4.12.0-rc1", False), ("4.17", False), ("6.1.0-50-armmp", False)],
)
def test_releases_are_compared_by_their_numbers(release: str, older: bool) -> None:
    said = shell(f"uname() {{ echo {release}; }}; if older_than 4.12; then echo older; else echo not; fi")
    assert said.strip() == ("older" if older else "not")


@pytest.mark.parametrize(
    ("argument", "expression"),
    [
        ("pages=arg1", "arg1"),
        ("pos=arg2:u64", "arg2"),
        ("pos=+0(arg3):u64", "*(uint64 *)(arg3 + 0)"),
        ("ino=+64(+32(arg0))", "*(uint64 *)(*(uint64 *)(arg0 + 32) + 64)"),
    ],
)
def test_arguments_are_said_in_the_words_of_bpftrace(argument: str, expression: str) -> None:
    assert shell(f"ARCH=x86_64; bpf_expression '{argument}'", "bpf").strip() == expression


PRINTED = """\
1.000001;60;vfs_read;a;b;7;42;0;4096;4096
1.000100;5;jffs2_write_begin;dd;9;0;8192;;0

@call_1[12, 1]: (2000300400, 42, 0, 100, 0)
@call_2[12, 2]: (999, 42, 0, 0)
@depth_1[9]: 0
@seen: 6
"""


@pytest.mark.parametrize("awk", AWKS)
def test_the_log_by_bpf_says_what_was_lost_and_what_had_not_returned(awk: str, tmp_path: Path) -> None:
    """Six calls were seen, two returned, two had not, so two are missing."""
    program = [str(shutil.which(awk)), *(["awk"] if awk == "busybox" else [])]
    variables = ["kind=vfsmon", "functions= vfs_read jffs2_write_begin", f"counts={tmp_path}/counts"]
    options = [word for variable in variables for word in ("-v", variable)]
    command = [*program, "-F", ";", *options, "-f", str(PROBE / "lib" / "bpf.awk")]
    ran = subprocess.run(command, input=PRINTED, capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == [
        "1.000001;60;vfs_read;a,b;7;42;0;4096;4096",
        "1.000100;5;jffs2_write_begin;dd;9;;8192;;0",
        "2.000300;;vfs_read;;12;;;;",
        "0.000000;;jffs2_write_begin;;12;;;;",
    ]
    assert (tmp_path / "counts").read_text() == "seen events=4 lost=2\n"
