"""Runs that are written down while they go on: a timeline for Perfetto, and the stacks of flame graphs."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from ffslab._native import InputError
from ffslab.files.os_errors import reason


@dataclass(frozen=True)
class Observe:
    """What is to be written down of the measured steps of a run; stacks (`Run.stacks`) are in any case.

    `timeline`: the file, which https://ui.perfetto.dev opens. `every`: draw what happens in a call of one in so many;
    the timeline says so.
    """

    timeline: Path | None = None
    every: int = 1

    def native(self) -> tuple[Path | None, int]:
        """File and step, as the native half takes them."""
        return None if self.timeline is None else self.timeline.absolute(), self.every

    def check(self) -> None:
        """Refuses a file that cannot be written. Call it before a long run."""
        if self.timeline is not None:
            check_file(self.timeline, f"--timeline {self.timeline}")

    def part(self, number: int, count: int) -> Observe:
        """That of one of `count` machines that run one after the other, from 1."""
        if self.timeline is None or count == 1:
            return self
        return Observe(self.timeline.with_name(f"{self.timeline.name}.{number}"), self.every)

    def join(self, count: int) -> None:
        """Puts their files together."""
        if self.timeline is None or count == 1:
            return
        parts = [self.part(number, count).timeline for number in range(1, count + 1)]
        try:
            with self.timeline.open("wb") as whole:
                for part in parts:
                    if part is not None:
                        with part.open("rb") as read:
                            shutil.copyfileobj(read, whole)
                        part.unlink()
        except OSError as error:
            raise InputError(f"{self.timeline}: cannot be written: {reason(error)}") from None


def check_file(path: Path, said: str) -> None:
    """Refuses what no timeline can be written to: a folder, a pipe, a place in no folder."""
    if path.exists() and not path.is_file():
        raise InputError(f"{said}: is a folder, or no file of bytes: name a file")
    if not path.absolute().parent.is_dir():
        raise InputError(f"{said}: {path.parent}: no such folder")
