"""What a person takes from a run first: three or four numbers as cards, and the sentences over them.

Cards and sentences are made here from the same figures, so that they cannot say different things: each comparison is a
`Compared`, and its sign, its words and the number on the card come from it alone. Who failed stands first and never
wins; who wins in one figure and is worse in another one is told with what that costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ffslab.answers.summary import FailedVariant, Summary, VariantSummary
from ffslab.text.durations import duration
from ffslab.text.energy import energy_is_priced, energy_mj, missing_price
from ffslab.text.figures import FIGURES, Figure, values_of
from ffslab.text.tables import counted, number, percent

# In this order cards are made, as far as the figures are there.
WANTED = (
    *("latency_mean_us", "latency_max_us", "energy_total_uJ", "erases", "page_programs", "page_reads", "time_us"),
)
CARDS_MAX = 4
# What a person cares for beside the figure in which somebody is best.
CARED = ("latency_mean_us", "latency_max_us", "energy_total_uJ", "erases", "page_programs", "free_B")
# So much worse, as a ratio, is a price worth telling; so much is not worth a digit.
_PRICE, _SAME = 1.1, 0.0005
_PRICES_MAX = 2
_FAILED_SHOWN = 3

# How much room is left is no figure of a table; more of it is better.
FREE = Figure("free_B", "free space", "size", subject="free space")


class Card(NamedTuple):
    """One of the numbers of a first screen. `beside`: what it is compared with."""

    label: str
    value: str
    beside: str


@dataclass(frozen=True)
class Compared:
    """A figure of two variants."""

    figure: Figure
    first: str
    second: str
    before: float
    after: float

    @property
    def share(self) -> float | None:
        """By which share of the first the second is more; negative: it is less. `None`: the first has none of it."""
        return self.after / self.before - 1 if self.before else None

    @property
    def card_value(self) -> str:
        """The change with its sign."""
        return self.figure.said(self.after) if self.share is None else percent(self.share)

    @property
    def in_words(self) -> str:
        """The change in words: "60.3 % less", "3.37 times as much"; "the same"."""
        share = self.share
        if share is None:
            return "the same" if self.after == self.before else "more"
        if abs(share) < _SAME:
            return "the same"
        return f"{abs(share) * 100:,.1f} % {'less' if share < 0 else 'more'}"

    @property
    def amounts(self) -> str:
        return f"{self.figure.said(self.after)} instead of {self.figure.said(self.before)}"

    @property
    def is_better(self) -> bool | None:
        """Whether the second is better by more than a trifle; `None`: neither is."""
        return _is_better(self.figure, self.before, self.after)

    def sentence(self) -> str:
        """ "With B the mean latency of a call is 60.3 % less than with A (0.1 ms instead of 0.25 ms)"."""
        than = "as" if self.in_words == "the same" else "than"
        return (
            f"With {self.second} the {self.figure.called} is {self.in_words} {than} with {self.first} ({self.amounts})"
        )


def _is_better(figure: Figure, before: float, after: float) -> bool | None:
    """Whether `after` is better than `before`: at least so much that it is a price worth telling."""
    low, high = sorted((before, after))
    if low < 0 or high <= low * _PRICE or high - low < _SAME * high:
        return None
    lower_is_better = figure.key != FREE.key
    return (after < before) == lower_is_better


class Headline(NamedTuple):
    """`failures`: who did not do all of it. `sentences`: the first one is the answer. `cards`: its numbers."""

    failures: list[str]
    sentences: list[str]
    cards: list[Card]


def headline_of(summary: Summary) -> Headline:
    """The headline of a run."""
    variants = summary["variants"]
    fallen = {one["name"]: why for one in variants if (why := fell_short(one)) is not None}
    failures = list(failures_said(summary.get("failed", []), fallen, len(variants)))
    said: list[str] = []
    figures = {one["name"]: known_of(one) for one in variants if one["name"] not in fallen}
    if len(variants) == 1:
        said += _alone(variants[0])
    elif len(figures) == 2:
        said += compared_said(figures)
    elif figures:
        said += ranked_said(figures)
    said += list(dict.fromkeys(energy_said(variants)))
    # The cards are of those that the sentences compare.
    compared = [one for one in variants if one["name"] in figures] or list(variants)
    return Headline(failures, said, _cards(compared) if compared else [])


def fell_short(variant: VariantSummary) -> str | None:
    """What a variant that came to its end did not get done; `None`: nothing is known of that kind."""
    of_programs = (step for program in variant.get("programs", []) for step in program.get("steps", []))
    for step in [*variant.get("steps", []), *of_programs]:
        if (why := step.get("stopped_by")) is not None:
            return f"{step['step']} ended with {why}"
        for job in (step.get("fio") or {}).get("jobs", []):
            if job["error"]:
                return f"job {job['jobname']} ended with {job.get('error_name') or job['error']}"
        for done in step.get("postmark") or []:
            if done["failed_operations"]:
                return f"{counted(done['failed_operations'], 'operation')} of Postmark failed"
            if done["ran_out_of_files"]:
                return "Postmark ran out of files"
    return None


def failures_said(failed: Sequence[FailedVariant], fallen: dict[str, str], ended: int) -> Iterator[str]:
    """Who did not come to the end, and who came there without having done everything."""
    for one in failed[:_FAILED_SHOWN]:
        yield f"Not finished, {one['name']}: {one['error']}."
    if len(failed) > _FAILED_SHOWN:
        yield f"Not finished: {len(failed) - _FAILED_SHOWN:,} more of {ended + len(failed):,} variants."
    for name, why in [*fallen.items()][:_FAILED_SHOWN]:
        yield f"Not all was done, {name}: {why}; it is not among those that are compared."
    if len(fallen) > _FAILED_SHOWN:
        yield f"Not all was done in {len(fallen) - _FAILED_SHOWN:,} more of {ended:,} variants."


def energy_said(variants: Sequence[VariantSummary]) -> Iterator[str]:
    """Why there is no energy, or what is missing for it to be told."""
    for variant in variants:
        why = variant.get("no_energy")
        if why is None and (variant["energy_uJ"] or {}).get("total"):
            why = missing_price(variant.get("stack", {}))
        if why:
            yield f"Without energy: {why}."


def known_of(variant: VariantSummary) -> dict[str, float]:
    """The figures that headlines are made of, as far as a variant has them."""
    values = values_of(variant)
    known = {key: value for key in dict.fromkeys((*WANTED, "requests")) if (value := values[key]) is not None}
    left = variant["steps"][-1].get("fs_free_B") if variant.get("steps") else None
    return known if left is None else {**known, FREE.key: float(left)}


def _figure(key: str) -> Figure:
    return FREE if key == FREE.key else FIGURES[key]


def _first_of(figures: dict[str, dict[str, float]]) -> str:
    """What variants are compared in: the mean latency, or the time where some make no calls."""
    timed = all(known.get("latency_mean_us") for known in figures.values())
    return "latency_mean_us" if timed else "time_us"


def compared_said(figures: dict[str, dict[str, float]]) -> Iterator[str]:
    """Two variants: the change of what they are compared in, and what goes the other way."""
    (first, before), (second, after) = figures.items()
    key = _first_of(figures)
    main = Compared(_figure(key), first, second, before.get(key, 0.0), after.get(key, 0.0))
    if not main.before and not main.after:
        return
    others = [
        Compared(_figure(one), first, second, before[one], after[one])
        for one in CARED
        if one in before and one in after
    ]
    prices = prices_of(main, others)
    yield f"{main.sentence()}{but(prices)}."
    calls = [known.get("requests", 0) for known in (before, after)]
    if key == "latency_mean_us" and calls[0] != calls[1]:
        made = f"{number(calls[1], 0)} with {second}, {number(calls[0], 0)} with {first}"
        yield f"They do not make as many calls: {made}."
    told = {one.figure.key for one in (main, *prices)}
    yield from (
        f"{one.sentence()}."
        for one in others
        if one.figure.key == "energy_total_uJ" and one.after and one.figure.key not in told
    )


def prices_of(main: Compared, others: Sequence[Compared]) -> list[Compared]:
    """What goes the other way than `main`; where that changes nothing, what changes at all."""
    share = main.share
    is_better = None if share is None or abs(share) < _SAME else share < 0
    found = [one for one in others if one.figure != main.figure and one.is_better not in (None, is_better)]
    return found[:_PRICES_MAX]


def but(prices: Sequence[Compared]) -> str:
    """The end of a sentence about something that has its prices."""
    told = [f"the {one.figure.called} is {one.in_words} ({one.amounts})" for one in prices]
    return f", but {' and '.join(told)}" if told else ""


def ranked_said(figures: dict[str, dict[str, float]]) -> Iterator[str]:
    """More variants: who is best in what they are compared in, and in energy, each with what being best costs."""
    told: set[str] = set()
    for key in (_first_of(figures), "energy_total_uJ"):
        if not all(key in known for known in figures.values()):
            continue
        figure = _figure(key)
        order = sorted(figures, key=lambda name: figures[name][key])
        best, worst = order[0], order[-1]
        least, most = figures[best][key], figures[worst][key]
        if not most:
            continue
        if most - least < _SAME * most:
            yield f"The {figure.called} is the same in all of them, {figure.said(least)}."
            continue
        word, other = ("shortest", "longest") if figure.kind == "time" else ("least", "most")
        price = "" if best in told else _price(key, best, figures)
        told.add(best)
        beside = f"{figure.said(least)} (the {other}: {figure.said(most)}, {worst})"
        yield f"{best} has the {word} {figure.called}, {beside}{price}."


def _price(key: str, best: str, figures: dict[str, dict[str, float]]) -> str:
    """In what the best one is worse than another one, and how much."""
    found: list[tuple[float, str]] = []
    for other in CARED:
        if other == key or not all(other in known for known in figures.values()):
            continue
        figure = _figure(other)
        of_all = {name: known[other] for name, known in figures.items()}
        better = (max if other == FREE.key else min)(of_all, key=lambda name: of_all[name])
        mine, theirs = of_all[best], of_all[better]
        if _is_better(figure, mine, theirs):
            ratio = mine / theirs if theirs else float("inf")
            times = f"{ratio:.3g} times that of {better} ({figure.said(theirs)})" if theirs else f"with {better} none"
            found.append(
                (max(ratio, 1 / ratio if ratio else ratio), f"{figure.called} is {figure.said(mine)}, {times}")
            )
    found.sort(key=lambda one: -one[0])
    return f", but its {' and its '.join(text for _, text in found[:_PRICES_MAX])}" if found else ""


def _alone(variant: VariantSummary) -> Iterator[str]:
    """How long the calls of the only variant took, and what energy all of it."""
    latency = variant["latency_us"]
    mean, p99, longest = latency["mean"], latency["p99"], latency["max"]
    if mean is not None and p99 is not None and longest is not None:
        yield (
            f"{number(latency['n'])} calls take {duration(mean)} on average; one in a hundred takes {duration(p99)} or "
            f"more, the slowest {duration(longest)}."
        )
    energy = energy_mj(variant)
    if energy and variant["time_us"] and energy_is_priced(variant):
        took = FIGURES["energy_total_uJ"].said(1e3 * energy)
        yield f"The measured steps take {took} above idle in {duration(variant['time_us'])}."


def _cards(variants: Sequence[VariantSummary]) -> list[Card]:
    """The numbers of the first screen, as far as they are known of all."""
    every = [known_of(one) for one in variants]
    made = []
    for key in WANTED:
        values = [known.get(key) for known in every]
        known = [value for value in values if value is not None]
        # Of one variant the slowest call stands beside the mean.
        if len(known) == len(values) and any(known) and not (len(variants) == 1 and key == "latency_max_us"):
            made.append(_card(_figure(key), variants, known))
    return made[: CARDS_MAX if len(variants) > 1 else CARDS_MAX - 1]


def _card(figure: Figure, variants: Sequence[VariantSummary], values: list[float]) -> Card:
    label = figure.called[0].upper() + figure.called[1:]
    names = [one["name"] for one in variants]
    if len(values) == 1:
        return Card(label, figure.said(values[0]), _beside(figure.key, variants[0]))
    if len(values) == 2:
        one = Compared(figure, *names, *values)
        return Card(
            label,
            one.card_value,
            f"{figure.said(one.after)} with {names[1]}, {figure.said(one.before)} with {names[0]}",
        )
    least, most = min(values), max(values)
    if least == most:
        return Card(label, figure.said(least), f"the same in all {len(values):,} variants")
    where = [names[values.index(one)] for one in (least, most)]
    return Card(label, f"{figure.said(least)} to {figure.said(most)}", f"least with {where[0]}, most with {where[1]}")


def _beside(key: str, variant: VariantSummary) -> str:
    """What a number of the only variant may be compared with."""
    latency, totals = variant["latency_us"], variant["totals"]
    p99, longest = latency["p99"], latency["max"]
    if key == "latency_mean_us" and p99 is not None and longest is not None:
        return f"one in a hundred takes {duration(p99)} or more, the slowest {duration(longest)}"
    if key == "energy_total_uJ" and variant["energy_uJ"]:
        return f"{100 * variant['energy_uJ']['cpu'] / variant['energy_uJ']['total']:.0f} % of it the CPU's"
    if key == "erases" and variant["erases_per_block"]["mean"]:
        return f"{variant['erases_per_block']['mean']:.3g} times each block on average"
    if key == "page_programs" and variant["write_amplification"]:
        return f"{number(variant['write_amplification'], 2)} times the bytes that the program wrote"
    if key == "page_reads" and variant["read_amplification"]:
        return f"{number(variant['read_amplification'], 2)} times the bytes that the program asked for"
    if key == "time_us" and totals["busy_us"]:
        return f"the chip is busy {100 * totals['busy_us'] / variant['time_us']:.0f} % of it"
    return f"in {duration(variant['time_us'])} of virtual time"
