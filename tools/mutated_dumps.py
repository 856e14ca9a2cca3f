"""Damaged dumps of every kind at `extract` and `inspect`, many in a process.

`python tools/mutated_dumps.py --first 0 --count 50000`. The images and what is asked of each are those of
`tests/images/test_mutated_dumps.py`, which starts a process for each and takes four times as long. What goes wrong is
printed, and its image is kept in `--keep`.
"""

from __future__ import annotations

import argparse
import mmap
import os
import resource
import shutil
import signal
import struct
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import IO, NoReturn

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/images")]

import test_mutated_dumps as dumps  # noqa: E402
from helpers.mutations import Image  # noqa: E402
from hostile import runner  # noqa: E402
from test_hostile import Call  # noqa: E402

SECONDS_MAX = 20
BYTES_MAX = 1 << 30
POLL_S = 0.2
FAILED = 3
# What the watcher sees of its worker: the number that is read, seconds of the CPU at its begin, how many went wrong.
SEEN = struct.Struct("<Qdq")
Made = Mapping[str, tuple[Image, dumps.Make]]


def main() -> None:
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--first", type=int, default=0)
    words.add_argument("--count", type=int, default=1000)
    words.add_argument("--keep", type=Path, default=Path("mutated-dumps"))
    given = words.parse_args()
    with tempfile.TemporaryDirectory() as ground:
        made = dumps.kinds(Path(ground))
        runner.load()
        # No program of the host is found: nothing is fetched and no machine starts.
        os.environ.update(PATH="", FFSLAB_STATES="", COLUMNS="120")
        sys.exit(
            1 if watch(range(given.first, given.first + given.count), made, Path(ground), given.keep.resolve()) else 0
        )


def watch(seeds: range, made: Made, ground: Path, keep: Path) -> int:
    """Starts a worker, and another one behind what has hung or died. Returns how many went wrong."""
    seen = mmap.mmap(-1, mmap.PAGESIZE)
    wrong, next_one = 0, seeds.start
    while next_one < seeds.stop:
        seen[: SEEN.size] = SEEN.pack(next_one, 0, 0)
        child = os.fork()
        if child == 0:
            try:
                worker(range(next_one, seeds.stop), made, ground, keep, seen)
            except BaseException:
                # The folder of all is its parent's, and would be cleaned up on the way out.
                os._exit(FAILED)
        while os.waitpid(child, os.WNOHANG) == (0, 0):
            time.sleep(POLL_S)
            _, began, _ = SEEN.unpack(seen[: SEEN.size])
            if runner._computed_s(child) - began > SECONDS_MAX or runner._resident_bytes(child) > BYTES_MAX:
                os.killpg(child, signal.SIGKILL)
        seed, _, told = SEEN.unpack(seen[: SEEN.size])
        wrong += told
        next_one = seed + 1
        if next_one <= seeds.stop:
            wrong += 1
            print(f"{seed}: the process hung, grew beyond {BYTES_MAX >> 20} MiB or died", flush=True)
    return wrong


def worker(seeds: range, made: Made, ground: Path, keep: Path, seen: mmap.mmap) -> NoReturn:
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = os.dup(1)
    codes: Counter[int] = Counter()
    most_bytes, most_s, told = 0, 0.0, 0
    with tempfile.TemporaryFile() as said, Path(os.devnull).open("rb") as nothing:
        os.dup2(nothing.fileno(), 0)
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
        for seed in seeds:
            seen[: SEEN.size] = SEEN.pack(seed, time.process_time(), told)
            folder = ground / "image"
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            (call,) = dumps_of(seed, made, folder)
            began = time.process_time()
            code, text = asked(call["args"], folder, said)
            codes[code] += 1
            most_s = max(most_s, time.process_time() - began)
            most_bytes = max(most_bytes, runner._resident_bytes(os.getpid()))
            faults = judged(code, text, folder, call["args"])
            if faults:
                told += 1
                keep.mkdir(exist_ok=True)
                shutil.copy(folder / call["args"][1], keep)
                os.write(answers, f"{seed}: {', '.join(faults)}: {call['args']}: {text[-300:]!r}\n".encode())
    figures = f"{told} wrong; most memory {most_bytes >> 20} MiB, longest {most_s:.1f} s"
    os.write(answers, f"{len(seeds)} images: exit codes {dict(sorted(codes.items()))}, {figures}\n".encode())
    seen[: SEEN.size] = SEEN.pack(seeds.stop, 0, told)
    os._exit(0)


def dumps_of(seed: int, made: Made, folder: Path) -> list[Call]:
    dumps.kinds = lambda _: made  # type: ignore[assignment]
    return dumps.thrown(folder, range(seed, seed + 1))


def asked(args: list[str], folder: Path, said: IO[bytes]) -> tuple[int, str]:
    """The exit code and what was said by the command, in this process."""
    from ffslab.__main__ import main as command

    os.chdir(folder)
    said.seek(0)
    said.truncate()
    sys.argv = ["ffslab", *args]
    code = 0
    try:
        command()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        code = -1
    sys.stdout.flush()
    sys.stderr.flush()
    said.seek(0)
    return code, said.read().decode("utf-8", "replace")


def judged(code: int, text: str, folder: Path, args: list[str]) -> list[str]:
    faults = []
    if code not in (0, 1, 2):
        faults.append(f"exit code {code}")
    if any(word in text for word in ("Traceback", "panicked", "internal error")):
        faults.append("traceback")
    if dumps.RUST.search(text):
        faults.append("text of Rust")
    if code == 2 and (text.count("\n") != 1 or not text.startswith("ffslab: ")):
        faults.append("not one line of error")
    beside = {path.name for path in folder.iterdir()} - {"key", "target", args[1]}
    return faults + ([f"beside the target: {sorted(beside)}"] if beside else [])


if __name__ == "__main__":
    main()
