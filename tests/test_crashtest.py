"""`ffslab crashtest`: deliberate defects of applications are found and blamed, right applications are not; failures fail again."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from ffslab import InputError
from ffslab.studies.crashtest import CrashTest, Cut, Cuts, crashtest
from ffslab.studies.crashtest.keep import keep
from ffslab.studies.crashtest.run import Outcome, answer_of
from ffslab.studies.crashtest.shrink import same_kind, shrunk
from ffslab.studies.crashtest.text import text_of

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples/crashtest"
UBIFS = {"board": "omap3evm", "fs": "ubifs", "partition_blocks": 40}
# Each judge with the applications that are right, and with those that are not.
APPLICATIONS = {
    "whole_settings": (
        ["settings_right"],
        [
            "settings_no_fsync",
            "settings_no_directory_fsync",
            "settings_in_place",
            "settings_unlink_first",
            "settings_fsync_after_rename",
        ],
    ),
    "records": (["log_right"], ["log_no_fsync", "log_fsync_every_second"]),
    "valid_store": (["store_right"], ["store_header_first", "store_no_barrier"]),
    "boots": (["update_right"], ["update_no_fsync", "update_one_slot", "update_pointer_no_fsync"]),
    "no_message_lost": (["queue_right"], ["queue_no_fsync", "queue_deletes_first"]),
}
RIGHT = [(judge, name) for judge, (right, _) in APPLICATIONS.items() for name in right]
WRONG = [(judge, name) for judge, (_, wrong) in APPLICATIONS.items() for name in wrong]


def application(judge: str, name: str, **stack: object) -> CrashTest:
    return CrashTest(
        stack={**UBIFS, **stack},
        judge={"kind": "python", "function": f"applications.py:{judge}"},
        program=f"applications.py:{name}",
        cuts=Cuts(second_mount=False),
        folder=EXAMPLES,
    )


def of_steps(*steps: dict[str, object], judge: dict[str, object] | None = None, **stack: object) -> CrashTest:
    return CrashTest(stack={**UBIFS, **stack}, judge=judge or {"kind": "synced"}, steps=steps)


def found(outcome: Outcome) -> list[str]:
    return [f"{failure['found']}: {failure['says']}" for failure in outcome.failures]


@pytest.mark.parametrize(("judge", "name"), RIGHT)
def test_a_right_application_is_not_blamed(judge: str, name: str) -> None:
    assert found(crashtest(application(judge, name))) == []


@pytest.mark.parametrize(("judge", "name"), WRONG)
def test_a_deliberate_defect_is_found_and_the_application_is_blamed(judge: str, name: str) -> None:
    said = found(crashtest(application(judge, name), points=200))
    assert said
    assert all(text.startswith("application: ") for text in said)
