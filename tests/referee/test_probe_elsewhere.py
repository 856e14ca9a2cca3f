"""The on-target kit on other architectures and kernels, judged by what nandsim says that it was sent.

Soak: kernels are downloaded from Debian (50 MB each, nothing is installed), kept in pytest's cache, and emulated.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ffslab import InputError
from ffslab.measured.reference.architecture import AMD64, ARMHF, SERIAL_JOBS, Architecture
from ffslab.measured.reference.kit import Kit, find_foreign_kit, program
from ffslab.measured.reference.machine import Machine
from ffslab.measured.reference.packages import fetch
from helpers.left_out import leave_out
from referee.parts import GUEST_PROGRAMS, GUEST_SCRIPT
from referee.probe_kit import UNPACK, archive, read_log
from referee.test_probe import BLOCKS, CHIP, SAID, WORKLOADS

pytestmark = pytest.mark.soak

# MIPS has two serial ports on its board. Its single-stepping of probes fails now and then (probe/README.md), so the
# workloads of file systems, with thousands of events, do not always come to their end; those over the MTD device do.
MIPSEL = replace(
    ARMHF,
    name="mipsel",
    qemu="qemu-system-mipsel",
    board=("-M", "malta", "-cpu", "24Kf"),
    console="ttyS0",
    jobs="ttyS1",
    jobs_port=SERIAL_JOBS,
    kernel_package="linux-image-4kc-malta",
    qemu_package="qemu-system-mips",
    modules=("deflate",),
)
ALL = tuple(WORKLOADS)
MACHINES: dict[str, tuple[Architecture, str, tuple[str, ...]]] = {
    "armhf-5.10": (ARMHF, "bullseye", ALL),
    "armhf-6.1": (ARMHF, "bookworm", ALL),
    "armhf-6.12": (ARMHF, "trixie", ALL),
    "amd64-5.10": (AMD64, "bullseye", ALL),
    "mipsel-6.1": (MIPSEL, "bookworm", ("mtd",)),
}


def programs_of(root: Path) -> dict[str, bytes]:
    """The tools of mtd-utils with their C library, by their path in the guest."""
    found = {}
    patterns = (*(f"sbin/{name}" for name in GUEST_PROGRAMS), "lib/*/libc.so.6", "lib/ld*.so.*", "lib64/ld*.so.*")
    for path in (path for pattern in patterns for path in root.glob(pattern)):
        target = path
        if path.is_symlink():
            link = path.readlink()
            target = root / str(link).lstrip("/") if link.is_absolute() else path.parent / link
        found[str(path.relative_to(root))] = target.read_bytes()
    return found


@pytest.fixture(scope="module", params=MACHINES)
def elsewhere(
    request: pytest.FixtureRequest, kit: Kit, pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Machine, tuple[str, ...]]]:
    architecture, suite, workloads = MACHINES[request.param]
    if program(architecture.qemu) is None:
        leave_out(f"{architecture.qemu} is missing; as root: apt-get install {architecture.qemu_package}")
    assert pytestconfig.cache is not None
    root = pytestconfig.cache.mkdir("kernels") / request.param
    if not root.exists():
        try:
            fetch(architecture, root, suite, ("mtd-utils", "libc6"))
        except InputError as error:
            leave_out(f"{request.param}: {error}")
    found, missing = find_foreign_kit(architecture, root)
    assert found is not None, missing
    folder = tmp_path_factory.mktemp("elsewhere") / "machine"
    machine = Machine(found, folder, GUEST_SCRIPT.read_bytes(), programs_of(root))
    yield machine, workloads
    machine.stop()
    shutil.rmtree(folder)


def test_the_kit_sees_what_the_chip_was_sent(elsewhere: tuple[Machine, tuple[str, ...]]) -> None:
    """Type and number of every operation, in order; and vfsmon finds inode numbers, offsets, sizes and results."""
    machine, workloads = elsewhere
    for workload in workloads:
        lines = [UNPACK, "clean_up", CHIP.format(blocks=BLOCKS, settings="log=1 dyndbg=+p")]
        lines += ["ffslab-probe flashmon start --overhead-ns 1000"]
        lines += ["ffslab-probe funcmon start --overhead-ns 1000 nand_change_read_column_op"]
        lines += ["dmesg -c > /dev/null", WORKLOADS[workload], "dmesg -s 16000000 > said"]
        lines += ["ffslab-probe flashmon stop -o flashmon.log", "ffslab-probe funcmon stop -o funcmon.log"]
        done = machine.run("\n".join(lines), {"probe.tar": archive()}, timeout_s=900)
        log, columns = read_log(done.folder / "flashmon.log"), read_log(done.folder / "funcmon.log")
        assert (log.end["lost"], columns.end["lost"]) == ("0", "0")
        names = {"R": "read page", "r": "read page", "W": "programm page", "w": "programm page", "E": "erase sector"}
        seen: list[tuple[str, int]] = []
        for row in sorted(log.rows + columns.rows, key=lambda row: float(row["t_s"])):
            seen.append((names[row["type"]], int(row["address"])) if "type" in row else seen[-1])
        said = (done.folder / "said").read_text(encoding="utf-8", errors="replace")
        assert seen == [(what, int(number)) for what, number in SAID.findall(said)], workload
        assert len(seen) > 400


def test_vfsmon_finds_inodes_offsets_and_results(elsewhere: tuple[Machine, tuple[str, ...]]) -> None:
    machine, _ = elsewhere
    script = f"""
        {UNPACK}
        clean_up
        {CHIP.format(blocks=BLOCKS, settings="")}
        ffslab-probe vfsmon start --overhead-ns 1000
        for i in 0 1 2 3; do dd if=/dev/zero of=/tmp/a bs=1000 seek=$i count=1 conv=notrunc 2> /dev/null; done
        ls -i /tmp/a > inode
        ffslab-probe vfsmon stop -o vfsmon.log
        """
    done = machine.run(script, {"probe.tar": archive()}, timeout_s=900)
    inode = (done.folder / "inode").read_text(encoding="utf-8").split()[0]
    log = read_log(done.folder / "vfsmon.log")
    writes = [row for row in log.rows if (row["function"], row["inode"], row["task"]) == ("vfs_write", inode, "dd")]
    assert [(row["offset_B"], row["bytes"], row["result"]) for row in writes] == [
        (str(1000 * i), "1000", "1000") for i in range(4)
    ]
    assert all(float(row["duration_us"]) > 0 for row in writes)
