"""Which lines the tests reach, by room: crates and the Python package.

    make coverage [REV=COMMIT]

A commit is built in `target/coverage` with counters in it, and what `make test` runs is run: the programs of the
crates' own tests, then the tests of Python, which reach the crates through the native module. It takes three to four
times as long as `make test`. The table has for each room its lines, and the shares of lines and regions (pieces of code
without a branch) that ran; of Python lines and branches. It is for reading: what nobody reaches is no fault by itself.

llvm-profdata and llvm-cov must be of rustc's LLVM (Debian: llvm-22). What tests fail is told and left to `make test`.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

from ffslab.text.tables import text_table
from trees import tree_of

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "target/coverage"
TREE = PLACE / "tree"
BUILT = PLACE / "built"
COUNTS = PLACE / "counts"
AS_TESTED = ["--release", "--config", ".ci/testing.toml"]
PROGRAMS = ["--workspace", "--exclude", "ffslab-python", *AS_TESTED, "--lib", "--bins", "--tests"]
MODULE = ["build", "--release", "-p", "ffslab-python", "--lib", "--features", "pyo3/extension-module"]
# Each process of Python that the environment asks counts, those that tests begin included.
BEGINS = (
    'import os\nif os.environ.get("COVERAGE_PROCESS_START"):\n    import coverage\n    coverage.process_startup()\n'
)
SETTINGS = """[run]
source = {package}
data_file = {data}
parallel = true
branch = true
disable_warnings = no-data-collected,module-not-imported,couldnt-parse,module-not-measured
"""
# Of a room: how many, and how many of them ran.
Counts = list[int]


def llvm(tool: str) -> str:
    """The tool of rustc's LLVM."""
    told = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout
    (version,) = re.findall(r"^LLVM version: (\d+)", told, re.MULTILINE)
    name = f"{tool}-{version}"
    if shutil.which(name) is None:
        sys.exit(f"coverage: there is no {name}: install LLVM {version} (Debian: llvm-{version})")
    return name


def run(words: list[str], **more: str) -> None:
    """Runs a command in the tree; one that fails is told."""
    environment = {**os.environ, "CARGO_INCREMENTAL": "0", "PYO3_PYTHON": sys.executable, **more}
    code = subprocess.run(words, cwd=TREE, env=environment, check=False).returncode
    if code:
        print(f"coverage: {' '.join(words[:3])} ...: exit code {code}", file=sys.stderr)


def counted() -> list[Path]:
    """Builds the tree, runs its tests, and gives the programs that counted."""
    build = {"RUSTFLAGS": "-C instrument-coverage", "CARGO_TARGET_DIR": str(BUILT)}
    # What build scripts count is of no interest.
    run(["cargo", "test", "--no-run", *PROGRAMS], **build, LLVM_PROFILE_FILE="/dev/null")
    run(["cargo", *MODULE], **build, LLVM_PROFILE_FILE="/dev/null")
    told = subprocess.run(
        ["cargo", "test", "--no-run", "--message-format", "json", *PROGRAMS],
        cwd=TREE, env={**os.environ, **build}, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
    ).stdout  # fmt: skip
    made = [json.loads(line) for line in told.splitlines()]
    programs = [Path(one["executable"]) for one in made if one.get("executable") and one["profile"]["test"]]
    module = BUILT / "release/libffslab_native.so"
    shutil.copy(module, TREE / "python/ffslab/_native.abi3.so")
    run([sys.executable, ".ci/rust_tests.py", *PROGRAMS], **build, LLVM_PROFILE_FILE=f"{COUNTS}/rust-%8m.profraw")
    packages = PLACE / "packages"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--upgrade", "--target", str(packages), "coverage"]
    subprocess.run(pip, check=True)
    (packages / "sitecustomize.py").write_text(BEGINS, encoding="utf-8")
    settings = PLACE / "coveragerc"
    settings.write_text(SETTINGS.format(package=TREE / "python/ffslab", data=COUNTS / "python"), encoding="utf-8")
    run(
        [sys.executable, "-m", "pytest", "--numprocesses", "auto", "--dist", "loadfile", "--no-loadscope-reorder"],
        LLVM_PROFILE_FILE=f"{COUNTS}/python-%4m.profraw",
        COVERAGE_PROCESS_START=str(settings),
        PYTHONPATH=f"{packages}:{TREE / 'python'}",
    )
    return [*programs, module]


