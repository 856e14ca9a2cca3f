"""JFFS2 both ways: what ffslab wrote is mounted by a real kernel, what the kernel wrote is mounted by ffslab."""

from __future__ import annotations

import io
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from ffslab.measured.reference.machine import GuestError, Machine
from helpers.jffs2_images import busy_steps, contents, experiment, make_tree, run, step
from referee.jobs import make_and_list, mount_and_list
from referee.listing import Entry, Listing, assert_kept, assert_same, ours

BLOCKS = 64
DUMPED_BLOCK_B = 64 * (2048 + 64)


def without_root_time(listing: Listing) -> dict[str, Entry]:
    """The root has no inode node: only while it is mounted does it have the time of its last change."""
    return {**listing, "": replace(listing[""], modified_s=None)}


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that ffslab copies in."""
    folder = tmp_path_factory.mktemp("source")
    contents(folder / "contents")
    return folder


# ---- ffslab -> kernel -> ffslab -----------------------------------------------------------------------------


# As users do it: page data only, where the kernel makes ECC and flash_erase clean markers; or a dump with both.
@pytest.mark.parametrize(
    ("compression", "summary", "oob"),
    [("none", False, False), ("zlib", True, True), ("rtime", True, False), ("lzo", False, True), ("size", True, False)],
)
def test_the_kernel_reads_and_changes_what_ffslab_wrote(
    compression: str, summary: bool, oob: bool, source: Path, tmp_path: Path, machine: Machine
) -> None:
    text = experiment(busy_steps(), partition_blocks=BLOCKS, compression=compression, summary=summary, ecc="sw")
    image = tmp_path / "image"
    image.write_bytes(run(text, source).images["dump.bin" if oob else "raw.bin"])
    written = ours(image, oob)
    assert len(written) > 60

    found = mount_and_list(machine, image, blocks=BLOCKS, oob=oob, change="list untouched; modify changed 80")
    assert found.complaints == []
    assert_same(written, found.other("untouched"))
    assert_kept(written, found.listing)
    assert found.dump is not None
    assert_same(found.listing, ours(found.dump))


@pytest.mark.parametrize("variant", ["plain", "zlib-summary"])
def test_the_kernel_sees_everything_that_system_calls_did(variant: str, jffs2_exhibits: Path, machine: Machine) -> None:
    """Thousands of random calls; links, owners, times, device numbers and names at the limits."""
    dump = jffs2_exhibits / f"busy-{variant}.dump"
    written = ours(dump)
    assert {entry.kind for entry in written.values()} >= {"fifo", "socket", "char device", "block device", "symlink"}
    assert max(entry.links for entry in written.values() if entry.kind == "file") > 40
    found = mount_and_list(machine, dump, blocks=BLOCKS, oob=True)
    assert found.complaints == []
    assert_same(written, found.listing)


def test_after_a_power_cut_the_kernel_finds_what_ffslab_finds(jffs2_exhibits: Path, machine: Machine) -> None:
    """The kernel mounts the chip as the cut left it, goes on writing, and ffslab mounts that."""
    dumps = sorted(jffs2_exhibits.glob("cut-*.dump"))
    assert len(dumps) >= 8
    complained = refused = 0
    for dump in dumps:
        blocks = dump.stat().st_size // DUMPED_BLOCK_B
        recovered = dump.with_suffix(".recovered")
        if not recovered.exists():
            # What ffslab does not mount, the kernel does not mount either.
            with pytest.raises(GuestError, match="Cowardly refusing to erase blocks"):
                mount_and_list(machine, dump, blocks=blocks, oob=True)
            refused += 1
            continue
        change = "list untouched; echo further > /mnt/further; rm -f /mnt/old1"
        found = mount_and_list(machine, dump, blocks=blocks, oob=True, change=change)
        complained += found.complaints != []
        assert_same(ours(recovered, torn=True), found.other("untouched"))
        assert found.dump is not None
        assert_same(found.listing, ours(found.dump, torn=True))
    assert refused == 1, "the first cut is in the middle of formatting"
    assert complained > 1, "many cuts leave a torn node or a torn page, which the kernel mentions"


# ---- kernel -> ffslab -> kernel -----------------------------------------------------------------------------


@pytest.mark.parametrize(("options", "compression"), [("compr=zlib", "zlib"), ("compr=none", "lzo")])
def test_ffslab_reads_and_changes_what_the_kernel_wrote(
    options: str, compression: str, source: Path, tmp_path: Path, machine: Machine
) -> None:
    tree = make_tree(tmp_path / "tree")
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as tar:
        tar.add(tree, ".")
    fill = "extract tree.tar; for i in 1 2 3; do modify round$i 60; sync; [ $i = 3 ] || rm -r /mnt/round$i; done"
    made = make_and_list(machine, blocks=BLOCKS, fill=fill, files={"tree.tar": buffer.getvalue()}, options=options)
    assert made.complaints == []
    assert made.dump is not None
    assert made.data is not None
    for dump, oob in ((made.dump, True), (made.data, False)):
        assert_same(without_root_time(made.listing), ours(dump, oob))

    steps = [
        step("mount"),
        step("mkdir", dir="again"),
        step("copy_in", **{"from": "contents", "dir": "again"}),
        step("rename", file="round3/link1", to="again/link1"),
        step("rename", file="text", to="random"),
        step("unlink", file="round3/program"),
        step("truncate", file="big", bytes=70_001),
        step("open", file="round3/big", flags=["wronly"]),
        step("requests", file="round3/big", op="write", pattern="random", request_B=3000, count=900, seed=3),
        step("close", file="round3/big"),
        step("sleep", us="60 s"),
        step("umount"),
        step("save_image", file="dump", oob=True),
    ]
    (tmp_path / "dump").write_bytes(made.dump.read_bytes())
    (tmp_path / "contents").symlink_to(source / "contents")
    stack = {"image": "dump", "image_oob": True, "compression": compression, "ecc": "sw", "partition_blocks": BLOCKS}
    image = tmp_path / "changed"
    image.write_bytes(run(experiment(steps, **stack), tmp_path).images["dump"])
    written = ours(image)
    assert written["random"].data == made.listing["text"].data
    assert written["again/link1"].links == 3
    found = mount_and_list(machine, image, blocks=BLOCKS, oob=True)
    assert found.complaints == []
    assert_same(written, found.listing)


def test_ffslab_mounts_what_a_running_kernel_has_on_flash(machine: Machine) -> None:
    """A dump of a mounted file system, after sync(2): nothing was told that it would be the last moment."""
    fill = "modify first 60; cp -r /mnt/first /mnt/second; rm -r /mnt/first/a; sync; list list; read_dump running"
    made = make_and_list(machine, blocks=BLOCKS, fill=fill)
    assert made.complaints == []
    assert_same(without_root_time(made.listing), ours(made.folder / "running.dump"))
