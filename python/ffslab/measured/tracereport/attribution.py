"""Which call caused which flash operation: by time, on the same thread.

Calls of one thread nest or follow one another. An operation belongs to every call of its thread that has started and
not ended; the outermost of them is the system call (or the work of a kernel thread), the innermost the code that did
it. Operations of kernel threads are nobody's in particular: they are counted apart, and so are those of programs
outside all recorded calls.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ffslab.measured.tracereport.columns import UNKNOWN, Calls, Flash, Ints, Mask, Small

# Of an operation that lies in no call.
NONE = -1
CALL, BACKGROUND, OUTSIDE = range(3)
CLASSES = ("in calls", "background threads", "outside recorded calls")
BY_PID, BY_TASK, BY_TIME = "process id", "task name", "time alone"


@dataclass(frozen=True)
class Stack:
    """All calls of all levels, sorted by thread and start. `parent`: the call around each, NONE for outermost ones."""

    thread: Ints
    start_ns: Ints
    end_ns: Ints
    parent: Ints
    # Where the call is in what was given: level (0 the first list) and row.
    level: Small
    row: Ints


@dataclass(frozen=True)
class Attribution:
    """Of each operation its class and the rows in `Stack` of the outermost and innermost call around it, or NONE."""

    stack: Stack
    joined_by: str
    kind: Small
    outermost: Ints
    innermost: Ints
    # Of operations of background threads: whether a program was inside a call meanwhile, which may have waited for it.
    beside_call: Mask


def attribute(flash: Flash, levels: list[Calls], tasks: list[str], is_background: Mask) -> Attribution:
    """`levels`: calls of the outer level first. `tasks`, `is_background`: by task number; "" is no name."""
    joined_by, op_thread, call_threads = _threads(flash, levels, tasks.index("") if "" in tasks else NONE)
    stack = stacked(levels, call_threads)
    innermost = _innermost(stack, op_thread, flash.t_ns, _resolution_ns([flash.t_ns, *(c.t_ns for c in levels)]))
    background = is_background[flash.task]
    kind = np.where(background, BACKGROUND, np.where(innermost != NONE, CALL, OUTSIDE)).astype(np.int32)
    beside = np.zeros(len(flash), dtype=bool)
    beside[background] = _beside(levels, is_background, flash.t_ns[background])
    return Attribution(stack, joined_by, kind, roots(stack, innermost), innermost, beside)


def stacked(levels: list[Calls], threads: list[Ints]) -> Stack:
    """The calls of all levels as one forest."""
    thread = _joined(threads)
    start = _joined([calls.t_ns for calls in levels])
    end = _joined([calls.end_ns for calls in levels])
    level = _joined([np.full(len(calls), i) for i, calls in enumerate(levels)])
    row = _joined([np.arange(len(calls)) for calls in levels])
    # Of calls that start together the longer one is the outer one. Those that take no time come before: nothing can
    # have happened inside them, but they may be what ended as the next call began.
    order = np.lexsort((level, -end, end > start, start, thread))
    thread, start, end = thread[order], start[order], end[order]
    return Stack(thread, start, end, parents(thread, start, end), level[order].astype(np.int32), row[order])


def parents(thread: Ints, start: Ints, end: Ints) -> Ints:
    """The nearest earlier call of the same thread that has not ended when each call ends, or NONE.

    Each call first points to its predecessor; a pointer to a call that ends too early moves on to where that call
    points. All calls between a pointer and its owner end too early, so none is passed that would do, and the distance
    doubles.
    """
    at = np.arange(len(start), dtype=np.int64) - 1
    while True:
        known = np.maximum(at, 0)
        foreign = (at != NONE) & (thread[known] != thread)
        at[foreign] = NONE
        early = (at != NONE) & (end[known] < end)
        if not early.any():
            return at
        at[early] = at[known[early]]


def roots(stack: Stack, calls: Ints) -> Ints:
    """The outermost call around each call; NONE stays NONE."""
    top = np.arange(len(stack.parent), dtype=np.int64)
    above = stack.parent.copy()
    while (more := above != NONE).any():
        top[more] = above[more]
        above[more] = stack.parent[above[more]]
    found = np.full(len(calls), NONE, dtype=np.int64)
    inside = calls != NONE
    found[inside] = top[calls[inside]]
    return found


def _innermost(stack: Stack, thread: Ints, t_ns: Ints, slack_ns: int) -> Ints:
    """The latest call of the thread that has started and not ended at each moment."""
    found = np.full(len(t_ns), NONE, dtype=np.int64)
    if not len(stack.start_ns):
        return found
    by_thread = np.argsort(thread, kind="stable")
    grouped = thread[by_thread]
    borders = np.flatnonzero(np.diff(stack.thread)) + 1
    for first, last in zip([0, *borders], [*borders, len(stack.thread)], strict=True):
        name = stack.thread[first]
        own = by_thread[np.searchsorted(grouped, name) : np.searchsorted(grouped, name, side="right")]
        at = np.searchsorted(stack.start_ns[first:last], t_ns[own], side="right") - 1
        found[own] = np.where(at == NONE, NONE, at + first)
    while (over := (found != NONE) & (stack.end_ns[found] + slack_ns < t_ns)).any():
        found[over] = stack.parent[found[over]]
    return found


def _beside(levels: list[Calls], is_background: Mask, t_ns: Ints) -> Mask:
    """Whether some program is inside a call at each moment."""
    start = _joined([calls.t_ns[~is_background[calls.task]] for calls in levels])
    end = _joined([calls.end_ns[~is_background[calls.task]] for calls in levels])
    # As many calls have started as have ended exactly when nobody is inside one.
    started = np.searchsorted(np.sort(start), t_ns, side="right")
    ended = np.searchsorted(np.sort(end), t_ns, side="left")
    return started > ended


def _threads(flash: Flash, levels: list[Calls], no_name: int) -> tuple[str, Ints, list[Ints]]:
    """How the levels are joined: by process id where all say it, else by name, else by time alone."""
    logs: list[Flash | Calls] = [flash, *levels]
    if all((log.pid != UNKNOWN).all() for log in logs):
        return BY_PID, flash.pid.astype(np.int64), [calls.pid.astype(np.int64) for calls in levels]
    if all((log.task != no_name).all() for log in logs):
        return BY_TASK, flash.task.astype(np.int64), [calls.task.astype(np.int64) for calls in levels]
    return BY_TIME, np.zeros(len(flash), np.int64), [np.zeros(len(calls), np.int64) for calls in levels]


def _resolution_ns(times: list[Ints]) -> int:
    """The rounding of the coarsest log in excess of the 1 ns of exact ones: an event may seem so much too late."""
    steps = [int(np.gcd.reduce(t_ns[:10_000])) for t_ns in times if len(t_ns)]
    return max((step for step in steps if step in (1_000, 1_000_000)), default=0)


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *parts])
