"""How long a part bears a workload: erases a day of each block against the endurance, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Unpack

import numpy as np

from ffslab import _native
from ffslab._native import InputError
from ffslab.answers import Json
from ffslab.answers.image import Facts
from ffslab.answers.lifetime import Lifetime, WearCause, WorkloadLife
from ffslab.answers.summary import StepSummary, Summary, VariantSummary
from ffslab.api.experiment import Experiment
from ffslab.api.run import Progress, part_of
from ffslab.files.inputs import json_of, parquet_table, read_text
from ffslab.files.results import SUMMARY
from ffslab.files.tables import BLOCKS
from ffslab.images import How
from ffslab.images.inspection import inspect_image, stack_keys
from ffslab.measured.tracereport.statistics import poisson_interval
from ffslab.steady import needs_us, windows_of
from ffslab.studies.lifetime.rows import borne, life
from ffslab.studies.lifetime.verdict import DAY_US, Blocks, judged
from ffslab.text.causes import APART, reasons_that
from ffslab.text.machine_line import line, of_variant

# Resamples of the time windows, and the seed of their choice: the same input gives the same output.
RESAMPLES = 2_000
SEED = 1
# With fewer windows in which something was measured, their scatter says nothing.
WINDOWS_MIN = 5
# Keys of the stack that say how an image is arranged: those of another image do not hold.
ARRANGED = (
    "image_oob",
    "image_autoplace",
    "image_mtdparts",
    "image_partition",
    "image_offset_B",
    "image_size_B",
    "endian",
    "inband_tags",
    "vid_hdr_offset_B",
)
# Erases that made a new partition usable: they happen once in its life. Older results do not tell them apart.
FORMATTING = "erases_formatting"


@dataclass(frozen=True)
class Workload:
    """An experiment whose measured steps are the workload, and what it is called."""

    name: str
    experiment: Experiment

    @classmethod
    def from_file(cls, path: Path) -> Workload:
        """The workload of an experiment file."""
        return cls(str(path), Experiment.from_file(path))


@dataclass(frozen=True)
class Given:
    """What is asked for.

    `endurance`: erases that a block bears, without it those of its part. `per_day`: how often a day a workload happens,
    without it one after the other. `wanted_years`: how long the part is to last. The others are those of
    `ffslab.Experiment.run`.
    """

    endurance: int | None = None
    per_day: float | None = None
    wanted_years: float | None = None
    jobs: int | None = None
    any_size: bool = False


@dataclass(frozen=True)
class Wear:
    """Erases that the blocks of a partition have behind them; `None`: not known, taken for new."""

    erases: list[int | None]
    said_by: str


def of_results(folder: Path, given: Given) -> Lifetime:
    """The lifetime under what a results folder measured, a row per variant."""
    for name in (SUMMARY, BLOCKS):
        if not (folder / name).is_file():
            raise InputError(f"{folder}: holds no {name}: name the results folder of `ffslab run`")
    summary: Summary = json_of(read_text(folder / SUMMARY, "results file"), str(folder / SUMMARY))
    blocks = parquet_table(folder / BLOCKS, "results file", "table of blocks")
    try:
        columns = {name: blocks[name].to_numpy() for name in ("variant", "erases_main", "erases_total")}
        if FORMATTING in blocks.column_names:
            columns[FORMATTING] = blocks[FORMATTING].to_numpy()
        return _facts(str(folder), [(summary["title"], summary, columns, None)], given)
    except (KeyError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{folder}: {SUMMARY} and {BLOCKS} are not as `ffslab run` writes them: {error}") from None


def looked_into(image: Path, workloads: Sequence[Workload], **how: Unpack[How]) -> Facts:
    """What an image holds; its sizes are those of the part of the workloads, if there are any.

    The keywords `how` are those of `ffslab.images.said`.
    """
    told: How = {**how, **_sizes(workloads[0].experiment)} if workloads else how
    return inspect_image(image, **told)


def of_workloads(
    image: Path, facts: Facts, workloads: Sequence[Workload], given: Given, progress: Progress | None = None
) -> Lifetime:
    """The lifetime under experiments, which begin with what `image` holds and with the wear that it tells of.

    `facts`: what `looked_into` found in it.
    """
    begun, wear = _begun(image, facts, workloads)
    return _ran(str(image), begun, wear, given, progress)


def begun_with(
    image: Path, workloads: Sequence[Workload], **how: Unpack[How]
) -> tuple[list[Workload], list[int | None] | None]:
    """The workloads on a device that begins with an image, and the erases that the image tells of, by block.

    The keywords `how` are those of `ffslab.images.said`.
    """
    begun, wear = _begun(image, looked_into(image, workloads, **how), workloads)
    return begun, None if wear is None else wear.erases


def _begun(image: Path, facts: Facts, workloads: Sequence[Workload]) -> tuple[list[Workload], Wear | None]:
    counters = [block["erases"] for block in facts["blocks"]]
    known = any(counter is not None for counter in counters)
    wear = Wear(counters, "UBI's erase counters in the image") if known else None
    return [replace(one, experiment=with_image(one.experiment, image, facts)) for one in workloads], wear


def alone(workloads: Sequence[Workload], given: Given, progress: Progress | None = None) -> Lifetime:
    """The lifetime of a new part under experiments, as they are."""
    return _ran("a new part", workloads, None, given, progress)


def _ran(
    start: str, workloads: Sequence[Workload], wear: Wear | None, given: Given, progress: Progress | None
) -> Lifetime:
    # What is wrong with one of several is told before the first has run for an hour.
    for one in workloads:
        one.experiment.check(any_size=given.any_size)
    runs = []
    for at, one in enumerate(workloads):
        share = part_of(progress, at, len(workloads))
        run = one.experiment.run(share, jobs=given.jobs, any_size=given.any_size).whole()
        runs.append((one.name, run.summary, run.block_columns, wear))
    return _facts(start, runs, given)


def _sizes(experiment: Experiment) -> How:
    """Pages and erase blocks of the experiment's part, which an image must have, too."""
    stack = _stack_of(experiment)
    board, part = stack.get("board"), stack.get("part")
    if not isinstance(board, str) or not isinstance(part, str | None) or "system" in stack:
        return {}
    page_B, _, pages, _ = _native.chip_geometry(board, part, experiment.base_dir)  # noqa: N806
    return {"page_B": page_B, "block_KiB": page_B * pages // 1024}


def _stack_of(experiment: Experiment) -> dict[str, Json]:
    changed = experiment.change.get("stack", {})
    assert isinstance(changed, Mapping)
    stack: dict[str, Json] = {**experiment.table().get("stack", {}), **changed}
    if "fs" not in stack:
        raise InputError(f"{experiment.file_name}: the key `fs` of [stack] is missing: is it an experiment?")
    return stack


def with_image(experiment: Experiment, image: Path, facts: Facts) -> Experiment:
    """The experiment with a partition that begins with the image, as large as that."""
    stack, layout = _stack_of(experiment), facts["layout"]
    if stack["fs"] != layout["fs"]:
        raise InputError(
            f'{experiment.file_name}: fs = "{stack["fs"]}", but {image} holds {layout["fs"]}: '
            "a workload for this image needs the same file system"
        )
    blocks = stack.get("partition_blocks")
    keys = {
        **dict.fromkeys(ARRANGED),
        "image": str(image.absolute()),
        # JFFS2 mounts nothing smaller than 5 blocks; an image of a build tool ends before its partition does.
        "partition_blocks": max(layout["blocks"], blocks if isinstance(blocks, int) else 0),
        **stack_keys(layout, facts.get("partition")),
    }
    return experiment.changed(stack=keys)


def _facts(
    start: str,
    runs: Sequence[tuple[str, Summary, Mapping[str, object], Wear | None]],
    given: Given,
) -> Lifetime:
    rows: list[WorkloadLife] = []
    for title, summary, columns, wear in runs:
        names = np.asarray(columns["variant"])
        for variant in summary["variants"]:
            chosen = names == variant["name"]
            erases = np.asarray(columns["erases_main"])[chosen].astype(float)
            before = np.asarray(columns["erases_total"])[chosen] - erases
            if FORMATTING in columns:
                formatting = np.asarray(columns[FORMATTING])[chosen].astype(float)
                erases, before = erases - formatting, before + formatting
            erases = _of_workload(variant, erases)
            said, worn = borne(given.endurance, variant["stack"]), _worn(before, wear)
            for name, own, programs in _partitions(variant, len(erases)):
                row = _row(title, variant, programs, erases[own], worn[own], said, given.per_day, wear)
                if row["busiest_block"] is not None:
                    row["busiest_block"] += own.start
                rows.append({**row, "variant": name})
    seen = [of_variant(variant) for _, summary, _, _ in runs for variant in summary["variants"]]
    return judged({"start": start, "machine": line(seen), "workloads": rows}, given.wanted_years)


def _partitions(variant: VariantSummary, blocks: int) -> list[tuple[str, slice, int]]:
    """The partitions of a variant, each by a name, its blocks and page programs: wear is levelled within each alone."""
    known = [
        (mount["at"], mount["first_block"], mount["blocks"], mount["page_programs"] or 0)
        for mount in variant.get("mounts", [])
        if mount["first_block"] is not None and mount["blocks"] is not None
    ]
    if len(known) < 2:
        return [(variant["name"], slice(0, blocks), sum(cause["page_programs"] for cause in causes(variant)))]
    origin = min(first for _, first, _, _ in known)
    return [
        (f"{variant['name']}: {at}", slice(first - origin, first - origin + count), programs)
        for at, first, count, programs in known
    ]


def _of_workload(variant: VariantSummary, erases: Blocks) -> Blocks:
    """The erases without those that writing what the setup had left took: no later run of the workload has them.

    Which blocks it were is not kept, so all give their share.
    """
    left, total = _erases_of_setup(variant), float(erases.sum())
    return erases * max(1 - left / total, 0.0) if left and total else erases


def _erases_of_setup(variant: VariantSummary) -> int:
    left = variant.get("of_setup")
    return int(left["totals"]["erases"]) if left else 0


def _worn(before: Blocks, wear: Wear | None) -> Blocks:
    worn = np.array(before, dtype=float)
    for block, erases in enumerate((wear.erases if wear else [])[: len(worn)]):
        worn[block] += erases or 0
    return worn


def _row(
    title: str,
    variant: VariantSummary,
    programs: int,
    erases: Blocks,
    worn: Blocks,
    said: tuple[int, str],
    per_day: float | None,
    wear: Wear | None,
) -> WorkloadLife:
    time_us = variant["time_us"]
    if time_us <= 0:
        raise InputError(f"{title}: variant {variant['name']} took no time: a lifetime needs a workload")
    total = float(erases.sum())
    low, high, how = _uncertainty(variant, total)
    row = life(
        "workload",
        erases,
        worn,
        said,
        time_us=time_us,
        # So often a day the measured steps happen; flat out, one after the other, unless it was said.
        often=DAY_US / time_us if per_day is None else per_day,
        busiest=int(np.argmax(erases)) if total else None,
        interval=(low, high),
        uncertainty=how,
        wear_said_by=wear.said_by if wear else "the erases of the simulation before the workload",
    )
    return {
        **row,
        "workload": title,
        "variant": variant["name"],
        "of_setup": variant.get("of_setup"),
        "causes": causes(variant),
        "formatting_erases": _formatting(variant),
        "needs_us": needs_us(time_us, total, _due(variant, programs), len(erases), windows_of(variant)),
    }


def _due(variant: VariantSummary, programs: int) -> float:
    """Blocks full of what was programmed."""
    flash = variant["flash"]
    return programs / flash["pages_per_block"] if flash is not None else float(programs > 0)


def _uncertainty(variant: VariantSummary, total: float) -> tuple[float, float, str]:
    """The 95 % interval of the number of erases, and where it comes from.

    With enough measured steps that took time: a bootstrap over them as windows of time (Efron and Tibshirani, An
    Introduction to the Bootstrap, 1993, chapter 13: percentiles). Else: what the count alone leaves.
    """
    windows = windows_of(variant)
    counts = np.array([count for _, count in windows], dtype=float)
    times = np.array([time for time, _ in windows], dtype=float)
    if len(windows) >= WINDOWS_MIN and counts.sum() > 0:
        draw = np.random.default_rng(SEED).integers(0, len(windows), (RESAMPLES, len(windows)))
        rates = counts[draw].sum(axis=1) / times[draw].sum(axis=1)
        low, high = np.percentile(rates, [2.5, 97.5]) * times.sum() * (total / counts.sum())
        return float(low), float(high), f"bootstrap over {len(windows)} measured steps"
    low, high = poisson_interval(total)
    few = f"{len(windows)} measured step{'' if len(windows) == 1 else 's'} took time, {WINDOWS_MIN} tell of scatter"
    return low, high, f"the number of erases alone, as independent events: {few}"


def _formatting(part: VariantSummary | StepSummary) -> int:
    """Erases that made a new partition usable."""
    formatting = part.get("formatting")
    return formatting["erases"] if formatting else 0


def causes(variant: VariantSummary) -> list[WearCause]:
    """Who and why, by the pages that were programmed: each of them needs its share of an erase sooner or later.

    Formatting is none of them: it happens once.
    """
    apart = reasons_that(variant, APART)
    own = [cause for cause in variant["by_cause"] if cause["reason"] not in apart]
    programs = sum(cause["page_programs"] for cause in own)
    erased = sum(cause["erases"] for cause in own)
    rows: list[WearCause] = [
        {
            "cause": f"{cause['task']}: {cause['reason']}",
            "page_programs": cause["page_programs"],
            "share_of_programs": cause["page_programs"] / programs if programs else 0.0,
            "erases": cause["erases"],
            "share_of_erases": cause["erases"] / erased if erased else 0.0,
        }
        for cause in own
        if cause["page_programs"] or cause["erases"]
    ]
    return sorted(rows, key=lambda row: (-row["page_programs"], -row["erases"], row["cause"]))
