"""The referee itself: it must notice what is wrong, and end when the kernel does not answer."""

from __future__ import annotations

import stat
import struct
import subprocess
from pathlib import Path

import pytest

from ffslab.measured.reference.initramfs import Cpio, build
from ffslab.measured.reference.kit import MODULES_AT_BOOT, MODULES_OF_JOBS, Kernel, Kit, find_kernel
from ffslab.measured.reference.machine import GuestError, Machine
from ffslab.measured.reference.unpacked import boot_file, has_entry, unpacked
from helpers.jffs2_images import experiment, run, step
from helpers.left_out import NOTHING_LEFT_OUT, leave_out
from referee.jobs import mount_and_list
from referee.listing import Entry, differences
from referee.parts import machine_of

BLOCKS = 16
# Magic number and type of a node with data (include/uapi/linux/jffs2.h), little-endian.
INODE_NODE = bytes.fromhex("851902e0")


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


def test_an_archive_is_what_cpio_reads(kit: Kit) -> None:
    cpio = Cpio()
    cpio.add("a/b/file", stat.S_IFREG | 0o640, b"content")
    cpio.add("a/link", stat.S_IFLNK | 0o777, b"b/file")
    archive = cpio.finish()
    ran = subprocess.run([kit.busybox, "cpio", "-t"], input=archive, capture_output=True, check=True)
    assert ran.stdout.decode().split() == ["a", "a/b", "a/b/file", "a/link"]


def test_the_guest_need_not_unpack_the_kernel(kit: Kit) -> None:
    """Debian's kernels have what it takes; whatever is packed or made in another way is left to the guest."""
    image = kit.kernel.image.read_bytes()
    kernel = unpacked(image)
    assert kernel is not None
    assert has_entry(kernel)
    assert boot_file(kit.kernel.image).read_bytes() == kernel
    version = kit.kernel.image.name.removeprefix("vmlinuz-").encode()
    assert b"Linux version " + version in kernel
    (offset,) = struct.unpack_from("<I", image, 0x248)
    start = (image[0x1F1] + 1) * 512 + offset
    damaged = image[: start + 1000] + bytes(1000) + image[start + 2000 :]
    assert [unpacked(other) for other in (damaged, image[:0x250], kernel, b"", bytes(5000))] == [None] * 5
    assert not has_entry(kernel.replace(b"Xen\0", b"XEN\0"))
    assert not has_entry(kernel[:100])


def test_a_kernel_without_all_modules_is_passed_over(tmp_path: Path) -> None:
    boot, modules = tmp_path / "boot", tmp_path / "modules"
    boot.mkdir()
    assert find_kernel(boot, modules) is None
    names = [f"kernel/{name}.ko:" for name in (*MODULES_AT_BOOT, *MODULES_OF_JOBS)]
    for version, lines in (("6.1.9", names), ("6.1.10", names), ("6.12.1-cloud", names[1:])):
        (boot / f"vmlinuz-{version}").touch()
        (modules / version).mkdir(parents=True)
        (modules / version / "modules.dep").write_text("\n".join(lines), encoding="utf-8")
        (modules / version / "modules.builtin").touch()
    found = find_kernel(boot, modules)
    assert found is not None
    assert found.modules.name == "6.1.10"


def test_modules_are_loaded_after_those_that_they_need(tmp_path: Path) -> None:
    lines = ["a/top.ko: b/middle.ko c/bottom.ko", "b/middle.ko: c/bottom.ko", "c/bottom.ko:", "c/other.ko:"]
    (tmp_path / "modules.dep").write_text("\n".join(lines), encoding="utf-8")
    closure = Kernel(tmp_path / "vmlinuz", tmp_path).closure(["top", "compiled_in"])
    assert [path.name for path in closure] == ["bottom.ko", "middle.ko", "top.ko"]


@pytest.mark.parametrize(("set_to", "outcome"), [("", pytest.skip.Exception), ("1", pytest.fail.Exception)])
def test_what_is_left_out_is_a_failure_where_nothing_may_be(
    set_to: str, outcome: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(NOTHING_LEFT_OUT, set_to)
    with pytest.raises(outcome, match="no kernel; apt-get install it"):
        leave_out("no kernel; apt-get install it")


def test_the_same_kit_gives_the_same_initramfs(kit: Kit) -> None:
    assert build(kit) == build(kit)


def test_an_image_in_order_has_no_complaints(machine: Machine, images: dict[str, bytes]) -> None:
    for name, image in images.items():
        found = mount_and_list(machine, image, blocks=BLOCKS, oob=name == "dump")
        assert found.complaints == []
        assert len(found.listing["a"].data or b"") == 50_000


def test_a_wrong_byte_is_noticed(machine: Machine, images: dict[str, bytes]) -> None:
    node = images["data"].find(INODE_NODE)
    found = mount_and_list(machine, flipped(images["data"], node + 20), blocks=BLOCKS)
    assert any("CRC" in line for line in found.complaints), found.kernel_log


def test_a_bit_that_ecc_corrects_is_noticed(machine: Machine, images: dict[str, bytes]) -> None:
    node = images["dump"].find(INODE_NODE)
    found = mount_and_list(machine, flipped(images["dump"], node + 20), blocks=BLOCKS, oob=True)
    assert any("bits corrected, 0 ECC steps lost" in line for line in found.complaints), found.complaints


def test_two_wrong_bits_that_ecc_cannot_correct_are_noticed(machine: Machine, images: dict[str, bytes]) -> None:
    node = images["dump"].find(INODE_NODE)
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
    with pytest.raises(GuestError, match=r"done 1\)(.|\n)*cannot do it"):
        machine.run("echo cannot do it; false; echo not reached")


def test_a_job_that_hangs_ends_with_the_last_lines(kit: Kit, tmp_path: Path) -> None:
    machine = machine_of(kit, tmp_path / "machine")
    try:
        with pytest.raises(GuestError, match="no answer after 3 s") as caught:
            machine.run("echo the last words; echo '<4>of the kernel' > /dev/kmsg; sleep 1000", timeout_s=3)
    finally:
        machine.stop()
    console, _, job = str(caught.value).partition("---- job ----")
    assert "of the kernel" in console
    assert "the last words" in job
