"""The referee's side of UBI and UBIFS, tried with images of mkfs.ubifs and ubinize."""

from __future__ import annotations

from pathlib import Path

import pytest

from referee.jobs import mount_and_list
from referee.kit import Kit
from referee.listing import assert_same, from_folder, from_kernel
from referee.machine import Machine
from referee.make_ubifs_samples import BLOCKS, LEB_B, UNCLEAN, make_tree, mkfs_ubi


@pytest.mark.parametrize(("compressor", "vid_offset_B"), [("zstd", 512), ("lzo", 2048)])
def test_an_image_of_ubinize_is_mounted_changed_and_handed_back(
    compressor: str,
    vid_offset_B: int,  # noqa: N803
    kit: Kit,
    machine: Machine,
    tmp_path: Path,
) -> None:
    make_tree(tmp_path / "tree")
    expected = from_folder(tmp_path / "tree")
    _, image = mkfs_ubi(kit, tmp_path / "tree", tmp_path / "image", compressor, vid_offset_B)
    attach = f"-O {vid_offset_B}"
    change = "list untouched; modify changed 60"
    found = mount_and_list(machine, image, "ubifs", blocks=BLOCKS, change=change, attach_options=attach)
    assert found.complaints == []
    assert f"ubi0: PEB size: 131072 bytes (128 KiB), LEB size: {LEB_B[vid_offset_B]} bytes" in found.kernel_log
    assert_same(expected, found.other("untouched"))
    assert len(found.listing) > len(expected) + 30

    assert found.dump is not None
    again = mount_and_list(machine, found.dump, "ubifs", blocks=BLOCKS, oob=True, attach_options=attach)
    assert again.complaints == []
    assert_same(found.listing, again.listing)


def test_a_journal_is_replayed(machine: Machine, tmp_path: Path) -> None:
    """A dump of a mounted UBIFS: the kernel says that it recovers, and finds the files of that moment."""
    tree = make_tree(tmp_path / "tree")
    start = f"chip {BLOCKS}; make_volume; mount_fs ubifs compr=lzo; extract tree.tar; modify first 30"
    done = machine.run(start + UNCLEAN, {"tree.tar": tree})
    found = mount_and_list(machine, done.folder / "image.dump", "ubifs", blocks=BLOCKS, oob=True)
    assert found.complaints == []
    assert "UBIFS (ubi0:0): recovery completed" in found.kernel_log
    assert_same(from_kernel(done.folder / "list"), found.listing)
