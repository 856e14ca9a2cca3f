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

from typing import TYPE_CHECKING, Any

from ffslab._native import InputError, __version__

if TYPE_CHECKING:
    from ffslab.experiment import Experiment, Run
    from ffslab.validation import validate

__all__ = ["Experiment", "InputError", "Run", "__version__", "validate"]

# pandas takes longer to import than the command line may take to start: modules are loaded when first used.
_HOMES = {"Experiment": "ffslab.experiment", "Run": "ffslab.experiment", "validate": "ffslab.validation"}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'ffslab' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
