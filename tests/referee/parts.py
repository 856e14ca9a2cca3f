"""What the referee needs beyond a virtual machine: the programs of mtd-utils and of file systems of cards, and those
that compare."""

from __future__ import annotations

from pathlib import Path

from ffslab.measured.reference import kit
from ffslab.measured.reference.kit import Kit
from ffslab.measured.reference.machine import Machine

PACKAGES = f"{kit.PACKAGES} mtd-utils e2fsprogs f2fs-tools nbd-client"
INSTALL = kit.install_command(PACKAGES)
# What runs in the guest; dynamically linked programs bring their libraries.
GUEST_PROGRAMS = (
    "find",
    "tar",
    "flash_erase",
    "nandwrite",
    "nanddump",
    "ubiattach",
    "ubidetach",
    "ubimkvol",
    "ubiupdatevol",
    "ubiformat",
    "ubinfo",
)
HOST_PROGRAMS = ("mkfs.ubifs", "ubinize", "mkfs.jffs2")
# What file systems on cards are made and checked with, here or in the guest.
CARD_PROGRAMS = ("mkfs.ext4", "fsck.ext4", "mkfs.f2fs", "fsck.f2fs", "nbd-client")
GUEST_SCRIPT = Path(__file__).with_name("guest.sh")


def find_kit() -> tuple[Kit | None, list[str]]:
    """The referee's kit, or what is missing for it."""
    return kit.find_kit(GUEST_PROGRAMS, (*HOST_PROGRAMS, *CARD_PROGRAMS))


def machine_of(kit: Kit, folder: Path) -> Machine:
    """A machine whose jobs may call what guest.sh holds."""
    return Machine(kit, folder, GUEST_SCRIPT.read_bytes())
