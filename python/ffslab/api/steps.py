"""Experiments as data, which `Experiment.from_data` takes: steps and tables by the names that people write in TOML.

Nothing is checked here: the one reader of experiments, which is native, says what is wrong with them.
"""

from __future__ import annotations

# A step: its name under "step", its keys.
Step = dict[str, object]
# An experiment, or a table of one.
Data = dict[str, object]


def step(name: str, /, **keys: object) -> Step:
    """A step; a key that is `None` is not said."""
    return {"step": name, **keys}


MOUNT = step("mount")
SYNC = step("sync")
DROP_CACHES = step("drop_caches")


def opened(file: str, *flags: str) -> Step:
    """Opens a file."""
    return step("open", file=file, flags=list(flags))
