"""UBIFS both ways: what ffslab wrote is mounted by a real kernel, what the kernel wrote is mounted by ffslab."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from ffslab.measured.reference.kit import Kit
from ffslab.measured.reference.machine import GuestError, Machine
from ffslab.studies.crashtest import CrashTest, crashtest
from ffslab.studies.crashtest.programs import ProgramRecording
from helpers.command import ROOT
from helpers.jffs2_images import busy_steps, contents, experiment, run, step
from referee.jobs import complaints, make_and_list, mount_and_list
from referee.listing import assert_kept, assert_same, from_folder, from_kernel, manifest, ours
from referee.make_ubifs_samples import BLOCKS, LEB_B, UNCLEAN, make_tree, mkfs_ubi

# ffslab's partitions; on its chip of 2048 blocks the kernel keeps two for bad ones when it is told so.
OUR_BLOCKS = 64
DUMPED_BLOCK_B = 64 * (2048 + 64)
ATTACH = "-b 1"
STACK = {"fs": "ubifs", "ecc": "sw", "max_beb_per1024": 1}
# What UBI and the NAND driver say about a page that lost its power while it was programmed.
TORN = ("ecc_sw_hamming_correct: uncorrectable ECC error", "(ECC error) while reading", "ECC steps lost")


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that ffslab copies in."""
    folder = tmp_path_factory.mktemp("source")
    contents(folder / "contents")
    return folder


# ---- ffslab -> kernel -> ffslab -----------------------------------------------------------------------------


# As users do it: page data only, where the kernel makes ECC; or a dump with both.
@pytest.mark.parametrize(("compression", "oob"), [("none", False), ("lzo", True), ("zlib", False), ("zstd", True)])
def test_the_kernel_reads_and_changes_what_ffslab_wrote(
    compression: str, oob: bool, source: Path, tmp_path: Path, machine: Machine
) -> None:
    text = experiment(busy_steps(["wronly", "sync"]), partition_blocks=OUR_BLOCKS, compression=compression, **STACK)
    done = run(text, source)
    erases = done.summary["variants"][0]["totals"]["erases"]
    assert erases > 2 * OUR_BLOCKS, "too little was erased: garbage is to be collected"
    image = tmp_path / "image"
    image.write_bytes(done.images["dump.bin" if oob else "raw.bin"])
    written = ours(image, oob)
    assert len(written) > 60

    change = "list untouched; modify changed 60"
    found = mount_and_list(machine, image, "ubifs", blocks=OUR_BLOCKS, oob=oob, change=change, attach_options=ATTACH)
    assert found.complaints == []
    assert_same(written, found.other("untouched"))
    assert_kept(written, found.listing)
    assert found.dump is not None
    assert_same(found.listing, ours(found.dump))


@pytest.mark.parametrize("variant", ["none", "lzo", "zlib", "zstd", "formatted"])
def test_the_kernel_sees_everything_that_system_calls_did(variant: str, ubifs_exhibits: Path, machine: Machine) -> None:
    """Thousands of random calls; links, owners, times, device numbers and names at the limits."""
    dump = ubifs_exhibits / f"busy-{variant}.dump"
    written = ours(dump)
    assert {entry.kind for entry in written.values()} >= {"fifo", "socket", "char device", "block device", "symlink"}
    assert max(entry.links for entry in written.values() if entry.kind == "file") > 40
    found = mount_and_list(machine, dump, "ubifs", blocks=OUR_BLOCKS, oob=True, attach_options=ATTACH)
    assert found.complaints == []
    assert_same(written, found.listing)


