"""A process that looks into images for others: each in a process of its own, which is watched.

It reads a JSON line per image from its input, `{"does": "inspect", "path": ...}`, and answers with a line. The
processes part from one that never had an image in memory: what its allocator keeps would hide what they take.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

# Of the CPU: a machine with other things to do is no hang.
PATIENCE_S = 10
# Of the clock, for one who waits for ever.
PATIENCE_ASLEEP_S = 300


def memory_B(key: str) -> int:  # noqa: N802
    """A size of this process, from /proc/self/status."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(f"{key}:"):
            return int(line.split()[1]) * 1024
    raise KeyError(key)


def inspect(path: Path) -> str:
    """What `ffslab inspect PATH --deleted` does; the exit code."""
    from ffslab.images.inspection import complaints, inspect_image, text

    facts = inspect_image(path, deleted=True)
    assert text(facts) and facts["lost"] is not None
    return "1" if complaints(facts) else "0"


def load(path: Path, fs: str, oob: bool, inband: bool) -> str:
    """What `ffslab run` does with an experiment that loads the image, mounts it, and uses it."""
    from ffslab import Experiment
    from helpers.jffs2_images import experiment, step

    read = {"op": "read", "pattern": "sequential", "request_B": 65536, "count": 32}
    steps = [step("mount"), step("create", file="new", bytes="64 KiB"), step("open", file="hot", flags=["rdonly"])]
    steps += [step("requests", file="hot", **read), step("close", file="hot"), step("unlink", file="hot")]
    steps += [step("sync"), step("readdir", dir=""), step("umount")]
    setup = step("load", image=str(path), oob=oob).replace("[[measure]]", "[[setup]]")
    extra: dict[str, object] = {"max_beb_per1024": 1} if fs == "ubifs" else {}
    if inband:
        extra["inband_tags"] = True
    Experiment.from_toml(experiment([setup, *steps], fs=fs, partition_blocks=160, **extra), path.parent).run()
    return "0"


def look(wanted: dict[str, Any], out: int) -> None:
    """In a process of its own: what came of it, by how much memory grew at most, seconds of the CPU."""
    from ffslab import InputError

    before_B, program_B = memory_B("VmRSS"), memory_B("RssFile")  # noqa: N806
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    path = Path(wanted["path"])
    try:
        does = wanted["does"]
        outcome = inspect(path) if does == "inspect" else load(path, *(wanted[key] for key in ("fs", "oob", "inband")))
    except InputError as error:
        outcome = "2" if len(str(error)) > 10 and "\n" not in str(error) else f"no clear line: {error}"
    except BaseException as error:  # a panic is none of Exception
        outcome = f"{type(error).__name__}: {error}"
    used = resource.getrusage(resource.RUSAGE_SELF)
    # How much of the program itself it was the first to need says nothing of the image.
    grown_B = memory_B("VmHWM") - before_B - (memory_B("RssFile") - program_B)  # noqa: N806
    answer = {"outcome": outcome, "grown_B": grown_B, "cpu_s": used.ru_utime + used.ru_stime}
    os.write(out, json.dumps(answer).encode())


def answer_to(wanted: dict[str, Any]) -> dict[str, Any]:
    """Waits for the process that looks."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        signal.setitimer(signal.ITIMER_PROF, PATIENCE_S)
        signal.alarm(PATIENCE_ASLEEP_S)
        look(wanted, write_end)
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as answers:
        said = answers.read()
    _, status = os.waitpid(child, 0)
    if said:
        answer: dict[str, Any] = json.loads(said)
        return answer
    hangs = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGPROF, signal.SIGALRM)
    why = "hangs" if hangs else f"crashed, status {status}"
    return {"outcome": why, "grown_B": 0, "cpu_s": PATIENCE_S if hangs else 0}


def main() -> None:
    import ffslab
    from ffslab.images import inspection

    assert ffslab and inspection  # loaded once, before the processes part
    for line in sys.stdin:
        print(json.dumps(answer_to(json.loads(line))), flush=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    main()
