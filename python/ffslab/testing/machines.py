"""On which machine a test runs: keys of markers, of a file that they name, of the file that pytest's settings name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ffslab._native import InputError
from ffslab.api.machine import FILE_SYSTEM
from ffslab.api.stack import Stack
from ffslab.files.inputs import read_text
from ffslab.files.toml_tables import read_toml, table_at
from ffslab.testing.figures import Figures

# So long a file system is left alone before the test.
SETTLE_US = 60_000_000

# What a marker says: files, at most one, and keys of `[stack]`.
Said = tuple[tuple[Any, ...], Mapping[str, Any]]


class FlashStack(Stack):
    """A stack that says what was measured on it."""

    def figures(self) -> Figures:
        """What happened in the blocks `with flash_stack.measured("...")` so far.

        Raises `ffslab.InputError` when there was none.
        """
        measurement = self.measurement()
        return Figures.of(measurement.variant, measurement.request_columns)


@dataclass(frozen=True)
class Asked:
    """Keys of `[stack]`, and the steps that prepare it; relative paths in both start at `folder`."""

    keys: Mapping[str, Any] = field(default_factory=dict)
    setup: tuple[Mapping[str, Any], ...] = ()
    folder: Path = Path()

    @classmethod
    def of(cls, said: Iterable[Said], usual: Path | None, folder: Path) -> Asked:
        """What markers say, the nearest last; each holds over those before it. `usual`: the file where none is named.

        Raises `ffslab.InputError` when a file cannot be read, or is none.
        """
        keys: dict[str, Any] = {}
        file = usual
        for files, more in said:
            if len(files) > 1 or not all(isinstance(name, str | Path) for name in files):
                raise InputError('the marker takes one file and keys: flash_stack("stack.toml", fs="ubifs")')
            file = folder / files[0] if files else file
            keys |= more
        asked = cls._from_file(file) if file is not None else cls(folder=folder)
        return cls(dict(asked.keys) | keys, asked.setup, asked.folder)

    @classmethod
    def _from_file(cls, path: Path) -> Asked:
        def read(data: dict[str, Any]) -> Asked:
            if "axes" in data:
                raise InputError("has [axes]: a test has one machine; mark it with each of them")
            setup = data.get("setup", [])
            if not isinstance(setup, list) or not all(isinstance(step, dict) for step in setup):
                raise InputError("`setup` must be tables [[setup]]")
            return cls(table_at(data, "stack"), tuple(setup), path.parent)

        return read_toml(read_text(path, "experiment"), str(path), read)

    def stack(self) -> FlashStack:
        """The machine with its file system mounted, prepared or empty.

        Raises `ffslab.InputError` when a key or a step is wrong.
        """
        stack = FlashStack(**{"fs": FILE_SYSTEM, **self.keys}, base_dir=self.folder)
        for step in self.setup:
            stack._run_step(dict(step))
        if not stack.is_mounted:
            stack.mount()
        # What a new file system does by itself, such as erases of JFFS2, is not the application's.
        stack.sleep(SETTLE_US)
        return stack
