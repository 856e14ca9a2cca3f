"""`ffslab crashtest` on systems with faults that are known: the answer names the one that was met."""

from __future__ import annotations

from ffslab.answers.crashtest import CrashAnswer
from ffslab.studies.crashtest import CrashTest, crashtest
from ffslab.studies.crashtest.run import answer_of
from ffslab.studies.crashtest.text import text_of


def test_a_known_fault_of_the_kernel_is_named() -> None:
    """JFFS2 before Linux 6.3: a truncation, and a write behind the end in the same page."""
    steps: tuple[dict[str, object], ...] = (
        {"step": "create", "file": "a", "bytes": 4096, "content": "text"},
        {"step": "truncate", "file": "a", "bytes": 1},
        {"step": "open", "file": "a", "flags": ["rdwr"]},
        {
            "step": "requests",
            "file": "a",
            "op": "write",
            "pattern": "random",
            "request_B": 1,
            "count": 1,
            "range_B": 4096,
            "seed": 1,
        },
        {"step": "fsync", "file": "a"},
    )

    def told(kernel: str) -> CrashAnswer:
        stack = {"board": "omap3evm", "kernel": kernel, "compression": "none", "fs": "jffs2", "partition_blocks": 10}
        return answer_of(crashtest(CrashTest(stack=stack, judge={"kind": "synced"}, steps=steps), jobs=1))

    old, new = told("2.6.37"), told("6.12")
    assert [failure["found"] for failure in old["failures"]] == ["file-system"] and not new["wrong"]
    assert "known fault that was met: JFFS2 of this kernel left a gap" in text_of(old)
    assert new["faults_met"] == []
