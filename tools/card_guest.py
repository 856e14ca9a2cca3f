"""A real kernel in QEMU on a card that `ffslab card serve` or `card cuts` serves: it writes files, or looks after cuts.

    truncate -s 128M ext4.img && mkfs.ext4 -q -b 4096 ext4.img
    ffslab card serve emmc-slc-cache --image ext4.img --socket log.sock --record log.rec -- \\
        python tools/card_guest.py write ext4
    ffslab card cuts log.rec --socket cut.sock -- python tools/card_guest.py check ext4

`write` mounts the card, makes, lengthens, replaces and removes files, and says by marks which of them it has fsynced.
`check` mounts the card after each cut, compares those files, and asks fsck. The guest is booted once. It needs the
Debian packages of `make test-kernels`, e2fsprogs and f2fs-tools.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

from ffslab.measured.reference.architecture import AMD64
from ffslab.measured.reference.kit import PACKAGES, find_kit, install_command
from ffslab.measured.reference.machine import Done, GuestError, Machine

FSCK = {"ext4": "fsck.ext4", "f2fs": "fsck.f2fs"}
# What a file system asks the kernel's crypto for is found by its name, not by modules.dep.
MODULES = ("virtio_blk", "crc32c_generic", "crc32_generic", "ext4", "f2fs")
GUEST_SCRIPT = Path(__file__).with_suffix(".sh")
COMPLAINS = re.compile(
    r"EXT4-fs.*error|JBD2.*error|F2FS-fs.*(error|corrupt|inconsist)|I/O error|BUG|WARNING", re.IGNORECASE
)


def drive(uri: str, export: str) -> list[str]:
    """QEMU's options for an export of the server at `uri`, without a cache of the host's."""
    server, mark, query = uri.partition("/?")
    named = f"{server}/{export}{mark[1:]}{query}"
    # A comma ends a value there unless it stands twice.
    file = named.replace(",", ",,")
    return ["-drive", f"file={file},if=virtio,format=raw,cache=none,discard=unmap"]


def machine_on(uri: str, fs: str, folder: Path, exports: tuple[str, ...]) -> Machine:
    """A guest, not booted yet, with the card and what else the server has as its drives."""
    kit, missing = find_kit((FSCK[fs], "sync"))
    if kit is None:
        packages = install_command(f"{PACKAGES} e2fsprogs f2fs-tools")
        sys.exit(f"no real kernel: {', '.join(missing)} missing; as root: {packages}")
    options = [option for export in exports for option in drive(uri, export)]
    board = replace(AMD64, board=(*AMD64.board, *options), modules=(*AMD64.modules, *MODULES))
    return Machine(replace(kit, architecture=board), folder, GUEST_SCRIPT.read_bytes())


def write(machine: Machine, fs: str, options: str, rounds: int) -> None:
    done = machine.run(f"mount_card {fs} {options}\nwrite_files {rounds}\n")
    print(f"{rounds} rounds written", *filter(COMPLAINS.search, done.kernel_log), sep="\n", file=sys.stderr)


class Judge:
    """Verdicts of one cut after the other, and what they were together."""

    def __init__(self, machine: Machine, fs: str, options: str) -> None:
        self._machine, self._fs, self._options = machine, fs, options
        self.files = Counter[str]()
        self.states = 0

    def verdict(self, marks: bytes) -> str:
        try:
            done = self._machine.run(f"check_card {self._fs} {self._options}\n", {"marks": marks})
        except GuestError as error:
            print(error, file=sys.stderr)
            return "bad: the check stops, or the kernel does"
        said = text(done, "said")
        there, missing, wrong = map(int, text(done, "counts").split() or "000")
        self.states += 1
        self.files += Counter(there=there, missing=missing, wrong=wrong)
        complaints = list(filter(COMPLAINS.search, done.kernel_log))
        words = [said, *(["kernel complains"] if complaints else []), files_word(missing, wrong)]
        is_good = said == "mounts, fsck clean" and not (complaints or missing or wrong)
        if not is_good:
            print(*complaints, text(done, "unlike"), text(done, "fsck.found"), sep="\n", file=sys.stderr)
        return f"{'ok' if is_good else 'bad'}: {', '.join(words)}"


def files_word(missing: int, wrong: int) -> str:
    if not (missing or wrong):
        return "fsynced files there"
    return " and ".join(f"fsynced files {word}" for word, count in (("missing", missing), ("wrong", wrong)) if count)


def text(done: Done, name: str) -> str:
    path = done.folder / name
    return path.read_text(encoding="utf-8", errors="replace").strip() if path.exists() else ""


def check(machine: Machine, fs: str, options: str) -> None:
    """Answers each line of the standard input, which names a cut and the file of its marks, by one."""
    judge = Judge(machine, fs, options)
    for line in sys.stdin:
        at, torn, marks = line.rstrip("\n").split(" ", 2)
        print(f"cut at {at} ({torn})", file=sys.stderr)
        print(judge.verdict(Path(marks).read_bytes()), flush=True)
    files = ", ".join(f"{judge.files[word]:,} {word}" for word in ("there", "missing", "wrong"))
    print(f"{judge.states} states; fsynced files in them: {files}", file=sys.stderr)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("what", choices=("write", "check"))
    asked.add_argument("fs", choices=tuple(FSCK))
    asked.add_argument("--options", default="rw", help="of the mount, such as nobarrier")
    asked.add_argument("--rounds", type=int, default=40, help="how much is written")
    given = asked.parse_args()
    if (uri := os.environ.get("FFSLAB_NBD")) is None:
        sys.exit("FFSLAB_NBD is not set: start this by `ffslab card serve ... -- ` or `ffslab card cuts ... -- `")
    with tempfile.TemporaryDirectory(prefix="ffslab-guest-") as folder:
        exports = ("", "marks") if given.what == "write" else ("",)
        machine = machine_on(uri, given.fs, Path(folder) / "machine", exports)
        try:
            if given.what == "write":
                write(machine, given.fs, given.options, given.rounds)
            else:
                check(machine, given.fs, given.options)
        finally:
            machine.stop()


if __name__ == "__main__":
    main()
