"""C programs on simulated chips: where the headers and libffslab are, and the results that programs write."""

from __future__ import annotations

from pathlib import Path

from ffslab._native import InputError

INCLUDE = Path(__file__).with_name("include")
# What `make lib` makes; packages that were built after it carry it.
LIB = Path(__file__).with_name("lib")
LIBRARIES = ("libffslab.so", "libffslab.dylib", "ffslab.dll")


def library() -> Path:
    """The shared library.

    Raises `ffslab.InputError` when it was not built.
    """
    found = [LIB / name for name in LIBRARIES if (LIB / name).is_file()]
    if not found:
        raise InputError(f"{LIB}: libffslab is not there: `make lib` in the source tree of ffslab builds it")
    return found[0]


def flags() -> list[str]:
    """What a C compiler needs to compile a program and to link it with libffslab.

    Raises `ffslab.InputError` when the library was not built.
    """
    folder = library().parent
    return [f"-I{INCLUDE}", f"-L{folder}", f"-Wl,-rpath,{folder}", "-lffslab"]


def add_report(folder: Path) -> Path:
    """Adds to results of a C program what `ffslab run` writes beside them: tables of variants, report.html.

    Raises `ffslab.InputError` when it is no results folder, or one of another version.
    """
    from ffslab.api.run import Run

    return Run.load(folder).save(folder)
