"""Compressed pages: what a real kernel leaves on flash, byte by byte beside what ffslab writes for the same pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from ffslab.measured.reference.kit import Kit
from ffslab.measured.reference.machine import Machine
from referee.compressed_pages import CASES, KINDS, Case, corpus, of_ffslab, of_kernel, real_files, unlike

PAGES_OF_A_KIND = 250


@pytest.mark.parametrize("case", [case for case in CASES if case.exact], ids=lambda case: case.name)
def test_pages_are_compressed_as_the_kernel_does(case: Case, tmp_path: Path, kit: Kit, machine: Machine) -> None:
    pages = corpus(PAGES_OF_A_KIND, real_files(kit))
    kernels, ours = of_kernel(case, pages, machine), of_ffslab(case, pages, tmp_path)
    assert sum(compressor == case.code for compressor, _ in kernels.values()) > case.compressed_share_min * len(kernels)
    assert len(kernels.keys() & ours.keys()) > 0.9 * PAGES_OF_A_KIND * len(KINDS)
    assert list(unlike(kernels, ours)) == []
