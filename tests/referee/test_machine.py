"""The referee itself: it must notice what is wrong, and end when the kernel does not answer."""

from __future__ import annotations

import stat
import subprocess
from pathlib import Path

import pytest

from jffs2_images import experiment, run, step
from referee.initramfs import Cpio, build
from referee.jobs import mount_and_list
from referee.kit import Kit
from referee.listing import Entry, differences
from referee.machine import Machine, RefereeError

BLOCKS = 16


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A small file system: page data, and with OOB."""
    steps = [step("mount"), step("create", file="a", bytes=50_000), step("umount")]
    saves = [step("save_image", file="data"), step("save_image", file="dump", oob=True)]
    text = experiment([*steps, *saves], partition_blocks=BLOCKS, ecc="sw")
    return dict(run(text, tmp_path_factory.mktemp("small")).images)


def flipped(image: bytes, *places: int) -> bytes:
    out = bytearray(image)
    for place in places:
        out[place] ^= 1
    return bytes(out)


def test_an_archive_is_what_cpio_reads(tmp_path: Path) -> None:
    cpio = Cpio()
    cpio.add("a/b/file", stat.S_IFREG | 0o640, b"content")
    cpio.add("a/link", stat.S_IFLNK | 0o777, b"b/file")
    archive = cpio.finish()
    ran = subprocess.run(["busybox", "cpio", "-t"], input=archive, capture_output=True, check=False)
    if ran.returncode == 127:
        pytest.skip("busybox has no cpio here")
    assert ran.stdout.decode().split() == ["a", "a/b", "a/b/file", "a/link"]


def test_the_same_kit_gives_the_same_initramfs(kit: Kit) -> None:
    assert build(kit) == build(kit)


def test_an_image_in_order_has_no_complaints(machine: Machine, images: dict[str, bytes]) -> None:
    for name, image in images.items():
        found = mount_and_list(machine, image, blocks=BLOCKS, oob=name == "dump")
        assert found.complaints == []
        assert len(found.listing["a"].data or b"") == 50_000


def test_a_wrong_byte_is_noticed(machine: Machine, images: dict[str, bytes]) -> None:
    # In the data of a node: flash holds data from block 0 on, or wherever the last byte that is not erased stands.
    last = max(at for at, byte in enumerate(images["data"]) if byte not in (0, 0xFF))
    node = images["data"].rfind(b"\x85\x19\x02\xe0", 0, last) + 100
    found = mount_and_list(machine, flipped(images["data"], node), blocks=BLOCKS)
    assert any("CRC" in line for line in found.complaints), found.kernel_log


def test_a_bit_that_ecc_corrects_is_noticed(machine: Machine, images: dict[str, bytes]) -> None:
    node = images["dump"].find(b"\x85\x19\x02\xe0")
    found = mount_and_list(machine, flipped(images["dump"], node + 20), blocks=BLOCKS, oob=True)
    assert any("bits corrected, 0 ECC steps lost" in line for line in found.complaints), found.complaints


def test_two_wrong_bits_that_ecc_cannot_correct_are_noticed(machine: Machine, images: dict[str, bytes]) -> None:
    node = images["dump"].find(b"\x85\x19\x02\xe0")
    found = mount_and_list(machine, flipped(images["dump"], node + 20, node + 21), blocks=BLOCKS, oob=True)
    assert any("ecc" in line.lower() for line in found.complaints), found.complaints


def test_differences_are_named() -> None:
    entry = Entry("file", 0o644, (0, 0), 1, 5, 0, "a", b"x")
    other = Entry("file", 0o600, (0, 0), 1, 5, 0, "a", b"y")
    assert differences({"a": entry, "b": entry}, {"a": other, "c": entry}) == [
        "/b: missing",
        "/c: should not be there",
        "/a: permissions: expected 0o644, found 0o600",
        "/a: data: expected b'x', found b'y'",
    ]


def test_a_failing_command_is_told_with_what_it_said(machine: Machine) -> None:
    with pytest.raises(RefereeError, match=r"done 1\)(.|\n)*cannot do it"):
        machine.run("echo cannot do it; false; echo not reached")


def test_a_job_that_hangs_ends_with_the_last_lines(kit: Kit, tmp_path: Path) -> None:
    machine = Machine(kit, tmp_path / "machine")
    try:
        with pytest.raises(RefereeError, match=r"no answer after 3 s(.|\n)*the last words"):
            machine.run("echo the last words; echo in the kernel log > /dev/kmsg; sleep 1000", timeout_s=3)
    finally:
        machine.stop()
