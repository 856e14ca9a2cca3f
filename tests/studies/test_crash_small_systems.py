"""`ffslab crashtest` on NOR, RTEMS and devices with a write cache: deliberate defects are found, right ones pass."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from ffslab import InputError
from ffslab.studies.crashtest import CrashTest, Cuts, crashtest
from ffslab.studies.crashtest.run import Outcome
from helpers.command import ROOT

EXAMPLES = ROOT / "examples/crashtest"
DISK_BYTES = 2048 * 9
FLASH = {"part": "k9f1g08u0a", "blocks": 24, "spare": 0.6}
NOR: dict[str, Any] = {"board": "omap3evm", "fs": "jffs2", "part": "js28f256p30", "partition_blocks": 12}
RTEMS_JFFS2: dict[str, Any] = {"system": "rtems", "fs": "jffs2", "device_KiB": 1024}
BPLRU: dict[str, Any] = {
    "system": "bare",
    "fs": "block-device",
    "device": {"ftl": "bast", "buffer": "bplru", "buffer_pages": 64, **FLASH},
}


def on_rtems(fs: str, **device: object) -> dict[str, Any]:
    return {"system": "rtems", "fs": fs, "quirks": "fixed", "device": {"ftl": "page-map", **FLASH, **device}}


# A file of a fixed size, all of which is on the device before the program runs.
ONE_FILE = (
    {"step": "mount"},
    {"step": "create", "file": "disk", "bytes": DISK_BYTES},
    {"step": "sync"},
    {"step": "umount"},
)


@dataclass(frozen=True)
class Subject:
    """A stack, and the applications that are right and wrong there, each with its judge."""

    stack: Mapping[str, Any]
    file: str
    applications: Mapping[str, tuple[list[str], list[str]]]
    cache: int = 0
    setup: tuple[dict[str, Any], ...] = ()

    def test_of(self, judge: str, name: str) -> CrashTest:
        return CrashTest(
            stack=self.stack,
            judge={"kind": "python", "function": f"{self.file}:{judge}"},
            program=f"{self.file}:{name}",
            setup=self.setup,
            cuts=Cuts(second_mount=False, cache=self.cache),
            folder=EXAMPLES,
        )


SLOTS_WRONG = ["slots_no_flush", "slots_header_first", "slots_never_flushed", "slots_told_first", "slots_one"]
SUBJECTS = {
    # A write has no buffer to wait in: what only forgets fsync(2) is safe, and order is all that counts.
    "NOR": Subject(
        NOR,
        "applications.py",
        {
            "valid_store": (["store_right"], ["store_header_first", "store_no_barrier"]),
            "whole_settings": (
                ["settings_right"],
                ["settings_in_place", "settings_unlink_first", "settings_told_first"],
            ),
            "boots": (["update_right"], ["update_one_slot"]),
            "counted": (["counter_right"], ["counter_one_slot", "counter_no_checksum"]),
        },
    ),
    "JFFS2 of RTEMS": Subject(
        RTEMS_JFFS2,
        "no_fsync.py",
        {
            "whole_settings": (
                ["settings_right"],
                ["settings_in_place", "settings_remove_first", "settings_told_first", "settings_no_checksum"],
            ),
        },
    ),
    "DOSFS": Subject(
        on_rtems("dosfs"),
        "disk.py",
        {"whole_slot": (["slots_right"], [*SLOTS_WRONG, "slots_header_not_flushed"])},
        setup=ONE_FILE,
    ),
    "RFS": Subject(
        on_rtems("rfs"),
        "disk.py",
        {"whole_slot": (["slots_right"], [*SLOTS_WRONG, "slots_header_not_flushed"])},
        setup=ONE_FILE,
    ),
    "bplru": Subject(
        BPLRU,
        "disk.py",
        {"whole_slot": (["slots_right"], [*SLOTS_WRONG, "slots_header_not_flushed"])},
        cache=4,
    ),
}


def each() -> Iterator[object]:
    """Every application of every subject; `make test` asks of the first right and the first wrong one of each."""
    for subject, of in SUBJECTS.items():
        for at, (judge, (right, wrong)) in enumerate(of.applications.items()):
            for names in (right, wrong):
                for place, name in enumerate(names):
                    marks = () if at == place == 0 else pytest.mark.long
                    yield pytest.param(subject, judge, name, names is right, marks=marks)


def found(outcome: Outcome) -> list[str]:
    return [f"{failure['found']}: {failure['says']}" for failure in outcome.failures]


@pytest.mark.parametrize(("subject", "judge", "name", "is_right"), [*each()])
def test_deliberate_defects_are_found_and_right_applications_are_not_blamed(
    subject: str, judge: str, name: str, is_right: bool
) -> None:
    said = found(crashtest(SUBJECTS[subject].test_of(judge, name), points=120))
    if is_right:
        assert said == []
    else:
        assert said and all(text.startswith("application: ") for text in said)


@pytest.mark.parametrize("fs", ["dosfs", "rfs"])
def test_a_cache_below_a_file_system_of_rtems_is_lost_too(fs: str) -> None:
    """RTEMS tells a device nothing of a flush before the unmount, so fsync(2) does not reach behind a write cache."""
    subject = replace(SUBJECTS["DOSFS"], stack=on_rtems(fs, buffer_pages=4), cache=4)
    outcome = crashtest(subject.test_of("whole_slot", "slots_right"), points=100)
    said = found(outcome)
    assert any(text.startswith("application: ") and "were saved" in text for text in said), said
    assert "cache" in {outcome.points.cuts[finding["point"]].torn for finding in outcome.judged["findings"]}
    # Whoever unmounts before he tells has nothing in the cache.
    assert found(crashtest(subject.test_of("whole_slot", "slots_unmounted"), points=100)) == []


def test_cuts_of_a_cache_need_one() -> None:
    for stack in (NOR, on_rtems("dosfs"), RTEMS_JFFS2):
        test = CrashTest(stack=stack, judge={"kind": "synced"}, steps=ONE_FILE[1:3], cuts=Cuts(cache=2))
        with pytest.raises(InputError, match=r"`cache` is of a device with a write cache: give buffer_pages"):
            crashtest(test)
