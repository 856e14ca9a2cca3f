"""Who did not come to the end of a run, or came there without having done everything: told first, never a winner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ffslab.answers import Json
from ffslab.answers.summary import FailedVariant, VariantSummary
from ffslab.text.tables import counted

_KINDS_SHOWN = 3


class Fallen(NamedTuple):
    """A variant that did not do what the others did, and why."""

    name: str
    axes: Mapping[str, Json]
    why: str


def fell_short(variant: VariantSummary) -> str | None:
    """What a variant that came to its end did not get done; `None`: nothing is known of that kind."""
    of_programs = (step for program in variant.get("programs", []) for step in program.get("steps", []))
    for step in [*variant.get("steps", []), *of_programs]:
        if (why := step.get("stopped_by")) is not None:
            return f"{step['step']} ended with {why}"
        done_jobs = step.get("fio")
        for job in done_jobs["jobs"] if done_jobs else []:
            if job["error"]:
                return f"job {job['jobname']} ended with {job.get('error_name') or job['error']}"
        for done in step.get("postmark") or []:
            if done["failed_operations"]:
                return f"{counted(done['failed_operations'], 'operation')} of Postmark failed"
            if done["ran_out_of_files"]:
                return "Postmark ran out of files"
    return None


def fell_short_or_lost(variant: VariantSummary) -> str | None:
    """As `fell_short`, and whether data were lost on flash: a file system may hand them out as they are."""
    lost = variant.get("counters", {}).get("uncorrectable_frames", 0)
    return fell_short(variant) or (f"{counted(lost, 'frame')} could not be corrected" if lost else None)


def failures_said(
    failed: Sequence[FailedVariant], fallen: Sequence[Fallen], ended: Sequence[VariantSummary]
) -> list[str]:
    """A sentence for each reason: who has it, by what they have in common."""
    every = [*(one["axes"] for one in failed), *(one["axes"] for one in ended)]
    lost = [Fallen(one["name"], one["axes"], one["error"]) for one in failed]
    return [
        *_said("Not finished", lost, every, ""),
        *_said("Not all was done", fallen, every, "; not among those that are compared"),
    ]


def _said(word: str, rows: Sequence[Fallen], every: Sequence[Mapping[str, Json]], end: str) -> Iterator[str]:
    kinds: dict[str, list[Fallen]] = {}
    for one in rows:
        kinds.setdefault(one.why, []).append(one)
    for why, of_kind in [*kinds.items()][:_KINDS_SHOWN]:
        yield f"{word}, {_who(of_kind, every)}: {why}{end}."
    left = sum(len(of_kind) for of_kind in [*kinds.values()][_KINDS_SHOWN:])
    if left:
        yield f"{word}, for other reasons: {left:,} more of {len(every):,} variants."


def _who(rows: Sequence[Fallen], every: Sequence[Mapping[str, Json]]) -> str:
    """The name of one; of several how many, and the values of axes that they share and not all others have."""
    if len(rows) == 1:
        return rows[0].name
    shared = [
        f"{axis}={value}"
        for axis, value in rows[0].axes.items()
        if all(one.axes.get(axis) == value for one in rows) and any(axes.get(axis) != value for axes in every)
    ]
    which = f", all with {', '.join(shared)}" if shared else ""
    return f"{len(rows):,} of {len(every):,} variants{which}"
