"""A progress bar on stderr, shown only to people, and not with `--quiet`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ffslab.terminal.printing import Talk, talk
from ffslab.text.quoting import one_line

# Takes the finished share (0 to 1) and what is done now.
Show = Callable[[float, str], object]


@contextmanager
def progress_bar(label: str) -> Iterator[Callable[[float], object] | None]:
    """Yields a function that takes the finished share (0 to 1), or `None` when stderr is no terminal."""
    with progress_of_parts(label) as show:
        yield None if show is None else lambda share: show(share, label)


@contextmanager
def progress_of_parts(label: str = "") -> Iterator[Show | None]:
    """Yields a function that takes the finished share and a new label, or `None` when nobody looks."""
    if not sys.stderr.isatty() or talk() is Talk.QUIET:
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    # Labels are no markup: they may hold brackets.
    text = TextColumn("{task.description}", markup=False)
    columns = (text, BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(one_line(label), total=1.0)
        yield lambda share, now: bar.update(task, completed=share, description=one_line(now))
