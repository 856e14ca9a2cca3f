"""Whether what `make test-kernels` compares is what it compared when it last passed.

    python .ci/kernels.py unchanged    exit code 0 only if it is: nothing has to be run
    python .ci/kernels.py keep         writes that it has passed with what is here

Booting kernels takes longer than all other tests, and cases that they measured are kept and compared in each
`make test` (`tests/measured`). A kernel has something new to say when the bytes that it is to read may be others, or
what asks it.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KEPT = ROOT / "tests" / "referee" / "compared.sha256"
# Who writes and reads what stands on flash, who asks the kernel, what it is asked, and who compares.
INPUTS = (
    *("Cargo.lock", "crates/*/src/*", "profiles", "experiments/reference", "probe"),
    *("python/ffslab/measured", "python/ffslab/images"),
    *("tests/conftest.py", "tests/helpers", "tests/project/test_packaging.py", "tests/referee"),
)


def of_inputs() -> str:
    """The hash of all files of the inputs that git knows or would take, with their names."""
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z", *INPUTS]
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
