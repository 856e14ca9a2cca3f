"""A power capture: what a digitizer on the supply rails wrote while the loops of a log ran.

A table with a time column and a power column per rail:

    time_s,cpu_W,memory_W
    0.000,0.2691,0.1478

The loops are found in it as the stretches that stand out from idle. They are matched with those of the log, in order
and by how long they take; the power that belongs to a loop is the mean of its plateau, and idle power the mean of what
lies between. With the log's time, which is more exact than the sampling of a capture, E = t x P.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.integrate import trapezoid
from scipy.ndimage import binary_closing, find_objects, gaussian_filter1d, label, uniform_filter1d
from scipy.signal import find_peaks

from ffslab._native import InputError
from ffslab.studies.calibrate import tables
from ffslab.studies.calibrate.loops import IDLE, RAILS, Loops
from ffslab.studies.calibrate.observations import Numbers

# Samples that are averaged before loops are looked for, and the shortest stretch that is one.
SMOOTHED = 5
# A loop stands out from idle by this share of what the strongest ones do, and by so many standard deviations.
STANDS_OUT = 0.05
SIGNIFICANT_SD = 5.0
# The histogram in which idle is looked for, and the share of its highest peak that a peak has at least.
BINS = 200
PROMINENT = 0.02
# What is cut off each end of a plateau, and kept away from loops where idle is measured: edges are neither.
EDGE = 0.02
# A loop of the log and a stretch of the capture are the same when their times differ by less.
TIME_TOLERANCE = 0.05
# Idle power before and after may differ by this share before it is worth a word.
DRIFT = 0.02
# The integral over a loop may differ from mean power on the plateau times time by this share.
FLAT = 0.05


@dataclass(frozen=True)
class Capture:
    """Samples. `power_mW`: by rail."""

    source: str
    time_us: Numbers
    power_mW: dict[str, Numbers]  # noqa: N815


@dataclass(frozen=True)
class Stretch:
    """A stretch of a capture: mean power on its plateau and energy, by rail."""

    start_us: float
    end_us: float
    power_mW: dict[str, float]  # noqa: N815
    energy_uJ: dict[str, float]  # noqa: N815

    @property
    def time_us(self) -> float:
        """How long it lasts."""
        return self.end_us - self.start_us


def read(path: Path) -> Capture:
    """Reads a capture.

    Errors: columns that are missing, time that does not go on, too few samples.
    """
    frame = tables.read(path)
    time_us = tables.required(path, frame, "time", "time")
    if len(time_us) < 10 * SMOOTHED:
        raise InputError(f"{path}: {len(time_us)} samples: a capture needs {10 * SMOOTHED} or more")
    if not (np.diff(time_us) > 0).all():
        row = int((np.diff(time_us) <= 0).argmax()) + 2
        raise InputError(f"{path}: row {row} below the head: time does not go on")
    rails = {}
    for rail in RAILS:
        if tables.column(frame, rail, "power") is not None:
            rails[rail] = tables.required(path, frame, rail, "power")
    if not rails:
        raise InputError(
            f"{path}: no column of a rail: cpu_W or memory_W (or mW, uW); it has {', '.join(frame.columns)}"
        )
    return Capture(str(path), time_us, rails)


def find_loops(capture: Capture, shortest_us: float = 0.0) -> tuple[list[Stretch], list[Stretch]]:
    """(loops, idle stretches between them), in order. What stands out for less than `shortest_us` is no loop.

    Errors: nothing stands out from idle.
    """
    total = uniform_filter1d(np.sum(list(capture.power_mW.values()), axis=0), SMOOTHED)
    idle, spread = _idle(total)
    high = float(np.percentile(total, 98))
    above = max(STANDS_OUT * (high - idle), SIGNIFICANT_SD * spread)
    if not high > idle + above:
        raise InputError(
            f"{capture.source}: no loop stands out from idle ({idle:.4g} mW +- {spread:.2g}, highest {high:.4g} mW)"
        )
    busy = binary_closing(total > idle + above, np.ones(SMOOTHED, dtype=bool))
    samples = max(SMOOTHED, round(shortest_us / float(np.median(np.diff(capture.time_us)))))
    loops = [piece for piece in _pieces(busy) if piece.stop - piece.start >= samples]
    # What stands out but is no loop is not idle either.
    between = [piece for piece in _pieces(~busy) if piece.stop - piece.start >= 3 * SMOOTHED]
    return [_stretch(capture, piece) for piece in loops], [_stretch(capture, piece) for piece in between]


def _idle(total: Numbers) -> tuple[float, float]:
    """(idle power, its standard deviation): the lowest power that is drawn again and again.

    Loops of slow operations may draw little more than idle, and for longer, so it is the lowest peak of the histogram.
    """
    if np.ptp(total) == 0:
        return float(total[0]), 0.0
    counts, edges = np.histogram(total, bins=BINS)
    smooth = gaussian_filter1d(np.pad(counts.astype(float), BINS // 10), SMOOTHED / 2)
    peaks, _ = find_peaks(smooth, prominence=PROMINENT * smooth.max())
    lowest = min(max(int(peaks[0]) - BINS // 10, 0), BINS - 1)
    peak = float(edges[lowest] + edges[lowest + 1]) / 2
    # Below the peak there is nothing but idle; the noise above it is the same.
    spread = float(np.sqrt(np.mean((total[total <= peak] - peak) ** 2)))
    return float(np.median(total[np.abs(total - peak) <= 3 * spread])), spread


def with_power(loops: Loops, capture: Capture) -> Loops:
    """The log with the powers that the capture shows; its idle rows give way to the capture's.

    Errors: the capture shows other loops than the log.
    """
    # Half of the shortest: what the kernel does by itself now and then is shorter.
    found, idle = find_loops(capture, loops.table.loc[loops.table["operation"] != IDLE, "time_us"].min() / 2)
    logged = loops.table[loops.table["operation"] != IDLE].reset_index(drop=True)
    if len(found) != len(logged):
        raise InputError(
            f"{capture.source}: shows {len(found)} loops, {loops.source} has {len(logged)}: "
            "a pause of a second or so between loops keeps them apart, and the capture must hold all of them"
        )
    sample_us = float(np.median(np.diff(capture.time_us)))
    for i, (stretch, time_us) in enumerate(zip(found, logged["time_us"], strict=True)):
        if abs(stretch.time_us - time_us) > TIME_TOLERANCE * time_us + 2 * SMOOTHED * sample_us:
            raise InputError(
                f"{capture.source}: loop {i + 1} of {len(found)} takes {stretch.time_us / 1e6:.4g} s, "
                f"in {loops.source} {time_us / 1e6:.4g} s: another run, or two loops that run into each other"
            )
    said = [*_drift(capture, idle), *_uneven(capture, found)]
    table = logged.copy()
    quiet = pd.DataFrame({"operation": IDLE, "n": 0.0, "time_us": [stretch.time_us for stretch in idle]})
    for rail in capture.power_mW:
        table[f"{rail}_mW"] = [stretch.power_mW[rail] for stretch in found]
        quiet[f"{rail}_mW"] = [stretch.power_mW[rail] for stretch in idle]
    return Loops(f"{loops.source} with {capture.source}", pd.concat([table, quiet], ignore_index=True), said)


def _drift(capture: Capture, idle: list[Stretch]) -> list[str]:
    if len(idle) < 2:
        where = "once" if idle else "nowhere"
        return [f"{capture.source}: idle only {where}: leave a few seconds before and after the loops"]
    said = []
    for rail in capture.power_mW:
        first, last = idle[0].power_mW[rail], idle[-1].power_mW[rail]
        if abs(last - first) > DRIFT * first:
            said.append(f"{capture.source}: idle power of the {rail} rail goes from {first:.4g} to {last:.4g} mW")
    return said


def _uneven(capture: Capture, loops: list[Stretch]) -> list[str]:
    said = []
    for i, stretch in enumerate(loops):
        flat = sum(stretch.power_mW.values()) * stretch.time_us / 1e3
        off = sum(stretch.energy_uJ.values()) / flat - 1
        if abs(off) > FLAT:
            said.append(
                f"{capture.source}: loop {i + 1}: its power is not flat: the integral is {off * 100:+.0f} % off P x t"
            )
    return said


def _pieces(mask: NDArray[np.bool_]) -> list[slice]:
    numbered, _ = label(mask)
    return [found[0] for found in find_objects(numbered)]


def _stretch(capture: Capture, piece: slice) -> Stretch:
    """Plateau and energy of the samples `piece`; a sample stands for the time until the next one."""
    cut = max(SMOOTHED, int(EDGE * (piece.stop - piece.start)))
    inner = slice(piece.start + cut, piece.stop - cut) if piece.stop - piece.start > 3 * cut else piece
    sample_us = float(np.median(np.diff(capture.time_us[piece])))
    power = {rail: float(values[inner].mean()) for rail, values in capture.power_mW.items()}
    energy = {
        rail: float(trapezoid(values[piece], capture.time_us[piece])) / 1e3 for rail, values in capture.power_mW.items()
    }
    return Stretch(capture.time_us[piece.start], capture.time_us[piece.stop - 1] + sample_us, power, energy)
