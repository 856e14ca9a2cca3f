"""Draws cases until the time is over, makes the faults smaller, keeps and counts them."""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from campaign import apart, history
from campaign.calls import Calls
from campaign.case import Case, Fault, Kind, digest, shrunk
from campaign.cuts import PowerCuts
from campaign.images import Images
from campaign.kernel import OnKernel
from campaign.kills import Kills
from campaign.same import Same

KINDS: dict[str, Kind] = {kind.name: kind for kind in (Calls(), PowerCuts(), Same(), Images(), Kills())}
# Drawn where it is named: it takes QEMU and a kernel, which not everybody has, and 15 s of a core.
NAMED: dict[str, Kind] = {kind.name: kind for kind in (OnKernel(),)}
# Time that one fault may take to become small.
SHRINK_S = 60


def draws(seed: int, kinds: Mapping[str, Kind]) -> Iterator[tuple[int, Kind, random.Random]]:
    """Without end: the number of a draw, its kind, and where it takes its chances from."""
    names = list(kinds)
    weights = [kinds[name].weight for name in names]
    number = 0
    while True:
        draw = random.Random(f"{seed}:{number}")
        yield number, kinds[draw.choices(names, weights)[0]], draw
        number += 1


def signature(name: str, case: Case | None, fault: Fault) -> tuple[str, ...]:
    """Faults that look the same are the same until one is mended."""
    machine: dict[str, Any] = (case or {}).get("machine", {})
    return (name, str(machine.get("system")), str(machine.get("fs")), fault.what)


@dataclass
class Campaign:
    """A campaign that goes on. `folder`: where faults are kept."""

    seed: int
    kinds: Mapping[str, Kind]
    folder: Path
    number_of: Counter[str] = field(default_factory=Counter)
    counts: Counter[str] = field(default_factory=Counter)
    found: list[str] = field(default_factory=list)
    known: set[tuple[str, ...]] = field(default_factory=set)

    def __post_init__(self) -> None:
        for _, kept in history.faults(self.folder):
            self.known.add(signature(kept["kind"], kept["case"], Fault(**kept["fault"])))

    def until(self, end_s: float, most: int | None = None) -> None:
        """Goes on until a moment of the clock that only runs forward, or until so many draws."""
        for number, kind, draw in draws(self.seed, self.kinds):
            if time.monotonic() >= end_s or number == most:
                return
            case, verdict = apart.run(kind, lambda kind=kind, draw=draw: kind.draw(draw))  # type: ignore[misc]
            self.number_of[kind.name] += 1
            self.counts.update(verdict.counts)
            if verdict.fault is not None:
                self.keep(number, kind, case, verdict.fault)
            self.show()

    def keep(self, number: int, kind: Kind, case: Case | None, fault: Fault) -> None:
        """Makes a fault small and writes it, unless one like it is known."""
        if signature(kind.name, case, fault) in self.known:
            self.counts["known"] += 1
            return
        self.known.add(signature(kind.name, case, fault))
        if case is None:
            case = {"machine": {}, "lost": [self.seed, number]}
        else:
            case, fault = small(kind, case, fault)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / f"{kind.name}-{digest(case)}.json"
        kept = {
            "title": " ".join(f"{title(case)}: {fault.says}".split())[:300],
            "kind": kind.name,
            "fault": vars(fault),
            "found": {"commit": history.commit(), "seed": self.seed, "draw": number},
            "replay": f"make campaign CASE=campaign/faults/{path.name}",
            "case": case,
        }
        path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
        self.found.append(path.name)
        print(f"{path}: {kept['title']}", flush=True)

    def show(self) -> None:
        """One line that is written again and again, on a terminal only."""
        if sys.stderr.isatty():
            told = ", ".join(f"{self.number_of[name]} {name}" for name in self.kinds)
            sys.stderr.write(f"\r\x1b[K{told}; {self.counts['cuts']} cuts, {len(self.found)} faults")
            sys.stderr.flush()


def title(case: Case) -> str:
    machine = case["machine"]
    return f"{machine.get('fs')} on {machine.get('system')}"


def small(kind: Kind, case: Case, fault: Fault, most_s: float = SHRINK_S) -> tuple[Case, Fault]:
    """The smallest case found in the time that fails in the same way, and how it fails."""
    end_s = time.monotonic() + most_s
    last = fault

    def fails(smaller: Case) -> bool:
        nonlocal last
        left_s = end_s - time.monotonic()
        if left_s <= 0:
            return False
        _, verdict = apart.run(kind, lambda: smaller, wait_s=max(left_s, 1))
        is_same = verdict.fault is not None and verdict.fault.what == fault.what and fault.what != "hang"
        if is_same and verdict.fault is not None:
            last = verdict.fault
        return is_same

    return shrunk(kind, case, fails), last


def campaign(seed: int, minutes: float, kinds: Mapping[str, Kind] = KINDS) -> history.Line:
    """A whole campaign; Ctrl-C ends it early, and what was counted is kept."""
    began_s = time.monotonic()
    running = Campaign(seed, kinds, history.FAULTS)
    try:
        running.until(began_s + 60 * minutes)
    except KeyboardInterrupt:
        print("interrupted: what was counted is kept", file=sys.stderr)
    took = (time.monotonic() - began_s) / 60
    told = history.line(seed, took, running.number_of, running.counts, running.found)
    history.append(told)
    history.write_page()
    return told


def replay(path: Path) -> Fault | None:
    """Runs a kept case again."""
    kept = json.loads(path.read_text(encoding="utf-8"))
    kind = (KINDS | NAMED)[kept["kind"]]
    if "lost" in kept["case"]:
        seed, wanted = kept["case"]["lost"]
        draw = next(draw for number, _, draw in draws(seed, KINDS) if number == wanted)
        return apart.run(kind, lambda: kind.draw(draw))[1].fault
    return apart.run(kind, lambda: kept["case"])[1].fault
