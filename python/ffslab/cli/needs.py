"""Which packages beside the core's a verb needs, and which extra of ffslab brings them. What is missing is one line."""

from __future__ import annotations

import re
from collections import Counter
from importlib import metadata, util

from ffslab._native import InputError

# Verbs, and options of verbs, that cannot do without packages of extras, by the names with which they are imported: it
# is said before they begin. What stands not here is said when it is imported (`said_of_import`).
NEEDS = {
    "advise": ("pandas", "scipy"),
    "ageing": ("scipy",),
    "calibrate": ("pandas", "scipy", "statsmodels"),
    "diff": ("pandas",),
    "lifetime --out": ("pandas",),
    "policy amplification --out": ("matplotlib",),
    "reproduce": ("apsw", "pandas"),
    "sqlite": ("apsw",),
    "store ls": ("pandas",),
    "sweep": ("pandas", "scipy"),
    "trace compare": ("apsw", "pandas"),
    "uflip": ("pandas",),
}
# Extras that nobody needs who does not change ffslab.
OF_DEVELOPERS = ("dev", "docs")
REQUIREMENT = re.compile(r"([\w.-]+)[^;]*(?:;.*extra *== *[\"']([\w-]+)[\"'])?")


def check_packages(verb: str) -> None:
    """Refuses a verb whose packages are not installed, with the extras that bring them.

    Raises `ffslab.InputError`.
    """
    missing = [name for name in NEEDS.get(verb, ()) if util.find_spec(name) is None]
    if missing:
        raise InputError(f"{verb}: {_said_of(missing)}")


def said_of_import(error: ModuleNotFoundError) -> str | None:
    """What to install for a module that was not found; `None`: ffslab does not say that it needs it."""
    name = (error.name or "").partition(".")[0]
    return _said_of([name]) if _distribution(name) in dict(required()) else None


def _said_of(modules: list[str]) -> str:
    extra_of = dict(required())
    extras = sorted({extra for name in modules if (extra := extra_of.get(_distribution(name)))})
    wanted = f"'ffslab[{','.join(extras)}]'" if extras else " ".join(modules)
    return (
        f"needs {', '.join(modules)}, which {'is' if len(modules) == 1 else 'are'} not installed: pip install {wanted}"
    )


def _distribution(module: str) -> str:
    return module.lower().replace("_", "-")


def required() -> list[tuple[str, str | None]]:
    """The packages that ffslab says it needs, in lower case, and of the extras that bring one the smallest.

    Raises `ffslab.InputError` when ffslab is not installed as a package.
    """
    try:
        lines = metadata.requires("ffslab") or []
    except metadata.PackageNotFoundError:
        raise InputError(
            "doctor: ffslab is not installed as a package, which says what it needs: pip install ffslab"
        ) from None
    found = [(match[1].lower(), match[2]) for line in lines if (match := REQUIREMENT.match(line))]
    sizes = Counter(extra for _, extra in found)
    smallest: dict[str, str | None] = {}
    for name, extra in sorted(found, key=lambda each: (each[1] is not None, sizes[each[1]])):
        if extra not in OF_DEVELOPERS:
            smallest.setdefault(name, extra)
    return list(smallest.items())
