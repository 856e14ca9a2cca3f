"""Cuts the power while a logger writes, again and again, and looks at what is left: every record for which fsync had
returned must be there, whole, and the partition must mount."""

import sys

import ffslab

RECORD_BYTES, CUTS = 256, 200


def record(number: int) -> bytes:
    """What the logger writes: its number, over and over."""
    return f"{number:08d}".encode() * (RECORD_BYTES // 8)


def survives(fs: str, cut_after: int) -> bool:
    """Logs until the power fails at the `cut_after`-th program or erase, boots, and reads the records again."""
    stack = ffslab.Stack(fs, board="omap3evm", kernel="2.6.37", partition_blocks=80)
    stack.mount()
    stack.write_file("config", b"a device that has been in use")
    stack.sync()
    stack.sleep(60_000_000)
    promised = 0
    stack.cut_power_after(cut_after, "partial", seed=cut_after)
    try:
        log = stack.open("log", "wronly create")
        while True:
            stack.pwrite(log, record(promised), promised * RECORD_BYTES)
            stack.fsync(log)
            promised += 1
    except ffslab.PowerCut:
        stack.crash()
    stack.mount()
    found = stack.read_file("log") if "log" in stack.listdir("/") else b""
    return found[: promised * RECORD_BYTES] == b"".join(map(record, range(promised)))


for fs in sys.argv[1:]:
    whole = sum(survives(fs, cut_after) for cut_after in range(1, CUTS + 1))
    print(f"{fs}: {whole} of {CUTS} cuts left every promised record whole")
