"""Sources of a user compiled to a library, with the C file of ours that includes them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ffslab._native import InputError
from ffslab.files.os_errors import reason

PATHS = Path(__file__).with_name("paths")
# C files of ours say what flash operations are for by functions of the sources. Not each version has all of them.
LABELS = re.compile(r"^    \{\(const void \*\)(\w+),", re.MULTILINE)
NO_FUNCTION = "ffslab_no_function"
FLAGS = ["-std=gnu11", "-O2", "-g1", "-fPIC", "-shared", "-Wl,-Bsymbolic", "-w", "-finstrument-functions"]


class CompilerError(InputError):
    """The compiler refuses the sources. `said`: its own words."""

    def __init__(self, command: Sequence[str], said: str) -> None:
        super().__init__(f"{command[0]}: does not compile the sources; what it says stands above")
        self.said = said


def demand_files(source: Path, names: Sequence[str], project: str, sign: str) -> None:
    """Raises `ffslab.InputError` when a folder lacks one of the files."""
    missing = [name for name in names if not (source / name).is_file()]
    if missing:
        raise InputError(f"{source}: no sources of {project} ({missing[0]} is missing): name the folder with {sign}")


def text_of(source: Path, names: Sequence[str]) -> str:
    """All of these files."""
    try:
        return "".join((source / name).read_text(encoding="utf-8", errors="replace") for name in names)
    except OSError as error:
        raise InputError(f"{source}: cannot be read: {reason(error)}") from None


def lacking(glue: Path, text: str) -> list[str]:
    """Another name for each function of the table in `glue` that the sources `text` do not have."""
    labels = LABELS.findall(glue.read_text(encoding="utf-8"))
    # A call also counts as sign of a function: whatever is called is there.
    return [f"-D{label}={NO_FUNCTION}" for label in labels if not re.search(rf"\b{label}\s*\(", text)]


def compile_library(
    glue: Path, options: Sequence[str], if_known: Sequence[str], out: Path, compiler: str | None
) -> None:
    """Compiles a file of ours, which includes the user's, to the library `out`.

    Raises `ffslab.InputError` without a compiler or a folder to write into, and `CompilerError` when it refuses the
    sources.
    """
    named = compiler or os.environ.get("CC") or "cc"
    try:
        cc = shlex.split(named)
    except ValueError as error:
        raise InputError(f"CC={named}: is no command of a shell: {str(error).lower()}") from None
    if not out.parent.is_dir():
        raise InputError(f"--out {out}: there is no folder {out.parent}: make it, or name another file")
    if out.is_dir():
        raise InputError(f"--out {out}: is a folder: name a file in it, such as {out / 'own.so'}")
    try:
        with tempfile.TemporaryDirectory(dir=out.parent) as place:
            fresh = Path(place) / out.name
            command = [*cc, *FLAGS, *_known(cc, if_known, place), *options, str(glue), "-o", str(fresh)]
            done = _ran(command)
            if done.returncode != 0:
                raise CompilerError(command, done.stderr)
            # A process that has loaded the library of this name keeps the old one.
            fresh.replace(out)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {reason(error)}") from None


def _ran(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except FileNotFoundError:
        raise InputError(f"{command[0]}: there is no such C compiler: install one, or name it with CC") from None
    except OSError as error:
        raise InputError(f"{command[0]}: cannot be run as the C compiler: {reason(error)}") from None


def _known(cc: Sequence[str], wanted: Sequence[str], place: str) -> Sequence[str]:
    """The options `wanted`, or none if the compiler does not know them."""
    empty = Path(place) / "empty.c"
    empty.write_text("int empty;\n", encoding="utf-8")
    tried = [*cc, "-Werror", "-finstrument-functions", *wanted, "-c", str(empty), "-o", f"{place}/empty.o"]
    return wanted if _ran(tried).returncode == 0 else []
