"""The figures of a result: each is declared here, once, and whatever shows, keeps or limits figures reads it.

A row says what the figure is called, where it stands in the summary of a variant, of what kind it is, what it is good
for, and where people see it. Keys are the columns of variants.parquet, which keep the result's own units.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Flag, IntEnum, auto
from typing import Any, Literal, NamedTuple

from ffslab.answers.summary import VariantSummary
from ffslab.steady import variant_needs_us
from ffslab.text.energy import energy_is_priced
from ffslab.text.units import Kind, Unit, column, common_unit, said
from ffslab.text.worn import years_until_worn_out

Better = Literal["less", "more"]
# The operations, times and bytes that a figure adds up: by these reasons, steps and files of a change are told.
Amount = Literal["page_reads", "page_programs", "erases", "time_us", "written_B"]
# A place in a summary, as keys with points between them, or what reckons the figure from it.
Source = str | Callable[[VariantSummary], float | None]


class Place(Flag):
    """Where a figure stands. Each is a column of variants.parquet."""

    # A row of the table of a run, on the terminal and on its page.
    TERMINAL = auto()
    PAGE = auto()
    # A column where each variant is a row, and where each pair of variants is one.
    ROWS = auto()
    PAIRS = auto()
    # A row for each variant that was run several times; `ffslab_lab::repeats` has the same list.
    REPEATS = auto()
    # A row of `ffslab diff`.
    DIFF = auto()
    # A column of stores, which rules of budgets, studies and questions may name.
    STORE = auto()

    KEPT = STORE
    TABLE = TERMINAL | PAGE | STORE
    MANY = REPEATS | DIFF


class Group(IntEnum):
    """Rows of tables stand in this order, and in that of the declaration; columns of files in the latter alone."""

    WORK = auto()
    SETUP = auto()
    FORMATTING = auto()
    CHIP = auto()
    RECKONED = auto()


@dataclass(frozen=True)
class Figure:
    """`subject`: as a sentence names it ("mean latency of a call"). `better`: of the others nobody can say. `absent`:
    what a variant has that does not tell. `steady`: whether only a steady state tells it (`ffslab.steady`), because a
    longer look would turn it round. `adds_up`: whether a run that does the same twice has twice as much of it."""

    key: str
    name: str
    kind: Kind = "count"
    digits: int = 0
    subject: str = ""
    source: Source = ""
    at: Place = Place.TABLE
    group: Group = Group.WORK
    better: Better | None = None
    absent: float | None = None
    steady: bool = False
    adds_up: bool = True
    amount: Amount = "time_us"

    def of(self, variant: VariantSummary) -> Any:
        """What the summary of a variant has of it; `None`: nothing."""
        if not isinstance(self.source, str):
            return self.source(variant)
        found: Any = variant
        for key in (self.source or self.key).split("."):
            found = None if found is None else found.get(key)
        return found

    def unit(self, values: Iterable[float | None]) -> Unit:
        """The unit of values that stand beside each other."""
        return common_unit(self.kind, values, self.digits)

    def row(self, values: Sequence[float | None]) -> list[str]:
        """A row of a table: its head with the unit, and the cells."""
        return column(self.name, self.kind, values, self.digits)

    def said(self, value: float | None) -> str:
        """A value by itself."""
        return said(self.kind, value, self.digits)

    @property
    def called(self) -> str:
        """The name of the figure in a sentence."""
        return self.subject or self.name


def _ratio(key: str, name: str, source: str = "", **declared: Any) -> Figure:
    return Figure(
        *(key, name, "ratio", 2),
        source=source,
        group=Group.RECKONED,
        better="less",
        **{"adds_up": False} | declared,
    )


def _time(key: str, name: str, source: Source = "", at: Place = Place.KEPT, **declared: Any) -> Figure:
    return Figure(key, name, "time", source=source, at=at, **declared)


def _latency(which: str, name: str, at: Place = Place.KEPT, **declared: Any) -> Figure:
    return _time(f"latency_{which}_us", name, f"latency_us.{which}", at, **{"adds_up": False} | declared)


def _total(key: str, name: str, at: Place = Place.KEPT, **declared: Any) -> Figure:
    return Figure(key, name, source=f"totals.{key}", at=at, **{"better": "less"} | declared)


def _of_before(about: str, name: str, place: str, group: Group) -> Iterator[Figure]:
    """Programs and erases of what came before the measured steps."""
    operations: tuple[tuple[Amount, str], ...] = (("page_programs", "page programs"), ("erases", "block erases"))
    for key, word in operations:
        source = f"{place}.{key}"
        yield Figure(f"{about}_{key}", f"{name}: {word}", source=source, group=group, absent=0, amount=key)


def _rate(key: str, name: str, amount: Literal["user_read_B", "user_written_B"]) -> Figure:
    """Bytes of programs in a second of the measured steps; of none there is no rate."""

    def reckoned(variant: VariantSummary) -> float | None:
        count, time_us = variant[amount], variant["time_us"]
        return 1e6 * count / time_us if count and time_us else None

    return Figure(key, name, "size", source=reckoned, at=Place.PAGE | Place.STORE, better="more", adds_up=False)


def _energy(rail: str, name: str, at: Place = Place.TABLE, subject: str = "") -> Figure:
    return Figure(f"energy_{rail}_uJ", name, "energy", 0, subject, f"energy_uJ.{rail}", at, Group.RECKONED, "less")


def _counter(counter: str, name: str, kind: Kind = "count", **declared: Any) -> Figure:
    """What only some machines count: no column of stores."""
    at = declared.pop("at", Place.TERMINAL | Place.PAGE)
    return Figure(
        f"counter_{counter}",
        name,
        kind,
        source=f"counters.{counter}",
        at=at,
        group=Group.RECKONED,
        absent=0,
        **declared,
    )


_EVERYWHERE = Place.TABLE | Place.ROWS | Place.PAIRS | Place.MANY
_OF_DEVICE = Place.TERMINAL | Place.PAGE | Place.ROWS | Place.PAIRS

FIGURES: dict[str, Figure] = {
    figure.key: figure
    for figure in (
        _time("time_us", "virtual time", at=Place.TABLE | Place.ROWS | Place.MANY, better="less"),
        _time("program_us", "time of the program"),
        _time("idle_us", "idle time"),
        _time("setup_time_us", "time of the setup", adds_up=False),
        Figure("user_read_B", "read by programs", "size", at=Place.KEPT),
        Figure("user_written_B", "written by programs", "size", at=Place.KEPT, amount="written_B"),
        _rate("read_B_per_s", "read by programs in a second", "user_read_B"),
        _rate("written_B_per_s", "written by programs in a second", "user_written_B"),
        Figure("requests", "requests", source="latency_us.n", at=Place.TABLE | Place.ROWS),
        _latency("mean", "latency mean", _EVERYWHERE, subject="mean latency of a call", better="less"),
        _latency("sd", "latency sd"),
        _latency("min", "latency least"),
        _latency("p50", "latency p50", Place.TABLE, better="less"),
        _latency("p90", "latency p90", better="less"),
        _latency("p99", "latency p99", Place.TABLE | Place.ROWS | Place.MANY, better="less"),
        # The tails above 99 % stand where there are several runs; a table of one run tells the slowest call.
        _latency("p99_9", "latency p99.9", Place.KEPT | Place.MANY, better="less", steady=True),
        _latency("max", "latency max", Place.TABLE | Place.MANY, subject="slowest call", better="less", steady=True),
        _latency("sum", "latency sum", Place.TABLE, subject="sum of all calls", better="less", adds_up=True),
        _total("page_reads", "page reads", _EVERYWHERE, subject="number of page reads", amount="page_reads"),
        _total("oob_reads", "OOB reads", Place.TABLE, group=Group.CHIP, amount="page_reads"),
        _total(
            "page_programs", "page programs", _EVERYWHERE, subject="number of page programs", amount="page_programs"
        ),
        _total("oob_programs", "OOB programs", Place.TABLE, group=Group.CHIP, amount="page_programs"),
        _total("erases", "block erases", _EVERYWHERE, subject="number of block erases", amount="erases"),
        _total("partial_page_reads", "partial page reads", better=None, amount="page_reads"),
        _total("reprograms", "programs of a page again", better=None),
        _total("bus_out_B", "read over the bus", kind="size", better=None, amount="page_reads"),
        _total("bus_in_B", "written over the bus", kind="size", better=None, amount="page_programs"),
        _total("busy_us", "chip busy", Place.TABLE, group=Group.CHIP, kind="time"),
        _total("driver_us", "time of the driver", kind="time", better=None),
        _total("cpu_us", "time of calls and file system", kind="time", better=None),
        *_of_before("formatting", "of formatting", "formatting", Group.FORMATTING),
        *_of_before("of_setup", "of the setup", "of_setup.totals", Group.SETUP),
        _ratio("read_amplification", "read amplification", amount="page_reads"),
        _ratio(
            *("write_amplification", "write amplification"),
            at=Place.TABLE | Place.ROWS | Place.MANY,
            steady=True,
            amount="page_programs",
        ),
        _ratio(
            *("erases_per_block_mean", "erases per block, mean", "erases_per_block.mean"),
            adds_up=True,
            amount="erases",
        ),
        _ratio("erases_per_block_sd", "erases per block, sd", "erases_per_block.sd", amount="erases"),
        _energy("cpu", "energy CPU"),
        _energy("memory", "energy memory"),
        _energy("total", "energy total", _EVERYWHERE, "energy above idle"),
        Figure(
            *("years_until_worn_out", "years until worn out", "ratio", 1),
            source=years_until_worn_out,
            at=Place.KEPT,
            better="more",
            steady=True,
            adds_up=False,
            amount="erases",
        ),
        _time("needs_us", "time until steady", variant_needs_us, adds_up=False),
        # What RTEMS counts instead of pages of a chip.
        _counter("bdbuf_read", "block cache reads"),
        _counter("read_hits", "block cache hits"),
        _counter("dev_read_requests", "device read requests", at=_OF_DEVICE),
        _counter("dev_write_requests", "device write requests", at=_OF_DEVICE),
        _counter("dev_read_bytes", "device read", "size"),
        _counter("dev_write_bytes", "device written", "size"),
        _counter("dev_write_bytes_of_setup", "of the setup: written", "size"),
        _counter("flash_read_ops", "flash reads"),
        _counter("flash_write_ops", "flash writes"),
        _counter("flash_erases", "flash erases", amount="erases"),
        _counter("imfs_memfile_blocks", "memory blocks"),
        # Of a translation layer.
        _counter("ftl_host_pages", "pages that the host wrote"),
        _counter("ftl_padded_pages", "pages written with the rest of a block"),
        _counter("ftl_gc_pages", "pages that collection moved"),
        _counter("ftl_idle_pages", "of these while nobody waited"),
        _counter("ftl_other_moved_pages", "other pages that were moved"),
        _counter("ftl_trim_pages", "pages of trims"),
        _counter("ftl_map_read_pages", "map pages read"),
        _counter("ftl_map_written_pages", "map pages written"),
        _counter("ftl_map_hits", "map entries in RAM"),
        _counter("ftl_map_misses", "map entries missed"),
        _counter("ftl_folded_pages", "pages folded from the SLC cache"),
        _counter("ftl_copied_back_pages", "pages copied inside the chip"),
        _counter("ftl_checkpoint_pages", "checkpoint pages"),
        _counter("ftl_collected_blocks", "blocks collected"),
        _counter("ftl_switch_merges", "switch merges"),
        _counter("ftl_partial_merges", "partial merges"),
        _counter("ftl_full_merges", "full merges"),
        _counter("ftl_failed_programs", "failed programs of the layer"),
        # Of a chip that ages.
        _counter("corrected_bits", "corrected bits"),
        _counter("threshold_frames", "frames at the ECC threshold"),
        _counter("uncorrectable_frames", "uncorrectable frames"),
        _counter("read_retries", "read retries"),
        _counter("failed_programs", "failed programs"),
        _counter("failed_erases", "failed erases", amount="erases"),
        _counter("grown_bad_blocks", "grown bad blocks"),
        _counter("scrubs", "blocks that UBI scrubbed"),
        _counter("tortures", "blocks that UBI tested"),
    )
}
# What is reckoned from runs and how often they happen a day; neither a column nor a row of a table.
RECKONED: dict[str, Figure] = {
    figure.key: figure
    for figure in (
        Figure("years", "years", "ratio", 1, better="more", steady=True, amount="erases"),
        Figure("erases_per_day", "erases a day", "ratio", 1, better="less", steady=True, amount="erases"),
        Figure(
            *("page_programs_per_day", "page programs a day", "ratio", 1),
            better="less",
            steady=True,
            amount="page_programs",
        ),
    )
}
# What stands in place of a figure of which too little was seen.
TOO_SHORT = "too short"


def at(place: Place) -> list[Figure]:
    """The figures that stand in a place, in the order in which they do."""
    found = [figure for figure in FIGURES.values() if place in figure.at]
    return found if place is Place.STORE else sorted(found, key=lambda figure: figure.group)


def declared(key: str) -> Figure | None:
    """A figure of a run or of a day; `None`: a counter that has no row here, or no figure at all."""
    return FIGURES.get(key) or RECKONED.get(key)


def needs_steady(key: str) -> bool:
    """Whether only a steady state tells a figure of a run, of a day, or of one of several workloads (NAME.FIGURE)."""
    figure = declared(key.rpartition(".")[2])
    return figure is not None and figure.steady


def figures_of(variant: VariantSummary) -> dict[str, Any]:
    """Every figure of the variant, or `None`, by its column; what it counts beside them, too."""
    counted = {f"counter_{name}": value for name, value in variant.get("counters", {}).items()}
    own = {key: figure.of(variant) for key, figure in FIGURES.items() if Place.STORE in figure.at}
    return own | counted


def known_figures(variant: VariantSummary) -> dict[str, Any]:
    """`figures_of` without the energy of which nothing is known (`ffslab.text.energy`): a 0 would keep any limit."""
    every, priced = figures_of(variant), energy_is_priced(variant)
    return {key: value if priced or not key.startswith("energy_") else None for key, value in every.items()}


def values_of(variant: VariantSummary) -> dict[str, float | None]:
    """What a variant has of each figure; before the state is steady nothing that a longer look would turn round."""
    known = known_figures(variant)
    if known["needs_us"] is not None:
        known |= {key: None for key, figure in FIGURES.items() if figure.steady}
    if not variant["latency_us"]["n"]:
        known["latency_sum_us"] = None
    return {key: known.get(key, figure.absent) for key, figure in FIGURES.items()}


class Told(NamedTuple):
    """A figure with the value of each variant. `short`: of which variants too little was seen to tell it."""

    figure: Figure
    values: list[float | None]
    short: list[bool]

    def row(self) -> list[str]:
        """A row of a table: its head with the unit, and the cells."""
        head, *cells = self.figure.row(self.values)
        head = head if any(value is not None for value in self.values) else self.figure.name
        return [head, *(TOO_SHORT if short else cell for short, cell in zip(self.short, cells, strict=True))]

    @property
    def is_there(self) -> bool:
        """Whether anybody has it; what is too short everywhere is there, too."""
        return any(self.values) or any(self.short)


def table_of(variants: Sequence[VariantSummary], place: Place) -> list[Told]:
    """The figures of a place with the value of each variant."""
    every = [values_of(variant) for variant in variants]
    known = [figures_of(variant) for variant in variants]
    return [
        Told(
            figure,
            [values[figure.key] for values in every],
            [bool(figure.steady and own["needs_us"] is not None and own.get(figure.key)) for own in known],
        )
        for figure in at(place)
    ]