def test_after_a_power_cut_the_kernel_finds_what_ffslab_finds(ubifs_exhibits: Path, machine: Machine) -> None:
    """The kernel mounts the chip as the cut left it, goes on writing, and ffslab mounts that."""
    dumps = sorted(ubifs_exhibits.glob("cut-*.dump"))
    assert len(dumps) >= 8
    torn = refused = recovered = 0
    for dump in dumps:
        blocks = dump.stat().st_size // DUMPED_BLOCK_B
        expected = dump.with_suffix(".recovered")
        if not expected.exists():
            # What ffslab does not mount, the kernel does not mount either.
            with pytest.raises(GuestError, match="both volume tables are corrupted"):
                mount_and_list(machine, dump, "ubifs", blocks=blocks, oob=True, attach_options=ATTACH)
            refused += 1
            continue
        change = "list untouched; seq 9000 > /mnt/further; rm -f /mnt/old1; mv /mnt/further /mnt/old2; mkdir /mnt/new"
        found = mount_and_list(machine, dump, "ubifs", blocks=blocks, oob=True, change=change, attach_options=ATTACH)
        assert [line for line in found.complaints if not any(words in line for words in TORN)] == []
        torn += found.complaints != []
        recovered += "UBIFS (ubi0:0): recovery completed" in found.kernel_log
        assert_same(ours(expected), found.other("untouched"))
        assert found.dump is not None
        assert_same(found.listing, ours(found.dump))
    assert refused == 1, "the first cut is in the middle of formatting"
    assert torn > 1, "some cuts leave a torn page, which the kernel mentions"
    assert recovered == len(dumps) - refused


def test_a_torn_page_that_recovery_has_dropped_is_back_when_ubi_has_not_erased_it(machine: Machine) -> None:
    """What `ffslab crashtest` finds at a first boot is a fault of Linux: the block waits behind those to format."""
    test = CrashTest.from_file(ROOT / "examples/crashtest/first-boot.toml")
    outcome = crashtest(test)
    (failure,) = outcome.failures
    assert not isinstance(outcome.recording, ProgramRecording)
    image, _, _ = outcome.recording.after((failure["operation"], failure["torn"], failure["seed"]), oob=False)
    assert image is not None
    again = "mount_fs ubifs 2> again || echo refused >> again\nif grep -q ' /mnt ' /proc/mounts; then umount_fs; fi"
    said = {}
    # An erase takes 2 ms, or no time.
    for erases in ("do_delays=1", ""):
        script = f"chip 600 '{erases}'\nwrite_data image\nmount_fs ubifs\numount_fs\n{again}"
        done = machine.run(script, {"image": image})
        assert "UBIFS (ubi0:0): recovery completed" in done.kernel_log
        said[erases] = (done.folder / "again").read_text(encoding="utf-8").splitlines()
        is_torn = any(re.search(r"ubifs_scan.*LEB \d+ scanning failed", line) for line in done.kernel_log)
        assert is_torn == bool(said[erases])
    assert (said["do_delays=1"][-1:], said[""]) == (["refused"], [])


# ---- kernel -> ffslab -> kernel -----------------------------------------------------------------------------


def test_ffslab_reads_and_changes_what_the_kernel_wrote(source: Path, tmp_path: Path, machine: Machine) -> None:
    fill = "extract tree.tar; for i in 1 2 3; do modify round$i 40; sync; [ $i = 3 ] || rm -r /mnt/round$i; done"
    tree = make_tree(tmp_path / "tree")
    made = make_and_list(machine, "ubifs", blocks=BLOCKS, fill=fill, files={"tree.tar": tree}, options="compr=zlib")
    assert made.complaints == []
    assert made.dump is not None
    assert made.data is not None
    for dump, oob in ((made.dump, True), (made.data, False)):
        assert_same(made.listing, ours(dump, oob))

    steps = [
        step("mount"),
        step("mkdir", dir="again"),
        step("copy_in", **{"from": "contents", "dir": "again"}),
        step("rename", file="round3/link1", to="again/link1"),
        step("rename", file="text", to="random"),
        step("unlink", file="round3/program"),
        step("truncate", file="mixed", bytes=70_001),
        step("open", file="round3/big", flags=["wronly", "sync"]),
        step("requests", file="round3/big", op="write", pattern="random", request_B=3000, count=900, seed=3),
        step("close", file="round3/big"),
        step("sleep", us="60 s"),
        step("umount"),
        step("save_image", file="dump", oob=True),
    ]
    (tmp_path / "dump").write_bytes(made.dump.read_bytes())
    (tmp_path / "contents").symlink_to(source / "contents")
    stack = {"image": "dump", "image_oob": True, "compression": "lzo", "partition_blocks": BLOCKS, **STACK}
    image = tmp_path / "changed"
    image.write_bytes(run(experiment(steps, **stack), tmp_path).images["dump"])
    written = ours(image)
    assert written["random"].data == made.listing["text"].data
    assert written["again/link1"].links == 3
    found = mount_and_list(machine, image, "ubifs", blocks=BLOCKS, oob=True)
    assert found.complaints == []
    assert_same(written, found.listing)


