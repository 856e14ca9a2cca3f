"""Test suites of others, run on a mount. They are not part of this repository: the path of a copy, built, comes from
the environment, and a suite that is not there is left out with a sentence that says where it is published.
"""

from __future__ import annotations

import errno
import hashlib
import os
import random
import re
import socket
import stat
import subprocess
import threading
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from helpers.command import ROOT
from helpers.mounted import Mounted, mounted

PJDFSTEST = "FFSLAB_PJDFSTEST"
LTP = "FFSLAB_LTP"
INTEGCK = "FFSLAB_INTEGCK"
PUBLISHED = {
    PJDFSTEST: "the folder of pjdfstest, built: https://github.com/pjd/pjdfstest; autoreconf -ifs, ./configure, make",
    LTP: "the folder of the Linux Test Project, built: https://github.com/linux-test-project/ltp; make autotools, "
    "./configure, make -C testcases/kernel/fs/fsx-linux, .../fsstress and .../doio",
    INTEGCK: "the program integck of mtd-utils: git://git.infradead.org/mtd-utils.git; ./autogen.sh, "
    "./configure --enable-tests, make integck",
}
# The file systems under test are no larger than that where a suite fills them.
SMALL_BLOCKS = 160
# Seconds that a job of growfiles may take; its list says up to two minutes.
GROWFILES_S = 5
# What a job of growfiles may write, in units of 512 B: some would fill any partition in their time.
GROWFILES_MAX = "60000b"
CUT_AFTER = (200, 3000)


def copy_of(name: str) -> Path:
    """Where the user's copy of a suite is; skips the test without one."""
    if os.geteuid() != 0:
        pytest.skip("the suites change owners and make device files: root must run them")
    path = os.environ.get(name)
    if not path:
        pytest.skip(f"{name} is not set: it names {PUBLISHED[name]}")
    if not Path(path).exists():
        pytest.fail(f"{name} = {path}: is not there; it names {PUBLISHED[name]}", pytrace=False)
    return Path(path).resolve()


# What fails of pjdfstest by the file systems' own nature; the reasons stand in docs/mount.md, "Foreign suites".
_SECONDS = {"utimensat/08.t": {5, 6}}
_CTIME = {
    "link/00.t": {134, 141, 148, 155, 162},
    "rename/23.t": {7, 15, 23, 31, 39},
    "unlink/00.t": {29, 34, 39, 44, 49, 110},
}
_TRUNCATE = {"truncate/00.t": {15}}
PJDFSTEST_FAILS: dict[str, dict[str, set[int]]] = {
    "jffs2": _SECONDS | _CTIME | _TRUNCATE | {"symlink/02.t": {6, 7}, "symlink/03.t": {1, 2}, "utimensat/09.t": {5}},
    "yaffs2": _SECONDS
    | _CTIME
    | _TRUNCATE
    | {"symlink/02.t": {1, 2, 6, 7}, "symlink/03.t": {1, 2}, "rename/24.t": {4, 5, 8, 9}},
    "ubifs": _SECONDS,
}


# ---- pjdfstest ------------------------------------------------------------------------------------------------


def pjdfstest(copy: Path, folder: Path) -> tuple[int, dict[str, set[int]]]:
    """Runs all tests in `folder`: how many there were, and the numbers of the failed ones by file."""
    ran = subprocess.run(["prove", "-r", str(copy / "tests")], cwd=folder, capture_output=True, text=True, check=False)
    total = re.search(r"^Files=\d+, Tests=(\d+)", ran.stdout, re.MULTILINE)
    assert total is not None, ran.stdout + ran.stderr
    failed: dict[str, set[int]] = {}
    summary = ran.stdout.partition("Test Summary Report")[2]
    for part in re.split(r"^(?=\S+\.t\s+\(Wstat)", summary, flags=re.MULTILINE)[1:]:
        name = "/".join(Path(part.split(maxsplit=1)[0]).parts[-2:])
        numbers = re.search(r"Failed tests?: +([0-9,\-\s]+)", part)
        spans = re.findall(r"(\d+)(?:-(\d+))?", numbers.group(1)) if numbers else []
        found = {number for first, last in spans for number in range(int(first), int(last or first) + 1)}
        if found or "Wstat: 0 " not in part:
            failed[name] = found
    return int(total.group(1)), failed


# ---- the Linux Test Project -----------------------------------------------------------------------------------


def fsx(copy: Path, folder: Path, operations: int) -> subprocess.CompletedProcess[str]:
    program = copy / "testcases/kernel/fs/fsx-linux/fsx-linux"
    environment = {**os.environ, "TMPDIR": str(folder)}
    command = [str(program), "-N", str(operations), "-l", "4"]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)


def fsstress(copy: Path, folder: Path, seed: int, operations: int) -> None:
    program = copy / "testcases/kernel/fs/fsstress/fsstress"
    command = [str(program), "-d", str(folder), "-n", str(operations), "-p", "4", "-s", str(seed), "-c"]
    subprocess.run(command, check=True, capture_output=True)


