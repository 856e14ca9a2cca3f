"""What a person takes from a run first: three or four numbers as cards, and the sentences over them.

Cards and sentences are made here from the same figures, so that they cannot say different things: each comparison is a
`Compared`, and its sign, its words and the number on the card come from it alone. Who failed stands first and never
wins; who wins in one figure and is worse in another one is told with what that costs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ffslab.answers.summary import Summary, VariantSummary
from ffslab.registries import vocabulary
from ffslab.steady import variant_needs_us
from ffslab.text.durations import duration
from ffslab.text.energy import energy_is_priced, energy_mj, missing_price
from ffslab.text.failures import Fallen, failures_said, fell_short
from ffslab.text.figures import FIGURES, Figure, values_of
from ffslab.text.tables import number, percent
from ffslab.text.time_table import axis_text

# In this order cards are made, as far as the figures are there; the time stands third where it disagrees.
WANTED = ("latency_mean_us", "latency_max_us", "energy_total_uJ", "erases", "page_programs", "page_reads", "time_us")
CARDS_MAX = 4
# What a person cares for beside the figure in which somebody is best.
CARED = ("latency_mean_us", "time_us", "latency_max_us", "energy_total_uJ", "erases", "page_programs", "free_B")
# So much worse, as a ratio, is a price worth telling; so much is not worth a digit.
_PRICE, _SAME = 1.1, 0.0005
_PRICES_MAX = 2
# Longer names of two variants fill a card.
_NAMES_MAX = 40
# Values that are further apart than this stand in units of their own.
_ONE_UNIT = 10

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
        """The change in words: "60.3 % less", "more" than none, "the same"."""
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
        amounts = self.figure.said(self.after) if than == "as" else self.amounts
        return f"With {self.second} the {self.figure.called} is {self.in_words} {than} with {self.first} ({amounts})"


def _is_better(figure: Figure, before: float, after: float) -> bool | None:
    """Whether `after` is better than `before`: at least so much that it is a price worth telling."""
    low, high = sorted((before, after))
    if low < 0 or high <= low * _PRICE or high - low < _SAME * high:
        return None
    lower_is_better = figure.key != FREE.key
    return (after < before) == lower_is_better


class Headline(NamedTuple):
    """`failures`: who did not do all of it. `sentences`: the first one is the answer. `cards`: its numbers. `missing`:
    why there is no energy."""

    failures: list[str]
    sentences: list[str]
    cards: list[Card]
    missing: list[str]


def headline_of(summary: Summary) -> Headline:
    """The headline of a run."""
    variants = summary["variants"]
    fallen = [Fallen(one["name"], one["axes"], why) for one in variants if (why := fell_short(one)) is not None]
    names = {one.name for one in fallen}
    standing = [one for one in variants if one["name"] not in names]
    said: list[str] = []
    is_short = any(variant_needs_us(one) is not None for one in standing)
    if len(standing) == 1:
        said += _alone(standing[0])
    elif len(standing) == 2:
        said += compared_said({one["name"]: known_of(one) for one in standing}, is_short=is_short)
    elif standing:
        said += ranked_said([Ranked.of(one) for one in standing], is_short=is_short)
    said += too_short_said(standing)
    failures = failures_said(summary.get("failed", []), fallen, variants)
    # The cards are of those that the sentences compare.
    return Headline(failures, said, _cards(standing or variants), list(dict.fromkeys(energy_said(variants))))


def energy_said(variants: Sequence[VariantSummary]) -> Iterator[str]:
    """Why there is no energy, or what is missing for it to be told."""
    for variant in variants:
        why = variant.get("no_energy")
        energy = variant["energy_uJ"]
        if why is None and energy is not None and energy["total"]:
            why = missing_price(variant.get("stack", {}))
        if why:
            yield f"Without energy: {why}."


def too_short_said(variants: Sequence[VariantSummary]) -> Iterator[str]:
    """What a longer look would turn round, and how long that has to be."""
    needs = {one["name"]: need for one in variants if (need := variant_needs_us(one)) is not None}
    if not needs:
        return
    what = "years, write amplification and a worst case"
    if len(variants) > 1:
        what += ", and for a winner"
    longest = max(needs, key=lambda name: needs[name])
    whose = f" with {longest}" if len(variants) > 1 else ""
    many = f" of {len(needs):,} of {len(variants):,} variants" if len(variants) > 2 else ""
    yield (
        f"Too short for {what}: what was seen{many} is not steady yet. "
        f"This needs about {duration(needs[longest])} of the workload{whose}."
    )


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


def compared_said(figures: dict[str, dict[str, float]], *, is_short: bool = False) -> Iterator[str]:
    """Two variants: the change of what they are compared in, and what goes the other way. `is_short`: a longer look
    may turn it round."""
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
    sentence = f"{main.sentence()}{but(prices)}."
    yield f"In what was seen, w{sentence[1:]}" if is_short else sentence
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


class Ranked(NamedTuple):
    """One of several variants. `choice`: what it chose, by its axes; `work`: what it did, by those of its steps and its
    initial state: who does other work is not compared."""

    name: str
    choice: str
    work: str
    known: dict[str, float]

    @classmethod
    def of(cls, variant: VariantSummary) -> Ranked:
        """What is known of a variant."""
        axes = variant["axes"]
        work = [axis for axis in axes if axis == "initial" or axis.partition(".")[0] in vocabulary.steps()]
        choice = ", ".join(f"{axis}={axis_text(axes[axis])}" for axis in axes if axis not in work)
        return cls(variant["name"], choice, str([axes[axis] for axis in work]), known_of(variant))


def ranked_said(every: Sequence[Ranked], *, is_short: bool = False) -> Iterator[str]:
    """More variants: who is best in what they are compared in, and in energy, each with what being best costs; nobody
    is where too little was seen (`is_short`)."""
    works: dict[str, list[Ranked]] = {}
    for one in every:
        works.setdefault(one.work, []).append(one)
    told: set[str] = set()
    for key in (_first_of({one.name: one.known for one in every}), "energy_total_uJ"):
        if not all(key in one.known for one in every) or not any(one.known[key] for one in every):
            continue
        if is_short:
            other = "; not all of them do the same work" if len(works) > 1 else ""
            yield f"In what was seen, t{_range_said(key, every)[1:]}{other}."
        elif len(works) == 1:
            yield from _best_said(key, every, told)
        elif contested := [some for some in works.values() if len(some) > 1]:
            yield from _wins_said(key, contested, told)
        else:
            yield f"{_range_said(key, every)}; each of them does other work."


def _words(figure: Figure) -> tuple[str, str]:
    return ("shortest", "longest") if figure.kind == "time" else ("least", "most")


def _best_said(key: str, every: Sequence[Ranked], told: set[str]) -> Iterator[str]:
    """A sentence that names the best variant among those that did the same work."""
    figure = _figure(key)
    order = sorted(every, key=lambda one: one.known[key])
    best, worst = order[0], order[-1]
    least, most = best.known[key], worst.known[key]
    if most - least < _SAME * most:
        yield f"The {figure.called} is the same in all of them, {figure.said(least)}."
        return
    word, other = _words(figure)
    prices = [] if best.name in told else _prices(key, best, every)
    told.add(best.name)
    beside = f"{figure.said(least)} (the {other}: {figure.said(most)}, {worst.name})"
    but_its = f", but its {' and its '.join(one.said for one in prices[:_PRICES_MAX])}" if prices else ""
    yield f"{best.name} has the {word} {figure.called}, {beside}{but_its}."


def _wins_said(key: str, works: Sequence[Sequence[Ranked]], told: set[str]) -> Iterator[str]:
    """A sentence that says which variant is best in how many groups that each did the same work."""
    figure = _figure(key)
    wins: dict[str, list[tuple[Ranked, Sequence[Ranked]]]] = {}
    for some in works:
        best = min(some, key=lambda one: one.known[key])
        wins.setdefault(best.choice, []).append((best, some))
    order = sorted(wins, key=lambda choice: -len(wins[choice]))
    first = wins[order[0]]
    values = [best.known[key] for best, _ in first]
    beside = f"{figure.said(min(values))} to {figure.said(max(values))}"
    others = ", ".join(f"{choice} in {len(wins[choice]):,}" for choice in order[1 : 1 + _PRICES_MAX])
    word, _ = _words(figure)
    costs: dict[str, list[float]] = {}
    for best, some in [] if order[0] in told else first:
        for price in _prices(key, best, some):
            costs.setdefault(price.called, []).append(price.ratio)
    told.add(order[0])
    most = sorted(costs, key=lambda called: -len(costs[called]))[:_PRICES_MAX]
    but_its = " and ".join(
        f"its {called} is worse than another one's in {len(costs[called]):,} of them" for called in most
    )
    yield (
        f"{order[0]} has the {word} {figure.called} in {len(first):,} of {len(works):,} workloads ({beside})"
        f"{f', {others}' if others else ''}{f', but {but_its}' if but_its else ''}."
    )


def _range_said(key: str, every: Sequence[Ranked]) -> str:
    """The sentence where no two variants can be compared: the range of the figure."""
    figure = _figure(key)
    order = sorted(every, key=lambda one: one.known[key])
    ends = [f"{figure.said(one.known[key])} ({one.name})" for one in (order[0], order[-1])]
    return f"The {figure.called} goes from {ends[0]} to {ends[1]}"


class _Price(NamedTuple):
    called: str
    said: str
    # How many times as bad, at least 1.
    ratio: float


def _prices(key: str, best: Ranked, every: Sequence[Ranked]) -> list[_Price]:
    """In what the best one is worse than another one that did the same, what is worst first."""
    found: list[_Price] = []
    for other in CARED:
        if other == key or not all(other in one.known for one in every):
            continue
        figure = _figure(other)
        better = (max if other == FREE.key else min)(every, key=lambda one: one.known[other])
        mine, theirs = best.known[other], better.known[other]
        if _is_better(figure, mine, theirs):
            ratio = mine / theirs if theirs else float("inf")
            beside = f"with {better.name} none"
            if theirs:
                much = f"{ratio:.3g} times" if ratio > 1 else f"{100 * (1 - ratio):.0f} % less than"
                beside = f"{much} that of {better.name} ({figure.said(theirs)})"
            far = max(ratio, 1 / ratio) if ratio else float("inf")
            found.append(_Price(figure.called, f"{figure.called} is {figure.said(mine)}, {beside}", far))
    return sorted(found, key=lambda one: -one.ratio)


def _alone(variant: VariantSummary) -> Iterator[str]:
    """How long the calls of the only variant took, and what energy all of it."""
    latency = variant["latency_us"]
    mean, p99, longest = latency["mean"], latency["p99"], latency["max"]
    if mean is not None and latency["n"] == 1:
        yield f"1 call takes {duration(mean)}."
    elif mean is not None and p99 is not None and longest is not None:
        slowest = "the slowest" if variant_needs_us(variant) is None else "the slowest that was seen"
        yield (
            f"{number(latency['n'])} calls take {duration(mean)} on average; one in a hundred takes {duration(p99)} or "
            f"more, {slowest} {duration(longest)}."
        )
    energy = energy_mj(variant)
    if energy and variant["time_us"] and energy_is_priced(variant):
        took = FIGURES["energy_total_uJ"].said(1e3 * energy)
        yield f"The measured steps take {took} above idle in {duration(variant['time_us'])}."


def _cards(variants: Sequence[VariantSummary]) -> list[Card]:
    """The numbers of the first screen, as far as they are known of all."""
    every = [known_of(one) for one in variants]
    made: list[Card] = []
    if not every:
        return made
    wanted = (*WANTED[:2], "time_us", *WANTED[2:-1]) if _times_disagree(every) else WANTED
    for key in wanted:
        values = [known.get(key) for known in every]
        known = [value for value in values if value is not None]
        # Of one variant the slowest call stands beside the mean.
        if len(known) == len(values) and any(known) and not (len(variants) == 1 and key == "latency_max_us"):
            made.append(_card(_figure(key), variants, known))
    return made[: CARDS_MAX if len(variants) > 1 else CARDS_MAX - 1]


def _times_disagree(every: Sequence[dict[str, float]]) -> bool:
    """Whether calls are not all of it, as with a sync at the end, so that who makes the fastest ones is not the first
    to be done."""
    if not all(known.get("latency_mean_us") and known.get("time_us") for known in every):
        return False
    fastest = min(every, key=lambda known: known["latency_mean_us"])
    return fastest["time_us"] > _PRICE * min(known["time_us"] for known in every)


def _card(figure: Figure, variants: Sequence[VariantSummary], values: list[float]) -> Card:
    label = figure.called[0].upper() + figure.called[1:]
    names = [one["name"] for one in variants]
    if len(values) == 1:
        return Card(label, figure.said(values[0]), _beside(figure.key, variants[0]))
    if len(values) == 2:
        one = Compared(figure, names[0], names[1], values[0], values[1])
        return Card(
            label,
            one.card_value,
            f"{figure.said(one.after)} with {names[1]}, {figure.said(one.before)} with {names[0]}",
        )
    least, most = min(values), max(values)
    if least == most:
        return Card(label, figure.said(least), f"the same in all {len(values):,} variants")
    where = [names[values.index(one)] for one in (least, most)]
    if sum(map(len, where)) > _NAMES_MAX:
        # Of many axes the choice is told, and the work it did is in the table.
        chosen = [Ranked.of(variants[values.index(one)]).choice for one in (least, most)]
        where = chosen if all(chosen) and chosen[0] != chosen[1] else where
    return Card(label, _range(figure, least, most), f"least with {where[0]}, most with {where[1]}")


def _range(figure: Figure, least: float, most: float) -> str:
    """Two values of a figure: in one unit where that fits both."""
    if most > _ONE_UNIT * least > 0:
        return f"{figure.said(least)} to {figure.said(most)}"
    unit = figure.unit([least, most])
    return f"{unit.cell(least)} to {unit.cell(most)} {unit.word}".rstrip()


def _beside(key: str, variant: VariantSummary) -> str:
    """What a number of the only variant may be compared with."""
    latency, totals, known = variant["latency_us"], variant["totals"], values_of(variant)
    p99, longest, amplification = latency["p99"], known["latency_max_us"], known["write_amplification"]
    if key == "latency_mean_us" and p99 is not None:
        slowest = "" if longest is None else f", the slowest {duration(longest)}"
        return f"one in a hundred takes {duration(p99)} or more{slowest}"
    if key == "energy_total_uJ" and variant["energy_uJ"]:
        return f"{100 * variant['energy_uJ']['cpu'] / variant['energy_uJ']['total']:.0f} % of it the CPU's"
    if key == "erases" and variant["erases_per_block"]["mean"]:
        return f"{variant['erases_per_block']['mean']:.3g} times each block on average"
    if key == "page_programs" and amplification:
        return f"{number(amplification, 2)} times the bytes that the program wrote"
    if key == "page_reads" and variant["read_amplification"]:
        return f"{number(variant['read_amplification'], 2)} times the bytes that the program asked for"
    if key == "time_us" and totals["busy_us"]:
        return f"the chip is busy {100 * totals['busy_us'] / variant['time_us']:.0f} % of it"
    return f"in {duration(variant['time_us'])} of virtual time"
