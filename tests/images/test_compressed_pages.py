"""Compressed pages beside those of a real kernel, of which compressor, size and check sum of each node are kept."""

from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pytest

from referee.compressed_pages import (
    CASES,
    KEPT,
    KINDS,
    PAGE_B,
    PAGES_KEPT,
    Case,
    kept_corpus,
    kind_at,
    of_ffslab,
    sum_of,
)

AGAIN = "run again: tests/referee/compressed_pages.py --keep"


@pytest.fixture(scope="module")
def pages() -> bytes:
    return kept_corpus()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_pages_are_compressed_as_the_kernel_did(case: Case, pages: bytes, tmp_path: Path) -> None:
    kept = json.loads(gzip.decompress(KEPT.read_bytes()))
    assert kept["pages_sha256"] == hashlib.sha256(pages).hexdigest(), f"the pages are others: {AGAIN}"
    kernels = {
        (offset, plain_B): (code, stored_B, crc) for offset, plain_B, code, stored_B, crc in kept["pieces"][case.name]
    }
    ours = {key: sum_of(piece) for key, piece in of_ffslab(case, pages, tmp_path).items()}
    both = kernels.keys() & ours.keys()
    assert len(both) > 0.9 * PAGES_KEPT * len(KINDS)
    assert sum(kernels[key][0] == case.code for key in both) > case.compressed_share_min * len(both)
    unlike = [
        f"{plain_B} B at {offset} ({kind_at(offset)}): {kernels[offset, plain_B]}, ffslab {ours[offset, plain_B]}"
        for offset, plain_B in sorted(both)
        if kernels[offset, plain_B] != ours[offset, plain_B]
    ]
    if case.exact:
        assert unlike == []
    else:
        theirs, own = (sum(pieces[key][1] for key in both if key[1] == PAGE_B) for pieces in (kernels, ours))
        assert abs(own - theirs) < 0.001 * theirs
