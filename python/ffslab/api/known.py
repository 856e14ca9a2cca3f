"""Runs an experiment of which a store may know some variants: only the others run, and the result is the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, cast

from ffslab import _native
from ffslab._native import InputError
from ffslab.api.run import Run, RunGiven
from ffslab.store.kept import KeptRun, joined, said_by, tables_of
from ffslab.text.figures import Place, at

if TYPE_CHECKING:
    from ffslab.answers.machine import Keys
    from ffslab.answers.summary import FailedVariant, Repeated, Summary, VariantSummary
    from ffslab.store import Store


class Variants(Protocol):
    """What is asked of an experiment: its variants with their keys, and to run some of them."""

    @property
    def file_name(self) -> str: ...
    def keys(self) -> Keys: ...
    def run_without(self, given: RunGiven, known: Sequence[int] | None = None) -> Run: ...


def run_with(store: Store, experiment: Variants, given: RunGiven, *, again: bool) -> Run:
    """What `Experiment.run` returns; what was run is in the store then. `again`: what is there already is run, too."""
    keys = experiment.keys()
    variants = keys["variants"]
    wanted = {key for variant in variants if (key := variant["key"]) is not None}
    found = {} if again else store.find(wanted, keys["requests_kept"])
    known = [at for at, variant in enumerate(variants) if variant["key"] in found]
    fresh = experiment.run_without(given, known or None)
    names = [variant["name"] for variant in variants]
    tables = tables_of(fresh, names)
    key_of = {variant["name"]: variant["key"] for variant in variants}
    ran = {said["name"]: said for said in said_by(fresh.summary)}
    # A variant that stands in an experiment twice is kept once.
    kept = {
        key: KeptRun(key, fresh.summary["title"], said, tables[name])
        for name, said in ran.items()
        if (key := key_of[name]) is not None
    }
    store.keep(list(kept.values()))
    if not known:
        return fresh
    for variant in variants:
        name, key = variant["name"], variant["key"]
        if key in found:
            ran[name] = found[key].named(variant)
            tables[name] = found[key].tables or tables[name]
    ended = {name: ran[name] for name in names if "error" not in ran[name]}
    failed = [ran[name] for name in names if "error" in ran[name]]
    if not ended:
        which = f"variant {names[0]}: " if len(names) > 1 else ""
        raise InputError(f"{experiment.file_name}: {which}{cast('FailedVariant', failed[0])['error']}")
    summary: Summary = {**fresh.summary, "variants": cast("list[VariantSummary]", list(ended.values()))}
    if failed:
        summary["failed"] = cast("list[FailedVariant]", failed)
    if keys["is_repeated"]:
        runs = [
            (one["name"], one["axes"], {row.key: row.of(one) for row in at(Place.REPEATS)})
            for one in summary["variants"]
        ]
        summary["repeats"] = cast("list[Repeated]", json.loads(_native.repeated(runs, [one["axes"] for one in failed])))
    whole = joined({name: tables[name] for name in ended}, names)
    images, logs, films = dict(whole.images), dict(whole.logs), dict(whole.films)
    done = Run(summary, whole.requests, whole.blocks, fresh.resolved_toml, images, logs, films=films)
    done.shared = fresh.shared
    return done
