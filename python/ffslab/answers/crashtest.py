"""What `ffslab crashtest --json` prints; `ffslab schema crashtest` is made from these types."""

from __future__ import annotations

from typing import TypedDict


class CrashFailure(TypedDict):
    """Cuts after which the same is wrong; the first of them is told.

    `found`: "application": the file system kept its promises, and the judge does not agree with what is there;
    "file-system": it broke them; "not-promised": it lost what was synced, and promises nothing; "tolerated": the same,
    and the judge of the test agrees with what is there; "program": the check of a program on libffslab says no. `cuts`:
    how many. `operation`: at which program or erase, from 1; `torn`: what is left of that; `during`: what that is and
    who called for it, of a program on libffslab (others: ""); `recoveries_cut`: operations of the mounts, or of the
    checks, that were cut, too. `file`: where it is kept; null: nowhere.
    """

    found: str
    says: str
    cuts: int
    operation: int
    torn: str
    seed: int
    during: str
    recoveries_cut: list[str]
    file: str | None


class CrashAnswer(TypedDict):
    """What a workload leaves when its power is cut.

    `machine`: on what, from what state, how much was seen, in a line. `axes_not_varied`: axes of the experiment, which
    was tried on the machine of its [stack] alone. `holds`: nothing is wrong but what the judge of
    the test tolerates. `operations`: programs and erases of the workload; `points`: cuts that were made, of `possible`
    ones; `states`: media among them that differ; `wrong`: cuts after which something is wrong or lost; `recoveries`:
    mounts, or runs of a program's check; `told`: things that the application said were done; `refused`: cuts after
    which there was nothing to mount yet, as is allowed. `promises`: what the file system promises; "": a program on
    libffslab was judged. `faults_met`: known faults of the simulated system that the workload or a mount after a cut
    met, which may be what is wrong.
    """

    ffslab: str
    title: str
    machine: str
    axes_not_varied: list[str]
    holds: bool
    promises: str
    operations: int
    points: int
    possible: int
    states: int
    wrong: int
    recoveries: int
    cuts_of_recoveries: int
    cuts_of_second_mounts: int
    told: int
    refused: int
    faults_met: list[str]
    failures: list[CrashFailure]
