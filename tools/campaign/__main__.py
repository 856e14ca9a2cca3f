"""`python -m campaign`: see `campaign/__init__.py`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from campaign import history, kernel
from campaign.commands import RUNNER
from campaign.driver import KINDS, NAMED, campaign, replay
from ffslab.files.interruption import catch_signals

# What calls commands in processes that part from this one; loading them takes seconds.
CALL_COMMANDS = {"same", "images"}


def main() -> int:
    """Exit code 1: a fault was found."""
    parser = argparse.ArgumentParser(prog="python -m campaign", description="Hunts for faults (docs/campaign.md).")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", action="append", choices=[*KINDS, *NAMED], help="only these, given several times")
    parser.add_argument("--case", type=Path, help="the file of a fault, which is run again")
    parser.add_argument("--page", action="store_true", help="write docs/campaign.md from what was counted")
    given = parser.parse_args()
    if given.page:
        history.write_page()
        return 0
    catch_signals()
    if given.case:
        if not given.case.is_file():
            parser.error(f"{given.case}: no such file; faults that are open are in {history.FAULTS}")
        fault = replay(given.case)
        print(f"{given.case.name}: {fault.what}: {fault.says}" if fault else f"{given.case.name}: nothing is wrong")
        return int(fault is not None)
    kinds = {name: (KINDS | NAMED)[name] for name in given.kind or KINDS}
    if kernel.OnKernel.name in kinds and (missing := kernel.missing()):
        parser.error(f"--kind {kernel.OnKernel.name} needs {', '.join(missing)}")
    if kinds.keys() & CALL_COMMANDS:
        RUNNER.load()
    told = campaign(given.seed, given.minutes, kinds)
    counted = ", ".join(f"{told[name]:,} {name}" for name in history.COUNTED)
    draws = ", ".join(f"{count:,} {name}" for name, count in told["draws"].items())
    print(f"{told['minutes']} minutes: {draws}; {counted}; {len(told['faults'])} faults")
    return int(bool(told["faults"]))


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        # Before the first draw.
        sys.exit("interrupted")