def growfiles(copy: Path, folder: Path) -> list[str]:
    """Runs the jobs of the project's own list; the names of those that failed, with what they said."""
    programs = copy / "testcases/kernel/fs/doio"
    environment = {**os.environ, "TMPDIR": str(folder), "PATH": f"{programs}:{os.environ['PATH']}"}
    failed = []
    jobs = [line for line in (copy / "runtest/fs").read_text().splitlines() if "growfiles" in line]
    assert jobs
    for job in jobs:
        name, _, command = job.partition(" ")
        shorter = re.sub(r"-L (\d+)", lambda found: f"-L {min(int(found.group(1)), GROWFILES_S)}", command)
        if " -B " not in shorter:
            shorter = shorter.replace("growfiles ", f"growfiles -B {GROWFILES_MAX} ", 1)
        ran = subprocess.run(
            ["sh", "-c", shorter], cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
        if ran.returncode != 0:
            failed.append(f"{name}: {(ran.stdout + ran.stderr).strip()[-300:]}")
    return failed


def tree(folder: Path) -> dict[str, tuple[object, ...]]:
    """What a folder holds, to be compared with itself later."""
    found: dict[str, tuple[object, ...]] = {}
    for place, folders, files in os.walk(folder):
        for name in [*folders, *files]:
            path = Path(place) / name
            now = path.lstat()
            content = ""
            if stat.S_ISREG(now.st_mode):
                content = hashlib.sha256(path.read_bytes()).hexdigest()
            elif stat.S_ISLNK(now.st_mode):
                content = str(path.readlink())
            size = 0 if stat.S_ISDIR(now.st_mode) else now.st_size
            facts = (now.st_mode, now.st_nlink, now.st_uid, now.st_gid, size, int(now.st_mtime), content)
            found[str(path.relative_to(folder))] = facts
    return found


def without_times(found: dict[str, tuple[object, ...]]) -> dict[str, tuple[object, ...]]:
    """The same without times of modification."""
    return {name: (*facts[:5], *facts[6:]) for name, facts in found.items()}


# ---- integck of mtd-utils -------------------------------------------------------------------------------------


@dataclass
class Remounting:
    """Unmounts and mounts for a program that wants to do that by itself; the chip's content is kept in a file."""

    folder: Path
    fs: str
    # The power is cut in every mount but the last.
    cuts: int = 0
    seed: int = 1
    mounts: int = 0
    mount: Mounted | None = None
    ended: threading.Event = field(default_factory=threading.Event)
    _held: ExitStack = field(default_factory=ExitStack)

    @property
    def image(self) -> Path:
        return self.folder / "nand.bin"

    def begin(self) -> Mounted:
        """Mounts, with a power cut to come if there are some left."""
        again = ["--image", self.image] if self.image.exists() else ["--blocks", str(SMALL_BLOCKS)]
        chance = random.Random(self.seed * 1000 + self.mounts)
        # The first mount is only tried by the program.
        cut = ["--power-cut-after", str(chance.randint(*CUT_AFTER)), "--seed", str(self.mounts)]
        options = cut if 0 < self.mounts <= self.cuts else []
        self.mounts += 1
        self.mount = self._held.enter_context(mounted(self.folder, self.fs, *again, "--save", self.image, *options))
        return self.mount

    def end(self) -> None:
        self._held.close()
        self.mount = None

    def serve(self, listener: socket.socket) -> None:
        """Answers wishes until the socket is closed, or all power cuts are done."""
        while True:
            try:
                line, _ = listener.accept()
            except OSError:
                return
            with line:
                wish = line.recv(64)
                answer = 0
                if wish == b"umount\n":
                    self.end()
                elif self.cuts and self.mounts > self.cuts:
                    # Enough: the program, which would go on for ever, gets no answer and is ended.
                    self.ended.set()
                    line.recv(1)
                    return
                else:
                    try:
                        self.begin()
                    except AssertionError as error:
                        print(error)
                        answer = errno.EINVAL
                line.sendall(f"{answer}\n".encode())


def integck(copy: Path, folder: Path, fs: str, *options: str, cuts: int = 0) -> tuple[int | None, str]:
    """Runs it: its exit code, `None` when it was ended after `cuts` power cuts; and what it printed."""
    source = ROOT / "tests/foreign" / "remount.c"
    library = folder / "remount.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    remounting = Remounting(folder, fs, cuts)
    mount = remounting.begin()
    place = folder / "socket"
    with socket.socket(socket.AF_UNIX) as listener, (folder / "printed").open("w+") as printed:
        listener.bind(str(place))
        listener.listen()
        server = threading.Thread(target=remounting.serve, args=(listener,))
        server.start()
        environment = {
            **os.environ,
            "LD_PRELOAD": str(library),
            "FFSLAB_TEST_SOCKET": str(place),
            "FFSLAB_TEST_FS": fs,
        }
        command = [str(copy), *(["-p"] if cuts else []), *options, str(mount.place)]
        program = subprocess.Popen(command, cwd="/", env=environment, stdout=printed, stderr=subprocess.STDOUT)
        code: int | None = None
        while code is None and not remounting.ended.is_set():
            with suppress(subprocess.TimeoutExpired):
                code = program.wait(timeout=0.2)
        if code is None:
            program.kill()
            program.wait()
        listener.shutdown(socket.SHUT_RDWR)
        server.join()
        remounting.end()
        printed.seek(0)
        return code, printed.read()
