"""Another commit of this repository in a folder of its own, beside the working tree."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@contextmanager
def tree_of(commit: str, place: Path) -> Iterator[Path]:
    """The sources of a commit in `place`/tree, with the library of charts that is not among them, until the end."""
    tree = place / "tree"
    remove = ["git", "worktree", "remove", "--force", str(tree)]
    subprocess.run(remove, cwd=ROOT, check=False, capture_output=True)
    subprocess.run(
        ["git", "worktree", "add", "--quiet", "--force", "--detach", str(tree), commit], cwd=ROOT, check=True
    )
    try:
        assets = "python/ffslab/report/assets"
        shutil.copytree(ROOT / assets, tree / assets, dirs_exist_ok=True)
        yield tree
    finally:
        subprocess.run(remove, cwd=ROOT, check=False)
