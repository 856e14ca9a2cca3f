"""Steps of `ffslab.steps` that many experiments have, and experiments as data, which `Experiment.from_data` takes.

Nothing is checked here: the one reader of experiments, which is native, says what is wrong with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ffslab import steps

if TYPE_CHECKING:
    from ffslab.answers.typed_keys import OpenFlag
    from ffslab.steps import Step

# An experiment, or a table of one.
Data = dict[str, object]

MOUNT = steps.mount()
SYNC = steps.sync()
DROP_CACHES = steps.drop_caches()


def opened(file: str, *flags: OpenFlag) -> Step:
    """Opens a file."""
    return steps.open(file=file, flags=flags)