def test_ffslab_recovers_what_a_running_kernel_has_on_flash(tmp_path: Path, machine: Machine) -> None:
    """Dumps of a mounted file system, as if the power had gone away just then: write buffers and dirty pages are lost.

    The kernel mounts the same dumps, and says what they hold.
    """
    rounds = range(1, 5)
    script = f"""
        chip {BLOCKS}; make_volume; mount_fs ubifs compr=lzo; extract tree.tar
        hold_write_back
        for i in {" ".join(map(str, rounds))}; do
          modify round$i 20
          if [ $i -gt 1 ]; then rm -r /mnt/round$((i - 1)); fi
          sleep 1
          read_dump cut$i
        done
        umount_fs"""
    done = machine.run(script, {"tree.tar": make_tree(tmp_path / "tree")})
    assert complaints(done.kernel_log) == []
    for i in rounds:
        dump = done.folder / f"cut{i}.dump"
        found = mount_and_list(machine, dump, "ubifs", blocks=BLOCKS, oob=True)
        assert found.complaints == []
        assert "UBIFS (ubi0:0): recovery completed" in found.kernel_log
        assert_same(found.listing, ours(dump, torn=True))
    assert f"round{rounds[-1]}/a" in found.listing


def test_a_journal_is_replayed(machine: Machine, tmp_path: Path) -> None:
    """A dump of a mounted UBIFS after synchronous writes: kernel and ffslab find the files of that moment."""
    tree = make_tree(tmp_path / "tree")
    start = f"chip {BLOCKS}; make_volume; mount_fs ubifs compr=lzo; extract tree.tar; modify first 30"
    done = machine.run(start + UNCLEAN, {"tree.tar": tree})
    expected = from_kernel(done.folder / "list")
    assert_same(expected, ours(done.folder / "image.dump"))
    found = mount_and_list(machine, done.folder / "image.dump", "ubifs", blocks=BLOCKS, oob=True)
    assert found.complaints == []
    assert "UBIFS (ubi0:0): recovery completed" in found.kernel_log
    assert_same(expected, found.listing)


def test_ffslab_reads_every_sample_of_the_kernel_and_of_mkfs(ubifs_samples: Path) -> None:
    """Each compressor and layout; unmounted, with a journal, with orphans, after garbage collection."""
    samples = sorted(ubifs_samples.glob("*.json"))
    assert len(samples) > 15
    for sample in samples:
        expected = json.loads(sample.read_text(encoding="utf-8"))["files"]
        for suffix, oob in ((".dump", True), (".data", False)):
            image = sample.with_suffix(suffix)
            if image.exists():
                assert manifest(ours(image, oob)) == expected, image.name


# ---- the referee's side of it, with images of mkfs.ubifs and ubinize -------------------------------------------


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
    assert_same(expected, ours(image, oob=False))
    attach = f"-O {vid_offset_B}"
    change = "list untouched; modify changed 60"
    found = mount_and_list(machine, image, "ubifs", blocks=BLOCKS, change=change, attach_options=attach)
    assert found.complaints == []
    assert f"ubi0: PEB size: 131072 bytes (128 KiB), LEB size: {LEB_B[vid_offset_B]} bytes" in found.kernel_log
    assert_same(expected, found.other("untouched"))
    assert len(found.listing) > len(expected) + 30

    assert found.dump is not None
    assert_same(found.listing, ours(found.dump))
    again = mount_and_list(machine, found.dump, "ubifs", blocks=BLOCKS, oob=True, attach_options=attach)
    assert again.complaints == []
    assert_same(found.listing, again.listing)
