"""What ffslab finds on this machine, and what is missing for what. Nothing is loaded, run or changed."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from ffslab._native import __version__
from ffslab.answers.doctor import DoctorAnswer, DoctorRow
from ffslab.cli.needs import required
from ffslab.measured.reference import kit
from ffslab.measured.reference.architecture import ARCHITECTURES
from ffslab.text.tables import text_table

# What packages of Python are for, where that is not everything.
PURPOSES = {
    "salib": "sweep: sensitivity of many axes",
    "apsw": "sqlite, trace compare, reproduce",
    "dask-jobqueue": "sweep and advise --batch",
    "distributed": "sweep and advise --scheduler",
    "matplotlib": "ageing --out, policy amplification --out",
    "pandas": "sweep, advise, lifetime, diff, calibrate, store ls; data frames in Python",
    "pyarrow": "tables of results folders",
    "rich": "progress bars",
    "scipy": "sweep, advise, ageing, calibrate",
    "statsmodels": "calibrate",
    "typer": "the command",
}
# Programs: what they are for, and Debian's package.
PROGRAMS = {
    "fusermount3": ("mount, for users who are not root", "fuse3"),
    "cc": ("reference run: the program that does the steps", "gcc libc6-dev"),
    "busybox": ("reference run", "busybox-static"),
    **{each.qemu: (f"reference run --arch {each.name}", each.qemu_package) for each in ARCHITECTURES.values()},
    "strace": ("recording programs for replay", "strace"),
}


def looked() -> DoctorAnswer:
    """What is there and what is not."""
    rows = [*_packages(), *_system(), *_programs()]
    return {
        "ffslab": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "is_well": all(row["found"] is not None for row in rows if row["is_needed"]),
        "rows": rows,
    }


def text_of(answer: DoctorAnswer) -> str:
    """The same for people."""
    head = f"ffslab {answer['ffslab']}, Python {answer['python']}, {answer['system']}"
    cells = [[row["name"], row["found"] or "missing", row["purpose"]] for row in answer["rows"]]
    missing = [row for row in answer["rows"] if row["found"] is None]
    lines = [head, "", text_table(["what", "found", "for"], cells, "lll")]
    if not missing:
        return "\n".join([*lines, "", "Nothing is missing."])
    needed = "; the command needs all of its own packages" if not answer["is_well"] else ""
    lines += ["", f"Missing{needed}:"]
    for row in missing:
        lines.append(f"  {row['name']} ({row['purpose']}): {row['install'] or 'this system cannot have it'}")
    return "\n".join(lines)


def _packages() -> Iterator[DoctorRow]:
    for name, extra in required():
        try:
            found = metadata.version(name)
        except metadata.PackageNotFoundError:
            found = None
        wanted = name if extra is None else f"'ffslab[{extra}]'"
        yield _row(name, "package", PURPOSES.get(name, "everything"), found, extra is None, f"pip install {wanted}")


def _programs() -> Iterator[DoctorRow]:
    for name, (purpose, package) in PROGRAMS.items():
        found = kit.program(name)
        yield _row(name, "program", purpose, str(found) if found else None, False, _debian(package))


def _system() -> Iterator[DoctorRow]:
    fuse = Path("/dev/fuse")
    is_usable = fuse.exists() and os.access(fuse, os.R_OK | os.W_OK)
    is_linux = platform.system() == "Linux"
    yield _row(
        str(fuse), "system", "mount", str(fuse) if is_usable else None, False, "modprobe fuse" if is_linux else None
    )
    kernel = kit.find_kernel()
    install = _debian(ARCHITECTURES["amd64"].kernel_package) if is_linux else None
    found = None if kernel is None else str(kernel.image)
    yield _row("a kernel with nandsim", "system", "reference run", found, False, install)


def _debian(package: str) -> str:
    if kit.program("apt-get") is None:
        return f"the package that Debian calls {package}"
    return kit.install_command(package)


def _row(name: str, kind: str, purpose: str, found: str | None, is_needed: bool, install: str | None) -> DoctorRow:
    return {
        "name": name,
        "kind": kind,
        "purpose": purpose,
        "found": found,
        "is_needed": is_needed,
        "install": install,
    }
