"""ffslab: a laboratory for embedded flash file systems.

An experiment describes a storage stack (NAND chip, driver, file system, kernel) and a workload; running it
simulates the whole stack, byte for byte, in virtual time:

    >>> import ffslab
    >>> run = ffslab.Experiment.from_file("experiments/first-run/sqlite.toml").run()
    >>> run.requests.groupby("variant")["latency_us"].mean()

Tables are pandas DataFrames. Column names end in their unit: `_us` microseconds of virtual time, `_B` bytes,
`_KiB` 1024 bytes, `_uJ` microjoule; names without a unit are counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ffslab import sqlite, steps
    from ffslab._native import InputError, PowerCut, __version__
    from ffslab.api.experiment import Experiment
    from ffslab.api.policies import policy
    from ffslab.api.run import Run
    from ffslab.api.stack import Stack
    from ffslab.measured.validation import validate
    from ffslab.store import Store
    from ffslab.studies.advise import Question
    from ffslab.studies.sweep import Study

__all__ = [
    "Experiment",
    "InputError",
    "PowerCut",
    "Question",
    "Run",
    "Stack",
    "Store",
    "Study",
    "__version__",
    "policy",
    "sqlite",
    "steps",
    "validate",
]

# pandas takes longer to import than the command line may take to start: modules are loaded when first used.
_HOMES = {
    **dict.fromkeys(("InputError", "PowerCut", "__version__"), "ffslab._native"),
    "Experiment": "ffslab.api.experiment",
    "Run": "ffslab.api.run",
    "Question": "ffslab.studies.advise",
    "Stack": "ffslab.api.stack",
    "Store": "ffslab.store",
    "Study": "ffslab.studies.sweep",
    "policy": "ffslab.api.policies",
    "validate": "ffslab.measured.validation",
}
_MODULES = frozenset({"sqlite", "steps"})


# Names of many kinds: functions, classes, modules. Who imports one sees its own type below TYPE_CHECKING.
def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"ffslab.{name}")
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'ffslab' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
