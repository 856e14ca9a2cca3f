"""The flash of a product in the tests of its software: pytest examples/ci/test_flash.py. See docs/budgets.md.

pytest.ini names the machine: that of the budgets, with its programs and settings.
"""

import subprocess
import sys

import pytest

from ffslab.testing import FlashMount, FlashStack

# So many that the partition is filled more than once: before, neither years nor the slowest save can be told.
SAVES = 4000
# A program as it is: it knows nothing of ffslab.
PROGRAM = """
import os
for number in range(50):
    with open("settings.tmp", "w") as file:
        file.write(f"volume = {number}" * 100)
        file.flush()
        os.fsync(file.fileno())
    os.rename("settings.tmp", "settings")
"""


def save(flash: FlashStack, settings: bytes) -> None:
    """Replaces the settings as a whole."""
    fd = flash.open("settings.tmp", "wronly create truncate")
    flash.pwrite(fd, settings, 0)
    flash.fsync(fd)
    flash.close(fd)
    flash.rename("settings.tmp", "settings")


@pytest.mark.flash_budget("page_programs <= +2 %", "latency_max_us <= 20 ms", "years >= 10", per_day=3)
def test_saving_settings_keeps_its_budget(flash_stack: FlashStack) -> None:
    with flash_stack.measured("save settings"):
        for number in range(SAVES):
            save(flash_stack, b"volume = %d" % number * 100)
    run = flash_stack.figures()
    assert run.page_programs / SAVES < 8
    assert flash_stack.read_file("settings").startswith(b"volume = 3999")


@pytest.mark.flash_stack(fs="jffs2")
def test_a_real_program_keeps_its_budget_on_another_file_system(flash_mount: FlashMount) -> None:
    subprocess.run([sys.executable, "-c", PROGRAM], cwd=flash_mount.place, check=True)
    run = flash_mount.figures()
    assert run.page_programs < 400
