"""Builds the tests of crates and runs their programs, as many at a time as there are cores.

    python .ci/rust_tests.py CARGO-OPTIONS ...

`cargo test` runs one program after the other, and most end with a test that keeps one core busy alone. Those that took
longest the last time begin first: what each took is kept beside the programs.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

RESULT = re.compile(r"^test result: .*", re.MULTILINE)


class Program(NamedTuple):
    """A program of tests. `name`: its crate and what cargo calls the target."""

    name: str
    path: str
    folder: Path


def built(options: list[str]) -> list[Program]:
    """Compiles them; cargo tells on the terminal how far it is."""
    cargo = ["cargo", "test", "--no-run", "--message-format", "json-render-diagnostics", *options]
    ran = subprocess.run(cargo, stdout=subprocess.PIPE, text=True, check=False)
    if ran.returncode:
        sys.exit(ran.returncode)
    messages = [json.loads(line) for line in ran.stdout.splitlines()]
    found = []
    for each in messages:
        if each["reason"] == "compiler-artifact" and each["profile"]["test"] and each["executable"]:
            folder, target = Path(each["manifest_path"]).parent, each["target"]
            found.append(Program(f"{folder.name} {target['kind'][0]} {target['name']}", each["executable"], folder))
    return found


def run(program: Program) -> tuple[float, bool]:
    """Runs one as cargo does, in the folder of its crate, and tells how it ended. What it says is shown if it fails."""
    environment = {**os.environ, "CARGO_MANIFEST_DIR": str(program.folder)}
    began_s = time.monotonic()
    ran = subprocess.run(
        [program.path, "--quiet"],
        cwd=program.folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    took_s = time.monotonic() - began_s
    is_good = ran.returncode == 0
    told = RESULT.search(ran.stdout)
    end = told[0].split("; ")[0] if told and is_good else f"FAILED, exit code {ran.returncode}"
    print("" if is_good else ran.stdout, f"{took_s:6.1f} s  {program.name}: {end}", sep="", flush=True)
    return took_s, is_good


def main() -> int:
    programs = built(sys.argv[1:])
    if not programs:
        sys.exit("there are no programs of tests")
    kept = Path(programs[0].path).parent.parent / "test-times.json"
    times: dict[str, float] = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    programs.sort(key=lambda program: -times.get(program.name, float("inf")))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        ends = dict(zip((program.name for program in programs), pool.map(run, programs), strict=True))
    kept.write_text(json.dumps(times | {name: took_s for name, (took_s, _) in ends.items()}), encoding="utf-8")
    failed = [name for name, (_, is_good) in ends.items() if not is_good]
    print(f"{len(programs)} programs of tests, {len(failed)} failed", *failed, sep="\n  ")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
