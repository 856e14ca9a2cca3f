"""Whether enough of a workload was seen to tell what it does in the long run.

A new partition has room: until garbage collection has gone round, a workload erases less than it will, and no call
waits for what it will wait for. So years, write amplification, worst cases, winners and verdicts are told only when

1. as many blocks were erased as there are, or, of a partition on which collection is at work from the first moment on,
   enough of them to be counted;
2. what was erased is what was filled: nothing is still let go by room that will not be there a second time;
3. the two halves of what was measured erased alike, as far as their numbers can tell.

The last one is the rule of batch means (Law, Simulation Modeling and Analysis, chapter 9.5) with the least number of
batches: it finds a trend, not a change that comes later. With fewer windows than it takes the second one stands for it.
Where nothing is programmed nothing has to be erased either, and the halves of the reads decide alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ffslab.answers.summary import FlashSummary, StepSummary, VariantSummary

# How far two numbers may be apart, as a share of their mean, beyond what chance does: two deviations of independent
# events.
TOLERANCE = 0.1
DEVIATIONS = 2.0
# Fewer windows have no halves to be compared.
WINDOWS_MIN = 4
# So many erases are counted to a fifth (two deviations).
COUNTED = 100

# In so many parts of a run the room is looked at.
QUARTERS = 4

# Times and numbers of what was measured, one after the other.
Windows = Sequence[tuple[float, float]]


def needs_us(time_us: float, erases: float, due_erases: float, blocks: int, windows: Windows) -> float | None:
    """How long a workload must be seen at least; `None`: it was.

    `due_erases`: blocks full of what was programmed, each of which has to be erased sooner or later. `windows`: times
    and erases.
    """
    if not due_erases and not erases:
        return None
    # What is due was let go by the room that there was: the rest of a round comes on top of it.
    late = max(due_erases - erases, 0.0)
    has_halves = len(windows) >= WINDOWS_MIN
    if erases < blocks and not (has_halves and erases >= COUNTED and not _exceeds(late, due_erases)):
        return time_us * (blocks + late) / max(erases, due_erases, 1.0)
    if has_halves:
        return None if alike(windows) else 2 * time_us
    # The room of a partition is one round: after many rounds it is no part worth speaking of.
    if _exceeds(late, due_erases) and erases < blocks / TOLERANCE:
        return time_us * min(late / (TOLERANCE * due_erases), blocks / TOLERANCE / erases)
    return None


def _exceeds(late: float, due: float) -> bool:
    return late > TOLERANCE * due + DEVIATIONS * math.sqrt(due)


def alike(windows: Windows) -> bool:
    """Whether both halves have the same rate, as far as their numbers can tell."""
    half = len(windows) // 2
    (early_us, early), (late_us, late) = (_sum(windows[:half]), _sum(windows[-half:]))
    # What the first half would have had in the time of the second one.
    early *= late_us / early_us
    return abs(late - early) <= TOLERANCE * (early + late) / 2 + DEVIATIONS * math.sqrt(early + late)


def _sum(windows: Windows) -> tuple[float, float]:
    return sum(time for time, _ in windows), sum(count for _, count in windows)


class _Part(NamedTuple):
    """A partition: wear is levelled within each alone."""

    erases: float
    due_erases: float
    blocks: int


def variant_needs_us(variant: VariantSummary) -> float | None:
    """How long the measured steps of a variant would have to last for a steady state; `None`: they do."""
    time_us, flash = variant["time_us"], variant.get("flash")
    if time_us <= 0 or not flash:
        return None
    parts = list(_parts(variant, flash))
    if not any(part.due_erases or part.erases for part in parts):
        return _unworn_needs_us(variant, flash, parts)
    windows = windows_of(variant)
    needs = [needs_us(time_us, part.erases, part.due_erases, part.blocks, windows) for part in parts]
    return max((one for one in needs if one is not None), default=None)


def _unworn_needs_us(variant: VariantSummary, flash: FlashSummary, parts: Sequence[_Part]) -> float | None:
    """How long what neither programs nor erases must be seen."""
    time_us, written_B = variant["time_us"], variant["user_written_B"]  # noqa: N806
    if not written_B:
        return None if _reads_alike(variant) else 2 * time_us
    # Written bytes that the medium has not seen are still in memory, unless they would have filled it: then they never
    # come.
    due = written_B / (flash["pages_per_block"] * flash["page_B"])
    blocks = max(part.blocks for part in parts)
    return time_us * blocks / due if due < blocks else None


def due_per_block(variant: VariantSummary) -> float:
    """Blocks that were filled for each block that there is, where most is: each has to be erased sooner or later."""
    flash = variant.get("flash")
    parts = list(_parts(variant, flash)) if flash else []
    return max((part.due_erases / part.blocks for part in parts if part.blocks), default=0.0)


def _parts(variant: VariantSummary, flash: FlashSummary) -> Iterator[_Part]:
    pages, block_B = flash["pages_per_block"], flash["pages_per_block"] * flash["page_B"]  # noqa: N806
    programs, sent_B = _own(variant, "page_programs"), _own(variant, "bus_in_B")  # noqa: N806
    # A medium that takes less than a page at a time fills a page with several programs.
    share = min(1.0, sent_B / block_B / (programs / pages)) if programs else 1.0
    known = [mount for mount in variant.get("mounts", []) if mount["blocks"] is not None]
    # Formatting is not told by mount.
    if len(known) > 1:
        for mount in known:
            yield _Part(mount["erases"] or 0, share * (mount["page_programs"] or 0) / pages, int(mount["blocks"] or 0))
        return
    yield _Part(_own(variant, "erases"), share * programs / pages, _blocks(variant))


def _blocks(variant: VariantSummary) -> int:
    """Erase blocks of the partition."""
    stack: Mapping[str, Any] = {**variant["stack"]}
    mean = variant["erases_per_block"]["mean"]
    if mean:
        formatting = variant.get("formatting")
        return round((variant["totals"]["erases"] - (formatting["erases"] if formatting else 0)) / mean)
    flash = variant["flash"]
    chip = flash["chip_blocks"] if flash else 0
    blocks = stack.get("partition_blocks")
    return blocks if isinstance(blocks, int) else chip


def _own(variant: VariantSummary, counter: str) -> int:
    """So many without what formatting and the rest of the setup did: no later run has that."""
    formatting, left = variant.get("formatting"), variant.get("of_setup")
    counts: list[Mapping[str, Any]] = [{**variant["totals"]}]
    counts += [{**formatting}] if formatting else []
    counts += [{**left["totals"]}] if left else []
    every, *apart = (int(one[counter]) for one in counts)
    return max(every - sum(apart), 0)


def windows_of(variant: VariantSummary) -> list[tuple[float, float]]:
    """Times and erases of the measured steps that took time."""
    return [(step["elapsed_us"], erases_of(step)) for step in variant["steps"] if step["elapsed_us"] > 0]


def erases_of(step: StepSummary) -> int:
    """Erases of a step, but for those of formatting."""
    formatting = step.get("formatting")
    return step["counts"]["erases"] - (formatting["erases"] if formatting else 0)


def _reads_alike(variant: VariantSummary) -> bool:
    """Whether the halves of what only reads are alike; other steps than before are no trend."""
    steps = [step for step in variant["steps"] if step["elapsed_us"] > 0]
    if len(steps) < WINDOWS_MIN or len({step["step"] for step in steps}) > 1:
        return True
    return alike([(step["elapsed_us"], step["counts"]["page_reads"]) for step in steps])


def filled_share(variant: VariantSummary) -> float | None:
    """Which share of the room that is left a run takes for good; `None`: none, as far as it shows.

    Room that shrinks in each quarter of what was measured goes on to do so, and so does what is kept of most of what
    was written. Room that comes and goes with collection does neither.
    """
    flash, before, after = variant.get("flash"), variant.get("space_before"), variant.get("space_after")
    block_B = flash["pages_per_block"] * flash["page_B"] if flash else 0  # noqa: N806
    free = [float(room) for step in variant["steps"] if (room := step.get("fs_free_B")) is not None]
    if len(free) > QUARTERS:
        marks = [free[at * (len(free) - 1) // QUARTERS] for at in range(QUARTERS + 1)]
        drops = [here - there for here, there in pairwise(marks)]
        taken = marks[0] - marks[-1]
        if min(drops) > 0 and taken >= block_B:
            # At the end there may be nothing left but what collection needs for itself.
            return taken / max(marks[-1], 1.0)
    if not before or not after:
        return None
    kept, left = after["valid_B"] - before["valid_B"], after["free_B"] + after["invalid_B"]
    is_kept = kept >= block_B and kept > variant["user_written_B"] / 2
    return kept / max(left, 1) if is_kept else None
