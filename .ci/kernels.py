"""Whether what `make test-kernels` compares is what it compared when it last passed.

    python .ci/kernels.py unchanged    exit code 0 only if it is: nothing has to be run
    python .ci/kernels.py keep         writes that it has passed with what is here

Booting kernels takes longer than all other tests, and cases that they measured are kept and compared in each
`make test` (`tests/measured`). A kernel has something new to say when the bytes that it is to read may be others, or
what asks it.
"""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REFEREE = ROOT / "tests" / "referee"
KEPT = REFEREE / "compared.sha256"
# Who writes and reads what stands on flash, who asks the kernel, what it is asked, and who compares.
INPUTS = (
    *("Cargo.lock", "crates/*/src/*", "profiles", "experiments/reference", "probe"),
    *("python/ffslab/measured", "python/ffslab/images"),
    *("tests/conftest.py", "tests/project/test_packaging.py", "tests/referee"),
)
# Crates whose bytes no kernel is shown: the stores and file systems that Linux does not have, what only tests, draws or
# gives away what others made.
NOT_COMPARED = ("bindgen", "capi", "chip", "conformance", "foreign", "littlefs", "rtems", "stores", "timeline")
HELPER = re.compile(r"^from helpers(?:\.(\w+) import|\s+import (.+))", re.MULTILINE)


def helpers() -> set[str]:
    """The helpers that those who ask the kernel import, and which those import."""
    found: set[str] = set()
    ahead = [ROOT / "tests/conftest.py", ROOT / "tests/project/test_packaging.py", *REFEREE.rglob("*.py")]
    while ahead:
        for name, names in HELPER.findall(ahead.pop().read_text(encoding="utf-8")):
            for each in {part.strip() for part in (name or names).split(",")} - found:
                found.add(each)
                ahead.append(ROOT / "tests" / "helpers" / f"{each}.py")
    return {f"tests/helpers/{name}.py" for name in found}


def of_inputs() -> str:
    """The hash of all files of the inputs that git knows or would take, with their names."""
    left_out = [f":(exclude)crates/{name}" for name in NOT_COMPARED]
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *INPUTS, *helpers(), *left_out]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, check=True).stdout.split(b"\0")
    total = hashlib.sha256()
    for name in sorted(set(filter(None, names))):
        path = ROOT / name.decode()
        if path != KEPT and path.is_file():
            total.update(name + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def main() -> int:
    match sys.argv[1:]:
        case ["keep"]:
            KEPT.write_text(of_inputs() + "\n", encoding="utf-8")
            return 0
        case ["unchanged"]:
            return int(not (KEPT.exists() and KEPT.read_text(encoding="utf-8").strip() == of_inputs()))
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
