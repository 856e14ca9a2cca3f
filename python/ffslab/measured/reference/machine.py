"""The virtual machine: boots the kernel once, then runs jobs (shell scripts) one after the other."""

from __future__ import annotations

import ctypes
import os
import selectors
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ffslab.measured.reference import initramfs
from ffslab.measured.reference.kit import Kit
from ffslab.measured.reference.unpacked import boot_file

MEMORY = "1024M"  # nandsim keeps the programmed pages of its chip in the kernel's memory
# What the guest writes into time stamps does not depend on the day. And the clock chip goes as the machine does: how
# long the boot waits for it must not depend on the host.
CLOCK = "base=2030-01-01T00:00:00,clock=vm"
BOOT_S_MAX = 180
JOB_S_MAX = 240
TAIL_LINES = 40
# Notices and worse go to the console, so that a hang leaves its last words there. The log has room for a line about
# each operation of a chip.
COMMAND_LINE = "loglevel=6 log_buf_len=16M panic=-1 nokaslr random.trust_cpu=on"


class GuestError(Exception):
    """The kernel refused something, or hung; the message holds the last lines of what it said."""


@dataclass(frozen=True)
class Done:
    """A job that ended with status 0."""

    folder: Path  # what the job left in its folder
    log: str  # what its commands printed
    kernel_log: list[str]  # what the kernel said meanwhile, without time stamps


