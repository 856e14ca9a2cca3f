"""Where initial states of experiments are kept between runs.

In the folder that `FFSLAB_STATES` names, or else in the user's cache folder; `FFSLAB_STATES=` (empty) keeps none.
Files in it may be deleted at any time: a state that is missing is made again. Beyond 4 GiB those that were not used for
longest go.
"""

from __future__ import annotations

import hashlib
import os
from functools import cache
from pathlib import Path

from ffslab import _native

VARIABLE = "FFSLAB_STATES"


def kept() -> tuple[Path, str] | None:
    """The folder, and what tells this build of ffslab from others, whose states may differ; `None`: nothing is kept."""
    named = os.environ.get(VARIABLE)
    if named == "":
        return None
    if named is not None:
        return Path(named), build()
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path("~/.cache").expanduser()) / "ffslab" / "states", build()


@cache
def build() -> str:
    """A hash of the program that simulates."""
    file = _native.__file__
    assert file is not None
    with Path(file).open("rb") as native:
        return hashlib.file_digest(native, "sha256").hexdigest()
