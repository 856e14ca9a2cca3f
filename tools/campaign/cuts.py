"""Power cuts at many operations of a random workload on a random machine, as `ffslab crashtest` makes and judges them.

The judge is the product's own, which is tested with seeded defects (`docs/power-cuts.md`); what is drawn here is what
nobody thought of: machines, options, workloads, cuts of recoveries and of second mounts.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from campaign import machines, workloads
from campaign.case import Case, Fault, Verdict, fewer, without
from campaign.machines import Keys
from ffslab import InputError
from ffslab.api.machine import completed
from ffslab.file_systems import BLOCK_DEVICE
from ffslab.studies.crashtest import CrashTest, Cuts, crashtest
from ffslab.studies.crashtest.machine import WatchedStack
from ffslab.studies.crashtest.run import answer_of
from helpers.translation import FLASH, mappings

# What a test of power cuts says of an application, or of what nobody promised, is no fault.
NO_FAULT = ("not-promised", "tolerated", "refused")


def can_be_cut(keys: Keys) -> bool:
    """Whether the machine has flash that keeps its history, which bears torn programs (no MLC)."""
    if not machines.keeps_files(keys) or "faults" in keys or "RTEMS" in str(keys.get("device", "")):
        return False
    try:
        stack = WatchedStack.watched(completed(keys), 1, Path(), "settled")
        part = stack.keys.get("part")
        if isinstance(part, str) and machines.part(part)["cell"] != "slc":
            return False
        stack.run_step({"step": "mount"})
        stack.run_step({"step": "umount"})
        stack.begin_recording([])
        stack.mount()
        stack.end_recording()
    except (InputError, OSError):
        return False
    return True


def is_known(case: Case, says: str, faults_met: list[str]) -> bool:
    """Whether it is a fault of the simulated system that the answer names, or YAFFS2's with files that a truncation
    makes longer (docs/power-cuts.md)."""
    truncates = any(step["step"] == "truncate" for step in workloads.steps_of(case["parts"]))
    return bool(faults_met) or (case["machine"]["fs"] == "yaffs2" and truncates and says.endswith("is another"))


class PowerCuts:
    """See the head of this file."""

    name = "cuts"
    weight = 12

    def draw(self, draw: random.Random) -> Case:
        if draw.random() < 0.2:
            device = {"ftl": draw.choice(mappings()), **FLASH}
            machine: Keys = {"system": "bare", "fs": BLOCK_DEVICE, "device": device}
        else:
            machine = machines.drawn(draw, can_be_cut)
        cuts = Cuts(
            tears=draw.choice((1, 1, 2)),
            recovery=draw.choice((0, 0, 1, 2)),
            depth=draw.choice((1, 2)),
            second_mount=draw.random() < 0.7,
        )
        return {
            "machine": machine,
            "seed": draw.randrange(1, 1000),
            # A real fault of Linux's UBIFS shows on partitions that are not settled (docs/power-cuts.md).
            "initial": "settled" if machine["fs"] == "ubifs" else draw.choice(("settled", "fresh")),
            "parts": workloads.drawn(draw, machine["fs"], draw.choice((4, 10, 20))),
            "cuts": asdict(cuts),
            "points": draw.choice((40, 120)),
        }

    def run(self, case: Case, folder: Path) -> Verdict:
        test = CrashTest(
            stack=completed(case["machine"]),
            judge={"kind": "synced"},
            steps=tuple(workloads.steps_of(case["parts"])),
            cuts=Cuts(**case["cuts"]),
            initial=case["initial"],
            seed=case["seed"],
            folder=folder,
        )
        try:
            outcome = crashtest(test, points=case["points"], jobs=1)
        except InputError:
            # No room for a step, or one that this file system lacks.
            return Verdict(None, Counter({"ended early": 1}))
        answer = answer_of(outcome)
        made = answer["points"] + answer["cuts_of_recoveries"] + answer["cuts_of_second_mounts"]
        counts = Counter({"cuts": made, "remounts": answer["recoveries"], "calls": len(test.steps)})
        wrong = next((failure for failure in answer["failures"] if failure["found"] not in NO_FAULT), None)
        if wrong is None or (wrong["found"] == "file-system" and is_known(case, wrong["says"], answer["faults_met"])):
            return Verdict(None, counts)
        at = f"operation {wrong['operation']}, {wrong['torn']} {wrong['seed']}, {wrong['recoveries_cut']}"
        return Verdict(Fault(wrong["found"], f"{at}: {wrong['says']}"), counts)

    def smaller(self, case: Case) -> Iterator[Case]:
        for parts in fewer(case["parts"], least=1):
            yield {**case, "parts": parts}
        for at, part in enumerate(case["parts"]):
            for steps in fewer(part, least=1):
                yield {**case, "parts": [*case["parts"][:at], steps, *case["parts"][at + 1 :]]}
        keys = [key for key in case["machine"] if key not in ("system", "fs", "quirks")]
        yield from without(case, "machine", keys)
        for key, value in {"recovery": 0, "tears": 1, "depth": 1, "second_mount": False}.items():
            if case["cuts"][key] != value:
                yield {**case, "cuts": {**case["cuts"], key: value}}