def icount(instructions_per_us: int | None, boot: int = 0) -> list[str]:
    """QEMU's options for a clock that counts instructions: 1000, 500, 250 ... per virtual microsecond. When nothing
    can run, the clock jumps to the next timer. Until a guest meets its host, all its boots with the same number `boot`
    are the same to the ns."""
    if instructions_per_us is None:
        return []
    shift = (1000 // instructions_per_us).bit_length() - 1
    assert 1000 >> shift == instructions_per_us, "a power of two of nanoseconds is what one instruction takes"
    # QEMU passes a seed for random numbers to the kernel, which is to be the same again, too.
    return ["-icount", f"shift={shift},sleep=off", "-seed", str(1 + boot)]


LIBC = ctypes.CDLL(None)


def die_with_parent() -> None:
    """Asks Linux to kill this process when the one that started it has gone (PR_SET_PDEATHSIG of prctl(2))."""
    LIBC.prctl(1, signal.SIGKILL)


class Machine:
    """A running guest. `folder` holds the files of its jobs; the caller removes it.

    `guest_script` is /guest.sh in the guest, whose functions jobs may call; called with the word `clean_up` it undoes
    what a job left. `programs`: further executable files, by their path in the guest. `instructions_per_us`: time in
    the guest is the number of instructions (see [`icount`]), so that a run can be repeated; otherwise the host's.
    `kernel_arguments`: further words of the kernel's command line. `boot`: of several boots which one this is; each has
    random numbers of its own.
    """

    def __init__(
        self,
        kit: Kit,
        folder: Path,
        guest_script: bytes,
        programs: Mapping[str, bytes] | None = None,
        instructions_per_us: int | None = None,
        kernel_arguments: str = "",
        boot: int = 0,
    ) -> None:
        self.folder = folder
        self.kernel_arguments = kernel_arguments
        self._icount = icount(instructions_per_us, boot)
        self.jobs = folder / "jobs"
        self.console = folder / "console.log"
        self._kit = kit
        self._count = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._said = b""
        self.jobs.mkdir(parents=True)
        (folder / "initramfs").write_bytes(initramfs.build(kit, {"guest.sh": guest_script, **(programs or {})}))

    def first_done(self) -> Done:
        """What the program /first.sh (among `programs`) left, once the machine has said "ready" (see `first_jobs.py`).

        Raises `GuestError` when a command of it failed.
        """
        job = self.jobs / "first"
        status = text_of(job / "status").strip()
        if status != "0":
            raise GuestError(f"a command of the first job failed (status {status})\n{self.story(job)}")
        return Done(job, text_of(job / "log"), kernel_lines(text_of(job / "dmesg")))

    def run(self, script: str, files: Mapping[str, Path | bytes] | None = None, timeout_s: float = JOB_S_MAX) -> Done:
        """Runs a script (`sh -eu`) in a folder that holds `files`; boots when the machine is not running.

        Raises `GuestError` when a command of it fails or it takes too long.
        """
        if self._process is None:
            self._boot()
        self._count += 1
        job = self.jobs / f"{self._count:03}"
        job.mkdir()
        for name, content in (files or {}).items():
            if isinstance(content, bytes):
                (job / name).write_bytes(content)
            else:
                shutil.copyfile(content, job / name)
        (job / "job.sh").write_text(f". /guest.sh\n{script}\n", encoding="utf-8")
        self._send(job.name)
        try:
            answer = self._answer(timeout_s)
        except GuestError as error:
            self.stop()
            raise GuestError(f"{error}\n{self.story(job)}") from None
        if answer != "done 0":
            raise GuestError(f"a command of the job failed ({answer})\n{self.story(job)}")
        return Done(job, text_of(job / "log"), kernel_lines(text_of(job / "dmesg")))

    def stop(self) -> None:
        """Ends the guest; the next job boots again."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.communicate()
        self._said = b""

    def start(self) -> int:
        """Starts to boot, and returns a file that can be read when there is something to `hear`."""
        share = f"local,path={self.jobs},mount_tag=host,security_model=none,multidevs=remap"
        board = self._kit.architecture
        # A word that the kernel does not know becomes a variable of the first process.
        words = (
            f"console={board.console} {COMMAND_LINE} {board.arguments} JOBS_TTY={board.jobs} {self.kernel_arguments}"
        )
        command: list[str | Path] = [self._kit.qemu, *board.board, "-accel", "tcg", *self._icount]
        command += ["-smp", "1", "-m", MEMORY]
        command += ["-nodefaults", "-no-user-config", "-no-reboot", "-display", "none", "-rtc", CLOCK]
        command += [
            "-kernel",
            boot_file(self._kit.kernel.image),
            "-initrd",
            self.folder / "initramfs",
            "-append",
            words,
        ]
        command += ["-serial", f"file:{self.console}", *board.jobs_port, "-virtfs", share]
        pipe = subprocess.PIPE
        # Ctrl-C is for us, who then end the guest; and should we be killed, so is it.
        self._process = subprocess.Popen(
            command,
            stdin=pipe,
            stdout=pipe,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=die_with_parent,
        )
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    def _boot(self) -> None:
        self.start()
        try:
            answer = self._answer(BOOT_S_MAX)
        except GuestError as error:
            self.stop()
            raise GuestError(f"booting: {error}\n{self.story()}") from None
        if answer != "ready":
            self.stop()
            raise GuestError(f"booting: {answer}\n{self.story()}")

    def _send(self, line: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def _answer(self, timeout_s: float) -> str:
        """The guest's next line."""
        assert self._process is not None
        assert self._process.stdout is not None
        deadline = time.monotonic() + timeout_s
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while True:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise GuestError(f"no answer after {timeout_s:.0f} s")
                if lines := self.hear():
                    return lines[0]

    def hear(self) -> list[str]:
        """The lines that the guest has just said to their end. Waits until it says something."""
        assert self._process is not None
        assert self._process.stdout is not None
        piece = os.read(self._process.stdout.fileno(), 4096)
        if not piece:
            raise GuestError(f"the virtual machine ended: {self._said.decode(errors='replace').strip()}")
        *lines, self._said = (self._said + piece).split(b"\n")
        return [line.decode(errors="replace").strip() for line in lines]

    def story(self, job: Path | None = None) -> str:
        """The last lines of the console, and of what a job and the kernel said meanwhile."""
        parts = [("console", self.console)]
        if job is not None:
            parts += [("job", job / "log"), ("kernel", job / "dmesg")]
        return "\n".join(f"---- {name} ----\n{tail(text_of(path))}" for name, path in parts)


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""


def tail(text: str) -> str:
    return "\n".join(text.splitlines()[-TAIL_LINES:])


def kernel_lines(text: str) -> list[str]:
    """Lines of dmesg without their time stamps."""
    return [line.partition("] ")[2] if line.startswith("[") else line for line in text.splitlines()]
