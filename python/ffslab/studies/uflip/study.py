"""Runs the study: size of the device, phases of the base patterns, pause between experiments, then all sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffslab import steps
from ffslab._native import InputError
from ffslab.answers.typed_keys import BasePattern
from ffslab.answers.uflip_study import PatternPhases, UflipDevice, UflipPoint, UflipStudy
from ffslab.api.experiment import Experiment
from ffslab.api.run import part_of
from ffslab.files.inputs import read_text
from ffslab.files.toml_tables import check_keys, read_toml, table_at
from ffslab.studies.uflip.phases import lingering_of, phases_of
from ffslab.studies.uflip.plan import (
    BASE,
    FILE,
    IO_BYTES,
    SECTOR_BYTES,
    Counts,
    Point,
    State,
    formatting,
    sessions,
)
from ffslab.studies.uflip.table import device_row
from ffslab.text.machine_line import Seen, line
from ffslab.text.tables import counted

if TYPE_CHECKING:
    from ffslab.api.run import Progress, Run
    from ffslab.steps import Step

_KEYS = ("title", "stack", "axes", "seed")
# Calls of each base pattern in which phases are looked for: so many times the device, within these limits.
PHASE_TIMES, PHASE_CALLS_LEAST, PHASE_CALLS_MAX = 2, 1_024, 8_192
COUNT_LEAST, COUNT_MAX = 64, 512
# Of the look for what lingers: reads before and after, and random writes between them.
READS_N, WRITES_N, READS_AFTER_N = 256, 256, 1_024
PAUSE_LEAST_US = 1_000_000
# Share of the progress after which phases and pause are known.
LOOKED_DONE = 0.3


Axes = Mapping[str, object]


@dataclass(frozen=True)
class UflipResult:
    """The answer, and the response times of the calls in which phases were looked for, by device and base pattern."""

    answer: UflipStudy
    series_us: Mapping[str, Mapping[str, Sequence[float]]]


@dataclass(frozen=True)
class Uflip:
    """Devices, and the state in which they are measured. Each variant of the axes is a device."""

    data: Mapping[str, Any]
    file_name: str = "<devices>"
    base_dir: Path = Path()
    state: State = State.RANDOM

    @classmethod
    def from_file(cls, path: str | Path, state: State = State.RANDOM) -> Uflip:
        """The devices of a TOML file: `[stack]`, and `[axes]` if there are several. Its relative paths start at its
        folder.

        Raises `ffslab.InputError` with one line when it is none.
        """
        path = Path(path)
        data = read_toml(read_text(path, "experiment"), str(path), _checked)
        return cls(data, str(path), path.parent, state)

    @property
    def title(self) -> str:
        return str(self.data.get("title", "uFLIP"))

    def run(self, progress: Progress | None = None, jobs: int | None = None) -> UflipResult:
        """Measures all devices. `progress` is called with the finished share now and then."""
        sizes = self._sizes(jobs)
        found, series = self._phases(sizes, part_of(progress, 0, 4), jobs)
        lingering = self._lingering(sizes, jobs)
        devices: list[UflipDevice] = []
        for at, (name, device) in enumerate(sizes.items()):
            share = _between(progress, LOOKED_DONE, at, len(sizes))
            devices.append(self._device(name, device, found[name], lingering[name], share, jobs))
        answer: UflipStudy = {
            "title": self.title,
            "machine": line([Seen(one.stack, self.state.value) for one in sizes.values()], _calls(devices)),
            "state": self.state.value,
            "io_size_B": IO_BYTES,
            "devices": devices,
        }
        return UflipResult(answer, series)

    def _experiment(self, size_bytes: int, measure: Sequence[Step], axes: Axes | None = None) -> Experiment:
        """An experiment on the opened device in its state. `axes`: in place of those of the file."""
        opened = [steps.open(file=FILE, flags=["rdwr"])]
        formatted = formatting(self.state, size_bytes) if size_bytes else []
        data = {
            **self.data,
            "title": self.title,
            "axes": self.data.get("axes") if axes is None else dict(axes) or None,
            "state": [*opened, *formatted, steps.close(file=FILE)] if formatted else None,
            "setup": opened,
            "measure": list(measure),
        }
        return Experiment.from_data(data, self.file_name, self.base_dir)

    def _sizes(self, jobs: int | None) -> dict[str, _Device]:
        """How large each device is: where the last of its sectors begins, which one step backwards from the first
        reaches."""
        last = steps.uflip(file=FILE, pattern="SR", io_size_B=SECTOR_BYTES, io_count=2, incr=-1)
        run = self._experiment(0, [last]).run(jobs=jobs).whole()
        sizes = _per_variant(run, "offset_B")
        found = {}
        for variant in run.summary["variants"]:
            size_bytes = int(max(sizes[variant["name"]])) + SECTOR_BYTES
            if size_bytes < 32 * IO_BYTES:
                raise InputError(f"{self.file_name}: a device of {size_bytes} B is too small for calls of {IO_BYTES} B")
            name = variant["name"] if len(run.summary["variants"]) > 1 else self.title
            found[name] = _Device(size_bytes, variant["axes"], variant["stack"])
        return found

    def _phases(
        self, sizes: Mapping[str, _Device], progress: Progress | None, jobs: int | None
    ) -> tuple[dict[str, list[PatternPhases]], dict[str, dict[str, list[float]]]]:
        found: dict[str, list[PatternPhases]] = {}
        series: dict[str, dict[str, list[float]]] = {}
        for at, (name, device) in enumerate(sizes.items()):
            calls = max(PHASE_CALLS_LEAST, min(PHASE_CALLS_MAX, PHASE_TIMES * device.size_bytes // IO_BYTES))
            measured = steps.uflip(file=FILE, pattern="SR", io_size_B=IO_BYTES, io_count=calls)
            axes = {**device.fixed, "uflip.pattern": list(BASE)}
            experiment = self._experiment(device.size_bytes, [measured], axes)
            run = experiment.run(part_of(progress, at, len(sizes)), jobs=jobs).whole()
            latencies = _per_variant(run, "latency_us")
            by_pattern = {str(one["axes"]["uflip.pattern"]): latencies[one["name"]] for one in run.summary["variants"]}
            series[name] = by_pattern
            found[name] = [_pattern_phases(pattern, by_pattern[pattern]) for pattern in BASE]
        return found, series

    def _lingering(self, sizes: Mapping[str, _Device], jobs: int | None) -> dict[str, float]:
        """How long reads are slowed down by random writes before them."""
        found = {}
        for name, device in sizes.items():
            batches: tuple[tuple[BasePattern, int], ...] = (("SR", READS_N), ("RW", WRITES_N), ("SR", READS_AFTER_N))
            # Both batches of reads are of the same places; writes go everywhere.
            place = min(READS_N * IO_BYTES, device.size_bytes // IO_BYTES * IO_BYTES)
            measure = [
                steps.uflip(
                    file=FILE, pattern=pattern, io_count=count, target_size_B=place if pattern == "SR" else None
                )
                for pattern, count in batches
            ]
            run = self._experiment(device.size_bytes, measure, device.fixed).run(jobs=jobs).whole()
            (latencies,) = _per_variant(run, "latency_us").values()
            before, after = latencies[:READS_N], latencies[READS_N + WRITES_N :]
            found[name] = lingering_of(before, after)[1]
        return found

    def _device(
        self,
        name: str,
        device: _Device,
        phases: list[PatternPhases],
        lingering_us: float,
        progress: Progress | None,
        jobs: int | None,
    ) -> UflipDevice:
        counts = {one["pattern"]: Counts(one["io_ignore"], one["io_count"]) for one in phases}
        pause_us = max(PAUSE_LEAST_US, 1_000_000 * -(-int(2 * lingering_us) // 1_000_000))
        points: list[UflipPoint] = []
        planned = list(sessions(device.size_bytes, counts, pause_us))
        for at, (asked, measure) in enumerate(planned):
            experiment = self._experiment(device.size_bytes, measure, device.fixed)
            run = experiment.run(part_of(progress, at, len(planned)), jobs=jobs).whole()
            points += _points(asked, run)
        return {
            "name": name,
            "device_B": device.size_bytes,
            "phases": phases,
            "lingering_us": lingering_us,
            "pause_us": pause_us,
            "sessions": len(planned),
            "row": device_row(
                {pattern: costs(points, "granularity", pattern)[IO_BYTES] for pattern in BASE},
                costs(points, "pause", "RW"),
                costs(points, "locality", "RW"),
                costs(points, "partitioning", "SW"),
                costs(points, "order", "SW"),
            ),
            "points": points,
        }


@dataclass(frozen=True)
class _Device:
    size_bytes: int
    axes: Mapping[str, object]
    stack: Mapping[str, Any]

    @property
    def fixed(self) -> dict[str, object]:
        """The axes of the file, each with the one value of this device."""
        return {name: [value] for name, value in self.axes.items()}


def _calls(devices: Sequence[UflipDevice]) -> str:
    """How many calls tell of the devices."""
    made = sum(one["calls"] for device in devices for one in (*device["points"], *device["phases"]))
    return counted(made, "call")


def costs(points: Sequence[UflipPoint], benchmark: str, pattern: str) -> dict[int, float]:
    """Mean response times in microseconds, by the value of what a benchmark varies."""
    return {
        point["value"]: point["mean_us"]
        for point in points
        if point["benchmark"] == benchmark and point["pattern"] == pattern
    }


def _checked(data: dict[str, Any]) -> dict[str, Any]:
    check_keys(data, _KEYS)
    if not table_at(data, "stack"):
        raise InputError("no [stack]: it says which device is measured")
    table_at(data, "axes")
    return data


def _per_variant(run: Run, column: str) -> dict[str, list[float]]:
    """A column of the calls of each variant, in their order."""
    values: dict[str, list[float]] = {variant["name"]: [] for variant in run.summary["variants"]}
    columns = run.request_columns
    for name, value in zip(columns["variant"], columns[column], strict=True):
        values[str(name)].append(float(value))
    return values


def _pattern_phases(pattern: str, times_us: Sequence[float]) -> PatternPhases:
    phases = phases_of(times_us)
    return {
        "pattern": pattern,
        "calls": len(times_us),
        "startup_n": phases.startup_n,
        "startup_us": phases.startup_us,
        "running_us": phases.running_us,
        "cheap_us": phases.cheap_us,
        "expensive_us": phases.expensive_us,
        "expensive_share": phases.expensive_share,
        "period_n": phases.period_n,
        "spacing_n": phases.spacing_n,
        "io_ignore": phases.startup_n,
        "io_count": max(COUNT_LEAST, min(COUNT_MAX, phases.count_n)) if phases.converged else COUNT_MAX,
        "converged": phases.converged,
    }


def _points(asked: Sequence[Point], run: Run) -> list[UflipPoint]:
    """The response times of each point. Every second step is one, the others are pauses."""
    (variant,) = run.summary["variants"]
    found: list[UflipPoint] = []
    for point, step in zip(asked, variant["steps"][1::2], strict=True):
        times = step["latency_us"]
        mean, least, most, deviation = times["mean"], times["min"], times["max"], times["sd"]
        assert mean is not None and least is not None and most is not None, f"{point}: no call was recorded"
        found.append(
            {
                "benchmark": point.benchmark,
                "pattern": point.pattern,
                "value": point.value,
                "calls": times["n"],
                "mean_us": mean,
                "min_us": least,
                "max_us": most,
                "sd_us": deviation or 0.0,
            }
        )
    return found


def _between(progress: Progress | None, begin: float, at: int, count: int) -> Progress | None:
    """Progress of one of several runs in the rest of the whole."""
    if progress is None:
        return None
    return lambda done: progress(begin + (1 - begin) * (at + done) / count)
