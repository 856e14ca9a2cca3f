"""The figures of a result as people read them: a row of the table each, wherever they are shown.

Keys are the columns of variants.parquet (`ffslab.text.variants.figures_of`), which keep the result's own units.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from ffslab.answers.summary import VariantSummary
from ffslab.text.energy import energy_is_priced
from ffslab.text.units import Kind, Unit, column, common_unit, said
from ffslab.text.variants import figures_of


@dataclass(frozen=True)
class Figure:
    """`subject`: as a sentence names it ("mean latency of a call"). `less`: whether less of it is better; of the others
    nobody can say. `absent`: what a variant has that does not tell. `steady`: whether only a steady state tells it
    (`ffslab.steady`), because a longer look would turn it round."""

    key: str
    name: str
    kind: Kind = "count"
    digits: int = 0
    subject: str = ""
    less: bool = False
    absent: float | None = None
    steady: bool = False

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


def _cost(
    key: str, name: str, subject: str = "", kind: Kind = "count", digits: int = 0, *, steady: bool = False
) -> Figure:
    return Figure(key, name, kind, digits, subject, less=True, steady=steady)


def _counter(counter: str, name: str, kind: Kind = "count") -> Figure:
    return Figure(f"counter_{counter}", name, kind, absent=0)


FIGURES: dict[str, Figure] = {
    figure.key: figure
    for figure in (
        _cost("time_us", "virtual time", kind="time"),
        Figure("requests", "requests"),
        _cost("latency_mean_us", "latency mean", "mean latency of a call", "time"),
        _cost("latency_p50_us", "latency p50", kind="time"),
        _cost("latency_p99_us", "latency p99", kind="time"),
        _cost("latency_p99_9_us", "latency p99.9", kind="time", steady=True),
        _cost("latency_max_us", "latency max", "slowest call", "time", steady=True),
        _cost("latency_sum_us", "latency sum", "sum of all calls", "time"),
        _cost("page_reads", "page reads", "number of page reads"),
        _cost("page_programs", "page programs", "number of page programs"),
        _cost("erases", "block erases", "number of block erases"),
        Figure("of_setup_page_programs", "of the setup: page programs", absent=0),
        Figure("of_setup_erases", "of the setup: block erases", absent=0),
        Figure("formatting_page_programs", "of formatting: page programs", absent=0),
        Figure("formatting_erases", "of formatting: block erases", absent=0),
        _cost("oob_reads", "OOB reads"),
        _cost("oob_programs", "OOB programs"),
        _cost("busy_us", "chip busy", kind="time"),
        _cost("read_amplification", "read amplification", kind="ratio", digits=2),
        _cost("write_amplification", "write amplification", kind="ratio", digits=2, steady=True),
        _cost("erases_per_block_mean", "erases per block, mean", kind="ratio", digits=2),
        _cost("erases_per_block_sd", "erases per block, sd", kind="ratio", digits=2),
        _cost("energy_cpu_uJ", "energy CPU", kind="energy"),
        _cost("energy_memory_uJ", "energy memory", kind="energy"),
        _cost("energy_total_uJ", "energy total", "energy above idle", "energy"),
        # What RTEMS counts instead of pages of a chip.
        _counter("bdbuf_read", "block cache reads"),
        _counter("read_hits", "block cache hits"),
        _counter("dev_read_requests", "device read requests"),
        _counter("dev_write_requests", "device write requests"),
        _counter("dev_read_bytes", "device read", "size"),
        _counter("dev_write_bytes", "device written", "size"),
        _counter("dev_write_bytes_of_setup", "of the setup: written", "size"),
        _counter("flash_read_ops", "flash reads"),
        _counter("flash_write_ops", "flash writes"),
        _counter("flash_erases", "flash erases"),
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
        _counter("failed_erases", "failed erases"),
        _counter("grown_bad_blocks", "grown bad blocks"),
        _counter("scrubs", "blocks that UBI scrubbed"),
        _counter("tortures", "blocks that UBI tested"),
    )
}
# What is reckoned from a run or a day of runs; no row of a table.
RECKONED: dict[str, Figure] = {
    figure.key: figure
    for figure in (
        Figure("years", "years", "ratio", 1, steady=True),
        Figure("years_until_worn_out", "years until worn out", "ratio", 1, steady=True),
        Figure("erases_per_day", "erases a day", "ratio", 1, less=True, steady=True),
        Figure("page_programs_per_day", "page programs a day", "ratio", 1, less=True, steady=True),
    )
}
# What stands in place of a figure of which too little was seen.
TOO_SHORT = "too short"
# Of many runs and of differences: what people ask for.
SHOWN = (
    *("time_us", "latency_mean_us", "latency_p99_us", "latency_p99_9_us", "latency_max_us", "page_reads"),
    *("page_programs", "erases", "write_amplification", "energy_total_uJ"),
)
# The tails above 99 % stand where there are several runs; a table of one run tells the slowest call.
_NOT_OF_ONE_RUN = frozenset({"latency_p99_9_us"})
ROWS = tuple(figure for figure in FIGURES.values() if figure.key not in _NOT_OF_ONE_RUN)


def needs_steady(key: str) -> bool:
    """Whether only a steady state tells a figure of a run, of a day, or of one of several workloads (NAME.FIGURE)."""
    own = key.rpartition(".")[2]
    figure = FIGURES.get(own) or RECKONED.get(own)
    return figure is not None and figure.steady


def values_of(variant: VariantSummary) -> dict[str, float | None]:
    """What a variant has of each figure; no energy where prices of it have no source (`ffslab.text.energy`), and before
    the state is steady nothing that a longer look would turn round."""
    known = figures_of(variant)
    if known["needs_us"] is not None:
        known |= {key: None for key, figure in FIGURES.items() if figure.steady}
    if not energy_is_priced(variant):
        known = {key: value for key, value in known.items() if not key.startswith("energy_")}
    if not variant["latency_us"]["n"]:
        known["latency_sum_us"] = None
    found: dict[str, float | None] = {}
    for key, figure in FIGURES.items():
        value = known.get(key, figure.absent)
        assert value is None or isinstance(value, int | float), key
        found[key] = value
    return found


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


def table_of(variants: Sequence[VariantSummary]) -> list[Told]:
    """Each figure of a run with the value of each variant."""
    every = [values_of(variant) for variant in variants]
    known = [figures_of(variant) for variant in variants]
    return [
        Told(
            figure,
            [values[figure.key] for values in every],
            [bool(figure.steady and own["needs_us"] is not None and own.get(figure.key)) for own in known],
        )
        for figure in ROWS
    ]
