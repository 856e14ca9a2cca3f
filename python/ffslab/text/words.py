"""What the numbers mean: sentences computed from a summary. A sentence is said only when its numbers are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from ffslab.answers import Operation
from ffslab.answers.summary import OfSetupSummary, Summary, VariantSummary
from ffslab.steady import variant_needs_us
from ffslab.text.causes import FORMATTING, READING, reasons_that
from ffslab.text.durations import duration
from ffslab.text.energy import energy_is_priced
from ffslab.text.headline import headline_of
from ffslab.text.tables import counted, number, size
from ffslab.text.time_table import sentence as largest_cost
from ffslab.text.times import times_said
from ffslab.text.worn import runs_until_worn_out, worn_most

FEW = 2


def sentences(summary: Summary) -> list[str]:
    """What a run means beside its failures: the headline, then a sentence each on reads, writes, wear, chip and energy,
    and the notes."""
    variants = summary["variants"]
    headline = headline_of(summary)
    said = [*headline.sentences]
    if len(variants) > FEW:
        said += _extremes(variants)
    for variant in variants if len(variants) <= FEW else []:
        where = f"{variant['name']}: " if len(variants) > 1 else ""
        said += [where + text for text in _about(variant)]
    if len(variants) == 1:
        said += _shares(variants[0])
    said += _left_by_setup(variants)
    said += headline.missing
    said += times_said(variants)
    said += _notes(variants)
    return said


def _left_by_setup(variants: list[VariantSummary]) -> Iterator[str]:
    """What was not on flash when the measurement began, what writing it took. Of many variants the one with most."""
    pairs = [(variant, variant.get("of_setup")) for variant in variants]
    left = [(variant, unwritten) for variant, unwritten in pairs if unwritten is not None]
    for variant, unwritten in [] if len(left) > FEW else left:
        where = f"{variant['name']}: " if len(variants) > 1 else ""
        yield f"{where}Of the setup {_unwritten(variant, unwritten)}"
    if len(left) > FEW:
        most, unwritten = max(left, key=lambda pair: (pair[1]["totals"]["page_programs"], pair[1]["buffered_B"]))
        yield (
            f"In {len(left)} of {len(variants)} variants something of the setup was left in memory; "
            f"most in {most['name']}: {_unwritten(most, unwritten)}"
        )


def _unwritten(variant: VariantSummary, left: OfSetupSummary) -> str:
    kinds = {"dirty page": left["pages"], "dirty inode": left["inodes"]}
    amounts = [counted(count, kind) for kind, count in kinds.items() if count]
    if left["buffered_B"]:
        amounts.append(f"{size(left['buffered_B'])} in buffers")
    what = _listed(amounts) if amounts else "changes of the index"
    totals = left["totals"]
    took = f"{counted(totals['page_programs'], 'page program')} and {counted(totals['erases'], 'erase')}"
    rtems = variant["stack"].get("system") == "rtems"
    written = totals["page_programs"] + totals["erases"]
    if rtems:
        written = variant.get("counters", {}).get("dev_write_bytes_of_setup", 0)
        took = size(written)
    then = f'writing that took {took}, counted apart under "left by the setup"' if written else "none was written alone"
    settle = "umount and mount again, or an fsync of the file," if rtems else "a sync step"
    return (
        f"{what} had not reached the medium when the measurement began; {then}. "
        f"{settle[0].upper()}{settle[1:]} at the end of the setup leaves nothing."
    )


def _listed(parts: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _extremes(variants: list[VariantSummary]) -> Iterator[str]:
    """Of many variants why the slowest one is slow, and the most worn one."""
    timed = all(variant["latency_us"]["n"] for variant in variants)
    slowest = max(variants, key=lambda v: (v["latency_us"]["mean"] or 0.0) if timed else v["time_us"])
    yield from (f"Slowest ({slowest['name']}): {text}" for text in filter(None, [largest_cost(slowest)]))
    worn = max(variants, key=lambda v: v["erases_per_block"]["mean"])
    yield from (f"Most worn ({worn['name']}): {text}" for text in _wear(worn))


def _notes(variants: list[VariantSummary]) -> Iterator[str]:
    """Each note once; of a few variants with those that it is about, unless it is about all."""
    holders: dict[str, list[str]] = {}
    for variant in variants:
        for note in dict.fromkeys(variant["notes"]):
            holders.setdefault(note, []).append(variant["name"])
    for note, names in holders.items():
        where = f"{', '.join(names)}: " if len(names) < len(variants) <= FEW else ""
        yield f"Note. {where}{note}"


def _about(variant: VariantSummary) -> Iterator[str]:
    totals = variant["totals"]
    if totals["page_reads"]:
        reasons = _by_reason(variant, "page_reads")
        reason, count = reasons.most_common(1)[0]
        # Where other reasons than the program's own reads prevail, a ratio of flash reads to these would mislead.
        factor = variant["read_amplification"] if reason in reasons_that(variant, READING) else None
        yield (
            f"{_share(count, totals['page_reads'])} of {number(totals['page_reads'])} flash page reads have the cause "
            f'"{reason}"'
            f"{_amplified(factor, 'the program asked for')}."
        )
    reasons = _by_reason(variant, "page_programs")
    once = reasons_that(variant, FORMATTING)
    formatting = sum(reasons.pop(reason, 0) for reason in once)
    programs = totals["page_programs"] - formatting
    if programs:
        is_short = variant_needs_us(variant) is not None
        seen = f" in the {duration(variant['time_us'])} that were seen" if is_short else ""
        reason, count = reasons.most_common(1)[0]
        yield (
            f"{_share(count, programs)} of {number(programs)} flash page programs "
            f'have the cause "{reason}"'
            f"{_amplified(variant['write_amplification'], f'the program wrote{seen}')}."
        )
    erases = sum(count for reason, count in _by_reason(variant, "erases").items() if reason in once)
    if formatting or erases:
        took = f"{counted(formatting, 'page program')} and {counted(erases, 'block erase')}"
        under = _listed(sorted(once))
        yield f'Making the new partition usable took {took}, counted apart under "{under}": it happens once.'
    cost = largest_cost(variant)
    if cost:
        yield cost
    yield from _wear(variant)


def _wear(variant: VariantSummary) -> Iterator[str]:
    """Erases per block, and how often a new part bears them."""
    where, wear = worn_most(variant)
    if not wear["mean"]:
        return
    block = f"A block of {where}, where they wear most," if where else "A block"
    said = f"{block} is erased {wear['mean']:,.3g} times on average, with a standard deviation of {wear['sd']:,.3g}."
    borne = runs_until_worn_out(variant)
    if variant_needs_us(variant) is not None:
        said += " That does not tell how long it lasts."
    elif borne is not None:
        said += (
            f" The {number(borne.erases)} erases that a block bears ({borne.source}) last for "
            f"{number(borne.runs, 0)} such runs one after the other, {_long(borne.runs * variant['time_us'])}, if all "
            "blocks wear alike."
        )
    yield said


def _long(us: float) -> str:
    """A long time, in the unit in which it is easiest to picture."""
    hours = us / 3.6e9
    for name, of in (("years", 24 * 365.25), ("days", 24)):
        if hours >= 2 * of:
            return f"{hours / of:,.3g} {name}"
    return f"{hours:,.3g} hours"


def _shares(variant: VariantSummary) -> Iterator[str]:
    totals = variant["totals"]
    if variant["time_us"] and variant.get("flash", {}) is not None:
        yield f"The chip is busy {_share(totals['busy_us'], variant['time_us'])} of the virtual time."
    energy = variant["energy_uJ"]
    if energy is not None and energy["total"] and energy_is_priced(variant):
        yield f"{_share(energy['cpu'], energy['total'])} of the energy above idle is the CPU's."


def _by_reason(variant: VariantSummary, counter: Operation) -> Counter[str]:
    counts: Counter[str] = Counter()
    for cause in variant["by_cause"]:
        counts[cause["reason"]] += cause[counter]
    return counts


def _amplified(factor: float | None, what: str) -> str:
    return f"; the chip moves {number(factor, 2)} times the bytes that {what}" if factor else ""


def _share(part: float, whole: float) -> str:
    return f"{part / whole * 100:.0f} %"
