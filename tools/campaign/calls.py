"""Random system calls on a random machine, each compared with a model of files; power cuts, remounts, ENOSPC, faults.

In the manner of Apple's and the Linux Test Project's `fsx`. `tests/helpers/fsx.py` does so with one file on a mount
of the host; here calls go to the simulated machine itself, whole trees change, and what was synced must survive cuts.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from campaign import machines, operations
from campaign.case import Case, Fault, Found, Verdict, fewer, without
from campaign.play import Play
from ffslab import InputError
from ffslab.systems import DEFAULT


class Calls:
    """See the head of this file."""

    name = "calls"
    weight = 50

    def draw(self, draw: random.Random) -> Case:
        machine = machines.drawn(draw)
        # Who calls a file system by paths has no say in what a name means to a descriptor that is open.
        slots = machine["system"] == DEFAULT.name or machine["fs"] in ("imfs", "yaffs2")
        cuts = draw.random() < 0.5
        count = draw.choice((20, 60, 150, 400))
        return {
            "machine": machine,
            "seed": draw.randrange(1, 1000),
            "initial": draw.choice(("settled", "fresh")),
            "ops": operations.drawn(draw, count, slots, cuts),
        }

    def run(self, case: Case, folder: Path) -> Verdict:
        del folder
        try:
            play = Play(case)
        except InputError as error:
            return Verdict(Fault("refused", f"the machine is refused: {error}"))
        try:
            play.all()
        except Found as found:
            return Verdict(found.fault, play.counts)
        return Verdict(None, play.counts)

    def smaller(self, case: Case) -> Iterator[Case]:
        for ops in fewer(case["ops"]):
            yield {**case, "ops": ops}
        keys = [key for key in case["machine"] if key not in ("system", "fs", "quirks")]
        yield from without(case, "machine", keys)
        if case["initial"] != "settled":
            yield {**case, "initial": "settled"}
