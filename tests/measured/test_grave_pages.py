"""Pages that cannot be read any more, beside Linux 6.1: how often UBI and UBIFS read again, what JFFS2 leaves out."""

from __future__ import annotations

from ffslab import validate
from helpers.command import ROOT

CASES = ROOT / "tests" / "measured" / "grave-pages.jsonl.gz"


def test_ubifs_reads_a_node_again_under_the_lock_of_its_index() -> None:
    """Four times UBI, and all of it once more: a node's three pages are read 24 times (`ubifs_tnc_locate`)."""
    rows = validate(CASES)
    rows = rows[rows.id.str.contains("ubifs") & ~rows.counter.str.contains("latency|time|free")]
    assert rows[rows.counter == "page_reads"].expected.tolist() == [3330, 3162]
    assert rows[rows.simulated != rows.expected].empty
