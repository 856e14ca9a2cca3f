"""`ffslab trace flame`: the flame graph of a results folder, or of the difference of two."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ffslab._native import InputError
from ffslab.api.experiment import Experiment
from ffslab.api.observe import Observe
from ffslab.api.run import Progress, Run
from ffslab.files import results
from ffslab.text import stacks as text

if TYPE_CHECKING:
    from ffslab.answers import Columns


def stacks_of(
    folder: Path, progress: Progress | None = None, tell: Callable[[str], object] | None = None
) -> tuple[Run, Columns]:
    """The results in a folder, and their stacks. A run that was not observed is made again for them, from what stands
    in its folder; it is the same run.

    Raises `ffslab.InputError` when there are no results, or they are none of an experiment and hold no stacks.
    """
    run = Run.load(folder)
    if run.stack_columns is not None:
        return run, run.stack_columns
    if run.summary["generator"] in ("mount", "sqlite"):
        raise InputError(f"{folder}: holds no stacks: run it again with --timeline FILE, which keeps them")
    if tell is not None:
        tell(f"{folder}: holds no stacks, so the run is made again (--timeline keeps them)")
    again = Experiment.from_file(folder / results.RESOLVED).run(progress, any_size=True, observe=Observe())
    if again.stack_columns is None:
        raise InputError(f"{folder}: nothing was measured")
    return run, again.stack_columns


def flame(
    folder: Path,
    weight: str,
    out: Path,
    *,
    against: Path | None = None,
    variant: str | None = None,
    progress: Progress | None = None,
    tell: Callable[[str], object] | None = None,
) -> str:
    """Writes the file that `out` names, and says so: JSON for speedscope if it ends in .json, a page if it ends in
    .html, else collapsed stacks."""
    if out.suffix == ".html":
        return _page(folder, out, against, variant, progress, tell)
    as_json = out.suffix == ".json"
    if against is not None and as_json:
        raise InputError(f"{out}: speedscope has no differences: name a file that does not end in .json")
    run, stacks = stacks_of(folder, progress, tell)
    weights = text.collapsed(stacks, weight, variant)
    if against is not None:
        _, others = stacks_of(against, progress, tell)
        after = text.collapsed(others, weight, variant)
        results.write_text(out, text.difference_text(weights, after))
        return _said(out, weight, len(dict.fromkeys((*weights, *after))), (sum(weights.values()), sum(after.values())))
    if as_json:
        names = [variant] if variant is not None else text.variants_of(stacks)
        profiles = {name: text.collapsed(stacks, weight, name) for name in names}
        results.write_text(out, text.speedscope(profiles, weight, run.summary["title"]))
    else:
        results.write_text(out, text.collapsed_text(weights))
    return _said(out, weight, len(weights), (sum(weights.values()),))


def _page(
    folder: Path,
    out: Path,
    against: Path | None,
    variant: str | None,
    progress: Progress | None,
    tell: Callable[[str], object] | None,
) -> str:
    """A page with all weights, and with `against` the difference."""
    from ffslab.report import flame as drawn

    run, stacks = stacks_of(folder, progress, tell)
    title = run.summary["title"]
    if against is not None:
        _, others = stacks_of(against, progress, tell)
        stacks = _side_by_side([(f"before: {folder}", stacks), (f"after: {against}", others)], variant)
        names = text.variants_of(stacks)
    else:
        names = text.variants_of(stacks) if variant is None else [text.known_variant(stacks, variant)]
    results.write_text(out, drawn.html(title, stacks, names, against is not None))
    return f"{out}: a page of {len(stacks['variant']):,} stacks"


def _side_by_side(of: list[tuple[str, Columns]], variant: str | None) -> Columns:
    """The stacks of one result behind those of another, their variants under names that tell them apart."""
    from ffslab.text.variants import rows_of

    parts = []
    for label, stacks in of:
        names = text.variants_of(stacks) if variant is None else [text.known_variant(stacks, variant)]
        new = {name: f"{label}, {name}" if len(names) > 1 else label for name in names}
        parts.append(rows_of(stacks, new))
    both: Columns = {}
    for name, column in parts[0].items():
        other = parts[1][name]
        is_text = isinstance(column, list) and isinstance(other, list)
        both[name] = [*column, *other] if is_text else np.concatenate([column, other])
    return both


def _said(out: Path, weight: str, count: int, sums: tuple[int, ...]) -> str:
    unit = text.WEIGHTS[weight][2]
    return f"{out}: {count} stacks, {' against '.join(f'{total:,}' for total in sums)} {unit}"
