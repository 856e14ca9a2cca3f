"""Circles in a graph: the sets of nodes of which each reaches each other one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Graph = Mapping[str, frozenset[str]]


def graph_of(edges: Iterable[tuple[str, str]]) -> Graph:
    targets: dict[str, set[str]] = {}
    for source, target in edges:
        targets.setdefault(source, set()).add(target)
        targets.setdefault(target, set())
    return {source: frozenset(found) for source, found in targets.items()}


def circles(graph: Graph) -> list[list[str]]:
    """Each circle as the sorted list of its nodes, by Tarjan's algorithm, the largest first."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    on_stack: set[str] = set()
    found: list[list[str]] = []

    def visit(node: str) -> None:
        index[node] = low[node] = len(index)
        stack.append(node)
        on_stack.add(node)
        for target in sorted(graph[node]):
            if target not in index:
                visit(target)
                low[node] = min(low[node], low[target])
            elif target in on_stack:
                low[node] = min(low[node], index[target])
        if low[node] == index[node]:
            members = []
            while True:
                member = stack.pop()
                on_stack.remove(member)
                members.append(member)
                if member == node:
                    break
            if len(members) > 1:
                found.append(sorted(members))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return sorted(found, key=lambda members: (-len(members), members))