def of_crates(programs: list[Path], counts: Iterable[Path]) -> dict[str, Counts]:
    """By crate: lines, those that ran, regions, those that ran; tests themselves are left out."""
    merged = PLACE / "merged.profdata"
    subprocess.run([llvm("llvm-profdata"), "merge", "-sparse", "--failure-mode=all", *counts, "-o", merged], check=True)
    objects = [word for program in programs for word in ("-object", str(program))][1:]
    export = [llvm("llvm-cov"), "export", "-summary-only", f"-instr-profile={merged}", *objects]
    told = json.loads(subprocess.run(export, stdout=subprocess.PIPE, check=True).stdout)
    rooms: dict[str, Counts] = defaultdict(lambda: [0, 0, 0, 0])
    for file in told["data"][0]["files"]:
        found = re.fullmatch(rf"{re.escape(str(TREE))}/crates/(\w+)/src/(.*)", file["filename"])
        if found is None or found[2].endswith("tests.rs") or "/tests/" in found[2]:
            continue
        for at, kind in ((0, "lines"), (2, "regions")):
            rooms[found[1]][at] += file["summary"][kind]["count"]
            rooms[found[1]][at + 1] += file["summary"][kind]["covered"]
    return rooms


def of_package() -> dict[str, Counts]:
    """By room of the package: lines, those that ran, branches, those that ran."""
    environment = {**os.environ, "PYTHONPATH": str(PLACE / "packages")}
    for words in (["combine", "--quiet"], ["json", "--quiet", "-o", str(PLACE / "python.json")]):
        command = [sys.executable, "-m", "coverage", words[0], f"--rcfile={PLACE / 'coveragerc'}", *words[1:]]
        subprocess.run(command, cwd=COUNTS, env=environment, check=True)
    told = json.loads((PLACE / "python.json").read_text(encoding="utf-8"))
    rooms: dict[str, Counts] = defaultdict(lambda: [0, 0, 0, 0])
    for name, file in told["files"].items():
        below = Path(name).parts[Path(name).parts.index("ffslab") :][1:-1]
        sums = file["summary"]
        keys = ("num_statements", "covered_lines", "num_branches", "covered_branches")
        for at, key in enumerate(keys):
            rooms[f"ffslab/{below[0]}" if below else "ffslab"][at] += sums[key]
    return rooms


def table_of(rooms: Mapping[str, Counts], second: str) -> str:
    def percent(ran: int, of: int) -> str:
        return f"{100 * ran / of:.1f}" if of else ""

    every = [sum(one[at] for one in rooms.values()) for at in range(4)]
    rows = [
        [name, f"{lines:,}", percent(ran, lines), percent(pieces_ran, pieces)]
        for name, (lines, ran, pieces, pieces_ran) in [*sorted(rooms.items()), ("all", every)]
    ]
    return text_table(["room", "lines", "ran, %", f"{second} ran, %"], rows, "lrrr")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit", nargs="?", default="HEAD")
    asked = parser.parse_args()
    llvm("llvm-cov")
    shutil.rmtree(COUNTS, ignore_errors=True)
    COUNTS.mkdir(parents=True)
    with tree_of(asked.commit, PLACE):
        programs = counted()
        print(table_of(of_crates(programs, COUNTS.glob("*.profraw")), "regions"), end="\n\n")
        print(table_of(of_package(), "branches"))


if __name__ == "__main__":
    main()
