"""The structure and the constants with which a card of ours comes closest to a probe's lines.

Page and segment come from the reads across boundaries, if there are any: a page boundary costs a read more, a
segment's boundary something beside it. The structure above is searched: each class with a grid of its few
parameters. For each structure the constants are found by non-negative least squares on relative errors, in which
lines that lie far off count less (iterated: Huber's weights). It is the same result each time.

What is minimized is the mean of |ln(fitted / measured)|, at most ln 10 a line, over reads and writes in equal
shares. Structures that are as good as the best one within `ALIKE` cannot be told apart by the probe, and that is
said.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import nnls

from ffslab._native import InputError
from ffslab.studies.calibrate.cards.lines import PLACES, Align, Line, OpenAu, size_text
from ffslab.studies.calibrate.cards.models import CLASSES, CONSTANTS, CardClass, Structure, operations
from ffslab.studies.calibrate.observations import Numbers

KIB, MIB = 1 << 10, 1 << 20
PAGES = tuple(KIB << order for order in range(1, 6))
SEGMENTS = tuple(128 * KIB << order for order in range(9))
# A line further off than this, relatively, counts less and less.
FAR = 0.1
ROUNDS = 8
FACTOR_MAX = float(np.log(10))
# Another structure whose error is not more than this above the best one's may be as right.
ALIKE = 0.01
# A boundary of segments is seen when it explains so much of what the boundary of pages leaves.
SEEN_SHARE = 0.2
THREADS = 2


@dataclass(frozen=True)
class Fitted:
    """A structure with its constants. `times_us`: of each line; `error`: what is minimized."""

    structure: Structure
    constants: dict[str, float]
    times_us: Numbers
    error: float


@dataclass(frozen=True)
class CardFit:
    """What came out. `best_of`: the best structure of each class that was tried, the best one first."""

    lines: list[Line]
    best_of: dict[CardClass, Fitted]
    undetermined: list[str]
    remarks: list[str]

    @property
    def best(self) -> Fitted:
        """The structure that comes closest."""
        return next(iter(self.best_of.values()))

    @property
    def errors(self) -> Numbers:
        """(fitted - measured) / measured of each line."""
        measured = np.array([line.measured_us for line in self.lines])
        return np.asarray(self.best.times_us / measured - 1)


def fit(lines: list[Line]) -> CardFit:
    """Fits all classes.

    Errors: no lines; lines that no card can have.
    """
    if not lines:
        raise InputError("calibrate: nothing was measured")
    remarks: list[str] = []
    pages, segments = _sizes(lines, remarks)
    writes = [line.asked for line in lines if isinstance(line.asked, OpenAu)]
    if not writes:
        remarks.append(
            "only reads were measured: they tell sizes, and nothing of how writes are handled (flashbench -O)"
        )
    found: dict[CardClass, Fitted] = {}
    with ThreadPoolExecutor(THREADS) as pool:
        for card_class in CLASSES if writes else ("page-map",):
            tried = [
                _searched(card_class, page, segment, writes, lines, pool) for page in pages for segment in segments
            ]
            found[card_class] = min(tried, key=lambda fitted: fitted.error)
    ranked = sorted(found.items(), key=lambda of: of[1].error)
    best = ranked[0][1]
    remarks += _alike(ranked)
    if writes:
        remarks += _bounds(best.structure, writes)
    return CardFit(lines, dict(ranked), _undetermined(best.structure, lines), remarks)


# ---- sizes ------------------------------------------------------------------------------------------------------


def _sizes(lines: list[Line], remarks: list[str]) -> tuple[list[int], list[int]]:
    """(pages, segments) that are worth trying.

    Errors: erase blocks that no card has.
    """
    tested = {line.asked.erase_block_bytes for line in lines if isinstance(line.asked, OpenAu)}
    if unfit := sorted(tested.difference(SEGMENTS)):
        known = f"{size_text(SEGMENTS[0])} to {size_text(SEGMENTS[-1])}"
        raise InputError(f"--erasesize={unfit[0]}: erase blocks are powers of two from {known}")
    around = sorted({size for erase in tested for size in (erase // 2, erase, 2 * erase) if size in SEGMENTS})
    reads = _differences(lines)
    if len(reads) < 3:
        remarks.append("without reads across boundaries (flashbench -a) page and segment are guessed from the writes")
        return [8 * KIB, 16 * KIB, 32 * KIB], around
    aligned = np.array([align for align, _ in reads])
    differences = np.array([difference for _, difference in reads])

    def left(page: int, segment: int | None) -> float:
        # A boundary of a segment is one of pages, too. flashbench tries 3 x 2^n as well, which is a multiple of 2^n.
        columns = [aligned % page == 0]
        if segment is not None:
            columns.append(aligned % segment == 0)
        design = np.array(columns, dtype=float).T
        return float(np.abs(design @ _robust(design, differences) - differences).sum())

    page = min(PAGES, key=lambda page: left(page, None))
    if page == PAGES[0]:
        remarks.append("reads show no boundary of pages: the smallest one is taken")
    pairs = [(page, segment) for page in PAGES for segment in SEGMENTS if segment > page]
    with_segment = min(pairs, key=lambda pair: left(*pair))
    if left(*with_segment) < (1 - SEEN_SHARE) * left(page, None):
        return [with_segment[0]], [with_segment[1]]
    shown = " or ".join(map(size_text, around)) if around else "4 MiB"
    remarks.append(f"reads show no boundary of segments: {shown} is tried")
    return [page], around or [4 * MIB]


def _differences(lines: list[Line]) -> list[tuple[int, float]]:
    """(alignment, what a read across it takes longer) of each alignment whose three reads were measured."""
    columns: dict[tuple[int, int], dict[str, float]] = {}
    for line in lines:
        if isinstance(line.asked, Align):
            of = columns.setdefault((line.asked.align_bytes, line.asked.block_bytes), {})
            of[line.asked.place] = line.measured_us
    whole = {align: of for (align, _), of in columns.items() if of.keys() == set(PLACES)}
    return [(align, of["on"] - (of["pre"] + of["post"]) / 2) for align, of in sorted(whole.items())]


def _robust(design: Numbers, measured: Numbers) -> Numbers:
    """Least squares in which what lies far off counts less."""
    weights: Numbers = np.ones(len(measured))
    values: Numbers = np.zeros(design.shape[1])
    for _ in range(ROUNDS):
        values = np.asarray(np.linalg.lstsq(design * weights[:, None], measured * weights, rcond=None)[0])
        off = np.abs(design @ values - measured)
        scale = max(float(np.median(off)), 1e-9)
        weights = np.asarray(np.sqrt(np.minimum(1, scale / np.maximum(off, 1e-12))))
    return np.asarray(values)


# ---- the search -------------------------------------------------------------------------------------------------


def _searched(
    card_class: CardClass, page: int, segment: int, writes: list[OpenAu], lines: list[Line], pool: ThreadPoolExecutor
) -> Fitted:
    """The best structure of a class with these sizes."""

    def best(structures: Iterable[Structure], by: list[Line] = lines) -> Fitted:
        # The first of equals is the simplest.
        return min(pool.map(lambda structure: constants(structure, by), structures), key=lambda of: of.error)

    most = max((write.erase_blocks for write in writes), default=1)
    if card_class == "page-map":
        return best([Structure("page-map", page, segment, spare_share=share) for share in (0.07, 0.25)])
    if card_class == "log-blocks":
        logs_tried = sorted({2, 3, 4, 6, 8, most, most + 1})
        return best(
            [
                Structure(ftl, page, segment, log_blocks=logs)
                for ftl in ("bast", "fast")
                for logs in logs_tried
                if logs > 1
            ]
        )
    if card_class == "slc-cache":
        return best(_caches(page, segment, writes))
    # How many are open shows when they are written in order, as long as no more of them take any order.
    linear = [line for line in lines if not (isinstance(line.asked, OpenAu) and line.asked.is_random)]
    counts = [Structure("open-segments", page, segment, log_blocks=count) for count in range(1, most + 1)]
    found = best(counts, linear if any(not write.is_random for write in writes) else lines)
    most_random = found.structure.log_blocks if any(write.is_random for write in writes) else 0
    found = best(replace(found.structure, random_segments=random) for random in range(most_random + 1))
    if found.structure.random_segments > 0:
        full = segment // page
        shorter = [replace(found.structure, random_log_pages=full // share) for share in (2, 4, 8, 16) if full // share]
        found = min([found, best(shorter)], key=lambda of: of.error)
    return found


def _caches(page: int, segment: int, writes: list[OpenAu]) -> list[Structure]:
    """SLC caches from two blocks to what the largest test writes."""
    largest = max((write.erase_blocks * write.erase_block_bytes for write in writes), default=0)
    return [
        Structure("slc-cache", page, segment, slc_cache_blocks=2 << order, cell_bits=bits)
        for bits in (2, 3)
        for order in range(8)
        if (2 << order) * segment // bits <= max(2 * largest, 2 * segment)
    ]


def constants(structure: Structure, lines: list[Line]) -> Fitted:
    """The constants with which a structure comes closest."""
    amounts, known = operations(structure, lines)
    measured = np.array([line.measured_us for line in lines])
    share = _shares(lines)
    scaled, wanted = amounts / measured[:, None], 1 - known / measured
    weights = share.copy()
    values = np.zeros(amounts.shape[1])
    for _ in range(ROUNDS):
        root = np.sqrt(weights)
        values, _ = nnls(scaled * root[:, None], wanted * root)
        off = np.abs(scaled @ values - wanted)
        weights = share * np.minimum(1, FAR / np.maximum(off, 1e-9))
    times_us = amounts @ values + known
    factors = np.minimum(np.abs(np.log(np.maximum(times_us, 1e-3) / measured)), FACTOR_MAX)
    named = dict(zip(CONSTANTS, map(float, values), strict=True))
    return Fitted(structure, named, times_us, float((factors * share).sum() / share.sum()))


def _shares(lines: list[Line]) -> Numbers:
    """Reads count as much as writes, however many lines they have."""
    is_read = np.array([isinstance(line.asked, Align) for line in lines])
    return np.where(is_read, 1 / max(int(is_read.sum()), 1), 1 / max(int((~is_read).sum()), 1))


# ---- what is said -----------------------------------------------------------------------------------------------


def _alike(ranked: list[tuple[CardClass, Fitted]]) -> list[str]:
    """Classes that are as good as the best one."""
    best = ranked[0][1]
    alike = [name for name, of in ranked[1:] if of.error <= best.error + ALIKE]
    if not alike:
        return []
    return [f"this probe does not tell {ranked[0][0]} from {' and '.join(alike)}: their errors are alike"]


def _bounds(structure: Structure, writes: list[OpenAu]) -> list[str]:
    """Numbers of which the probe shows a bound only."""
    if structure.ftl != "open-segments":
        return []
    said = []
    most = max(write.erase_blocks for write in writes)
    if structure.log_blocks >= most:
        said.append(f"no test wrote more erase blocks than are open: {most} or more (a higher --open-au-nr tells)")
    random = [write.erase_blocks for write in writes if write.is_random]
    if not random:
        said.append("no test wrote in any order (--random): segments for that are not known, and none is assumed")
    elif structure.random_segments >= max(random):
        said.append(f"segments for any order: {max(random)} or more")
    return said


def _undetermined(structure: Structure, lines: list[Line]) -> list[str]:
    """Constants that others can stand for in these lines, or that do not occur."""
    amounts, _ = operations(structure, lines)
    measured = np.array([line.measured_us for line in lines])
    scaled = amounts / measured[:, None]
    found = []
    for number, name in enumerate(CONSTANTS):
        column = scaled[:, number]
        others = np.delete(scaled, number, axis=1)
        length = float(np.linalg.norm(column))
        solved = np.linalg.lstsq(others, column, rcond=None)[0]
        if length == 0 or float(np.linalg.norm(others @ solved - column)) < 0.02 * length:
            found.append(name)
    return found
