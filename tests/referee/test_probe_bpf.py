"""The monitors by bpftrace beside those by kprobe events, in one guest: the same events, and what they cost.

Soak: bpftrace brings a compiler into the guest, which is slow there.
"""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from ffslab.measured.reference.kit import Kit, program
from ffslab.measured.reference.machine import Machine
from helpers.left_out import leave_out
from referee.parts import GUEST_SCRIPT
from referee.probe_kit import PROBE, UNPACK, archive, read_log
from referee.test_reference import CHIP, loops, slope_us

pytestmark = pytest.mark.soak

FUNCTIONS = "jffs2_garbage_collect_pass jffs2_do_create jffs2_flash_direct_writev"
JOB = f"""
{UNPACK}
mount -t debugfs debugfs /sys/kernel/debug || true
mount -t tracefs tracefs /sys/kernel/tracing || true
{CHIP}

# Starts a monitor by bpftrace and waits until the kernel has its last probe: $1 a function that nobody else probes yet.
by_bpf() {{
  local until="$1"
  shift
  ffslab-probe "$@" > "$1.bpf" 2> "$1.said" &
  while ! grep -q " $until+" /sys/kernel/debug/kprobes/list; do
    sleep 1
    grep -q 'ffslab-probe: bpftrace' "$1.said" && cat "$1.said" && return 1
  done
  sleep 3
}}

# bpftrace prints more slowly than events come, and forgets at its end what it has not printed.
settle() {{
  sleep 60
}}

end_bpf() {{
  settle
  killall -INT bpftrace
  while pidof bpftrace > /dev/null; do sleep 1; done
  wait
}}

loops() {{
  ffslab-probe bench loops mtd0 --repeats 2 --counts '128 512'
}}

loops > bare
ffslab-probe flashmon start --overhead-ns 1000
loops > kprobes
ffslab-probe flashmon stop > /dev/null
by_bpf nand_erase_op flashmon bpf
loops > bpf
for name in flashmon vfsmon funcmon; do
  [ $name = funcmon ] && set -- {FUNCTIONS} || set --
  ffslab-probe $name start --overhead-ns 1000 "$@"
done
by_bpf ubifs_writepage vfsmon bpf
by_bpf jffs2_garbage_collect_pass funcmon bpf {FUNCTIONS}
for name in flashmon vfsmon funcmon; do ffslab-probe $name reset; done
settle
flash_erase -q /dev/mtd0 0 4
mount_fs jffs2 compr=none
dd if=/dev/zero of=/mnt/a bs=4096 count=50 2> /dev/null
for i in 1 2 3 4 5; do dd if=/dev/zero of=/mnt/a bs=3000 seek=$((i * 7)) count=1 conv=notrunc,fsync 2> /dev/null; done
ls -i /mnt/a > inode
umount /mnt
mount_fs jffs2 compr=none
dd if=/mnt/a of=/dev/null bs=4096 2> /dev/null
umount /mnt
end_bpf
for name in flashmon vfsmon funcmon; do ffslab-probe $name stop --raw $name; done
"""


@pytest.fixture(scope="module")
def traced(kit: Kit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    bpftrace = program("bpftrace")
    if bpftrace is None:
        leave_out("bpftrace is missing; as root: apt-get install bpftrace")
    kit = replace(kit, guest_programs={**kit.guest_programs, "bpftrace": bpftrace})
    machine = Machine(
        kit, tmp_path_factory.mktemp("bpf") / "machine", GUEST_SCRIPT.read_bytes(), instructions_per_us=250
    )
    try:
        folder = machine.run(JOB, {"probe.tar": archive()}, timeout_s=1200).folder
    finally:
        machine.stop()
    for name in ("flashmon", "vfsmon", "funcmon"):
        command: list[str | Path] = ["sh", PROBE / "ffslab-probe", "format", folder / name]
        (folder / f"{name}.log").write_bytes(subprocess.run(command, capture_output=True, check=True).stdout)
    return folder


def rows(path: Path, names: tuple[str, ...]) -> list[tuple[str, ...]]:
    log = read_log(path)
    assert log.end["lost"] == "0"
    return [tuple(row[name] for name in names) for row in log.rows]


def test_flashmon_by_bpf_sees_the_same_operations(traced: Path) -> None:
    """The log by bpftrace began earlier, with the loops."""
    names = ("type", "address", "task", "pid", "bytes")
    by_bpf, by_kprobes = (rows(traced / f"flashmon.{kind}", names) for kind in ("bpf", "log"))
    assert len(by_kprobes) > 400
    assert by_bpf[-len(by_kprobes) :] == by_kprobes


def test_vfsmon_by_bpf_sees_the_same_calls_of_a_file(traced: Path) -> None:
    inode = (traced / "inode").read_text(encoding="utf-8").split()[0]
    names = ("function", "task", "pid", "inode", "offset_B", "bytes", "result")
    by_bpf, by_kprobes = (
        [row for row in rows(traced / f"vfsmon.{kind}", names) if row[3] == inode and row[1] == "dd"]
        for kind in ("bpf", "log")
    )
    assert {row[0] for row in by_kprobes} >= {"vfs_write", "vfs_read", "vfs_fsync_range", "jffs2_write_begin"}
    assert by_bpf == by_kprobes


def test_funcmon_by_bpf_sees_the_same_calls(traced: Path) -> None:
    names = ("function", "task", "pid")
    by_bpf, by_kprobes = (rows(traced / f"funcmon.{kind}", names) for kind in ("bpf", "log"))
    assert len(by_kprobes) > 20
    assert by_bpf[-len(by_kprobes) :] == by_kprobes


def test_kprobe_events_cost_less_than_bpftrace(traced: Path) -> None:
    """bpftrace prints each event by itself, and there is one CPU. Flashmon v2 published less than 6 %."""
    bare, by_kprobes, by_bpf = (slope_us(loops(traced / name)["read"]) for name in ("bare", "kprobes", "bpf"))
    print(f"a read: {bare:.1f} us, {by_kprobes:.1f} by kprobe events, {by_bpf:.1f} by bpftrace")
    assert bare < by_kprobes < 1.06 * bare
    assert by_kprobes < by_bpf
