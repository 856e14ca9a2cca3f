"""Builds ffslab-board, `inspect` and `extract` for the board itself, as static programs, and says how large they are.

    python packaging/board.py OUT [TARGET...]

Zig compiles and links the C parts. Where rustup has no standard library for a processor (armv7), the compiler builds it
from its own sources, which rustup has (`rust-src`). A target that cannot be built is said, and the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

from wheels import ROOT, has_standard_library

TARGETS = {
    "x86_64": "x86_64-unknown-linux-musl",
    "aarch64": "aarch64-unknown-linux-musl",
    "armv7": "armv7-unknown-linux-musleabihf",
}
PROGRAM_INTERPRETER = 3  # PT_INTERP of elf(5)


def build(rust: str) -> Path:
    """Builds the program for a target and returns it."""
    tools = str(Path(sys.executable).parent)
    environment = os.environ | {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}", "LIBZ_SYS_STATIC": "1"}
    command = ["cargo", "zigbuild", "--quiet", "--package", "ffslab-board", "--profile", "board", "--target", rust]
    if not has_standard_library(rust):
        subprocess.run(["rustup", "--quiet", "component", "add", "rust-src"], cwd=ROOT, check=True)
        # Building the standard library is no stable feature of cargo: this lets the stable compiler do it.
        environment["RUSTC_BOOTSTRAP"] = "1"
        command += ["-Z", "build-std=std,panic_unwind"]
        # What begins and ends a program for musl comes with a standard library of rustup's; here Zig has it.
        flags = f"CARGO_TARGET_{rust.upper().replace('-', '_')}_RUSTFLAGS"
        environment[flags] = "-C link-self-contained=no"
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / rust / "board" / "ffslab-board"


def is_static(program: bytes) -> bool:
    """Whether an ELF file asks for no dynamic linker."""
    is_64 = program[4] == 2
    headers_at, size, count = (
        (*struct.unpack_from("<Q", program, 32), *struct.unpack_from("<HH", program, 54))
        if is_64
        else (*struct.unpack_from("<I", program, 28), *struct.unpack_from("<HH", program, 42))
    )
    kinds = (struct.unpack_from("<I", program, headers_at + number * size)[0] for number in range(count))
    return PROGRAM_INTERPRETER not in kinds


def main() -> int:
    """Builds, checks, says; the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    given = parser.parse_intermixed_args()
    if unknown := set(given.targets) - set(TARGETS):
        parser.error(f"{min(unknown)}: known are {', '.join(TARGETS)}")
    failed = False
    for name in given.targets or TARGETS:
        try:
            made = build(TARGETS[name])
        except subprocess.CalledProcessError as error:
            print(f"board {name}: could not be built: {' '.join(map(str, error.cmd[:3]))}", flush=True)
            failed = True
            continue
        program = made.read_bytes()
        place = given.out / f"ffslab-board-{name}"
        shutil.copy(made, place)
        static = "static" if is_static(program) else "NOT static"
        print(f"board {name}: {place.name}, {len(program) / (1 << 20):.1f} MiB, {static}", flush=True)
        failed = failed or static != "static"
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
