"""Which call caused which operation: the fast answer against the obvious one, on random calls of random threads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ffslab.measured.tracereport.attribution import BACKGROUND, CALL, NONE, OUTSIDE, Attribution, attribute
from ffslab.measured.tracereport.causes import operations_per_call
from ffslab.measured.tracereport.columns import NO_RESULT, Calls, Flash

APP, OTHER, THREAD = 0, 1, 2
TASKS = ["app", "other", "jffs2_gcd_mtd0"]
IS_BACKGROUND = np.array([False, False, True])


@dataclass(frozen=True)
class Call:
    start: int
    end: int
    level: int
    pid: int


@st.composite
def nested(draw: st.DrawFn, pid: int, start: int, end: int, depth: int = 0) -> list[Call]:
    """Calls of one thread, one after the other, each with calls inside it; ends may touch, calls may take no time."""
    calls: list[Call] = []
    at = start
    while at < end and depth < 4 and draw(st.booleans()):
        first = draw(st.integers(at, end))
        last = draw(st.integers(first, end))
        calls.append(Call(first, last, min(depth, 1), pid))
        calls += draw(nested(pid, first, last, depth + 1))
        # The next one starts later, or which of two calls is the outer one would not be known.
        at = last + 1
    return calls


@st.composite
def sessions(draw: st.DrawFn) -> tuple[list[Call], list[tuple[int, int, int]]]:
    """Calls of three threads, and operations: time, process, kind."""
    calls = [call for pid in (APP, OTHER, THREAD) for call in draw(nested(pid, 0, 60))]
    operation = st.tuples(st.integers(0, 60), st.sampled_from([APP, OTHER, THREAD]), st.integers(0, 5))
    return calls, sorted(draw(st.lists(operation, max_size=30)))


def columns(calls: list[Call]) -> Calls:
    rows = sorted(calls, key=lambda call: (call.start, -call.end))
    numbers = np.array([[c.start, c.end - c.start, c.pid] for c in rows], dtype=np.int64).reshape(-1, 3)
    small = numbers[:, 2].astype(np.int32)
    unknown = np.full(len(rows), NO_RESULT, dtype=np.int64)
    function = np.arange(len(rows), dtype=np.int32)
    none = np.zeros(len(rows), dtype=bool)
    return Calls(numbers[:, 0], numbers[:, 1], function, small, small, unknown, unknown, unknown, none)


def found(calls: list[Call], operations: list[tuple[int, int, int]]) -> tuple[Flash, Attribution]:
    table = np.array(operations, dtype=np.int64).reshape(-1, 3)
    pid = table[:, 1].astype(np.int32)
    flash = Flash(table[:, 0], table[:, 2].astype(np.uint8), pid, pid, pid, pid)
    levels = [columns([call for call in calls if call.level == level]) for level in (0, 1)]
    return flash, attribute(flash, levels, TASKS, IS_BACKGROUND)


def span(result: Attribution, row: int) -> tuple[int, int] | None:
    return None if row == NONE else (int(result.stack.start_ns[row]), int(result.stack.end_ns[row]))


@settings(max_examples=300)
@given(sessions())
def test_operations_belong_to_the_calls_around_them(
    session: tuple[list[Call], list[tuple[int, int, int]]],
) -> None:
    calls, operations = session
    _, result = found(calls, operations)
    for i, (t, pid, _) in enumerate(operations):
        around = [call for call in calls if call.pid == pid and call.start <= t <= call.end]
        inner, outer = span(result, result.innermost[i]), span(result, result.outermost[i])
        if around:
            last = max(call.start for call in around)
            # A call without duration is the answer only where no other starts with it.
            latest = [call for call in around if call.start == last]
            shortest = min(latest, key=lambda call: (call.end == call.start, call.end))
            assert inner == (shortest.start, shortest.end)
            spans = {(call.start, call.end) for call in around}
            assert outer in [s for s in spans if not any(d != s and d[0] <= s[0] and s[1] <= d[1] for d in spans)]
        else:
            assert inner is None and outer is None
        expected = BACKGROUND if pid == THREAD else CALL if around else OUTSIDE
        assert result.kind[i] == expected
        waiting = [call for call in calls if call.pid != THREAD and call.start <= t <= call.end]
        assert result.beside_call[i] == (pid == THREAD and bool(waiting))


@settings(max_examples=200)
@given(sessions())
def test_a_call_has_the_operations_of_the_calls_inside_it(
    session: tuple[list[Call], list[tuple[int, int, int]]],
) -> None:
    calls, operations = session
    flash, result = found(calls, operations)
    table = operations_per_call(flash, result)
    own = np.zeros_like(table)
    inside = result.innermost != NONE
    np.add.at(own, (result.innermost[inside], flash.kind[inside]), 1)
    for row in range(len(table)):
        children = np.flatnonzero(result.stack.parent == row)
        assert (table[row] == own[row] + table[children].sum(axis=0)).all()
    # Nothing is counted twice: the outermost calls have all that lies in calls.
    top = result.stack.parent == NONE
    assert table[top].sum() == inside.sum()


def test_threads_are_told_by_name_where_numbers_are_missing() -> None:
    calls = [Call(0, 10, 0, APP), Call(20, 30, 0, OTHER)]
    operations = [(5, APP, 0), (5, OTHER, 0), (25, OTHER, 1)]
    flash, by_pid = found(calls, operations)
    unknown = np.full(len(flash), -1, dtype=np.int32)
    nameless = Flash(flash.t_ns, flash.kind, flash.address, flash.task, unknown, flash.moved_B)
    by_name = attribute(nameless, [columns(calls)], TASKS, IS_BACKGROUND)
    assert (by_pid.joined_by, by_name.joined_by) == ("process id", "task name")
    assert by_name.kind.tolist() == by_pid.kind.tolist() == [CALL, OUTSIDE, CALL]
    by_time = attribute(nameless, [columns(calls)], ["", "other", "jffs2_gcd_mtd0"], IS_BACKGROUND)
    assert by_time.joined_by == "time alone"
    assert by_time.kind.tolist() == [CALL, CALL, CALL]
