"""Tests that need something that is not installed: they are skipped, or fail where nothing may be left out."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest

# Set by .ci/run.
NOTHING_LEFT_OUT = "FFSLAB_NOTHING_LEFT_OUT"


def leave_out(reason: str) -> NoReturn:
    """Ends the test; `reason` says what is missing and how to get it."""
    if os.environ.get(NOTHING_LEFT_OUT):
        pytest.fail(f"{reason} ({NOTHING_LEFT_OUT} is set)", pytrace=False)
    pytest.skip(reason)
