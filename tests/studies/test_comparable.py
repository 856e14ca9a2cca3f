"""Along an axis only designs are compared that exist, and came to their end, for all values of it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pandas as pd
from hypothesis import given
from hypothesis import strategies as st

from ffslab.studies.sweep.comparable import comparable

SIZES, COUNTS, FS = (64, 128, 256), (1, 2), ("jffs2", "yaffs2", "ubifs")


def frame(rows: Any) -> pd.DataFrame:
    return pd.DataFrame(list(rows), columns=["fs", "size", "count"])


def test_who_failed_on_the_hard_designs_is_not_compared_over_the_easy_ones() -> None:
    """yaffs2 did not bear the small partitions: there is nothing to hold it against the others with."""
    points = frame(row for row in product(FS, SIZES, COUNTS) if row[:2] != ("yaffs2", 64))
    found = comparable(points, ["fs", "size", "count"], ["fs"], "grid")
    assert set(found["size"]) == {128, 256} and len(found) == 3 * 2 * 2
    # Along the size the others stand at all three.
    along = comparable(points, ["fs", "size", "count"], ["size"], "grid")
    assert set(along["fs"]) == {"jffs2", "ubifs"}


def test_an_axis_that_only_some_file_systems_have_is_judged_within_them() -> None:
    points = pd.DataFrame(
        [("jffs2", word, size) for word in ("lzo", "zlib") for size in SIZES]
        + [("yaffs2", None, size) for size in SIZES],
        columns=["fs", "compression", "size"],
    )
    names = ["fs", "compression", "size"]
    assert set(comparable(points, names, ["compression"], "grid")["fs"]) == {"jffs2"}
    # The file systems share the sizes, and the compression is jffs2's own.
    assert len(comparable(points, names, ["fs"], "grid")) == len(points)
    lacking = points.drop(points[(points["fs"] == "yaffs2") & (points["size"] == 64)].index)
    assert set(comparable(lacking, names, ["fs"], "grid")["size"]) == {128, 256}


def test_nothing_in_common_compares_nothing_and_a_sample_all() -> None:
    points = frame([("jffs2", 64, 1), ("ubifs", 128, 1)])
    assert comparable(points, ["fs", "size", "count"], ["fs"], "grid").empty
    assert len(comparable(points, ["fs", "size", "count"], ["fs"], "random")) == 2


@given(st.sets(st.sampled_from(list(product(FS, SIZES, COUNTS))), min_size=1), st.sampled_from(["fs", "size", "count"]))
def test_each_value_stands_over_the_same_designs(rows: set[tuple[str, int, int]], along: str) -> None:
    points = frame(sorted(rows))
    found = comparable(points, ["fs", "size", "count"], [along], "grid")
    others = [name for name in ("fs", "size", "count") if name != along]
    designs = {value: {tuple(row) for row in part[others].to_numpy().tolist()} for value, part in found.groupby(along)}
    assert len({frozenset(part) for part in designs.values()}) <= 1
    assert not designs or set(designs) == set(points[along])
