"""What `ffslab image build` makes, on a real kernel: it mounts each volume, and finds in it what the folders hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from ffslab.images import read_image
from ffslab.images.build.chip import build
from ffslab.images.build.description import read
from ffslab.measured.reference.machine import Machine
from referee.jobs import complaints, mount_and_list, verdict, write_command
from referee.listing import Entry, assert_same, from_ffslab, from_folder

BLOCKS = 160
PAGE_B, OOB_B, PAGES = 2048, 64, 64
DESCRIPTION = """
board = "omap3evm"
ecc = "sw"
[[partition]]
name = "ubi"
size = "20M"
[[partition.volume]]
vol_name = "root"
vol_flags = "autoresize"
fs = "ubifs"
srcpath = "root"
[[partition.volume]]
vol_name = "kernel"
vol_type = "static"
image = "kernel"
[[partition.volume]]
vol_name = "data"
vol_size = "4MiB"
fs = "ubifs"
srcpath = "root"
compression = "zstd"
[[partition]]
name = "log"
size = "20M"
fs = "jffs2"
srcpath = "root"
"""


@pytest.fixture(scope="module", params=[False, True], ids=["data", "oob"])
def built(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, bool]:
    """A folder with an image of each partition, and whether they have OOB areas."""
    folder = tmp_path_factory.mktemp("build")
    (folder / "root/etc/deep").mkdir(parents=True)
    for number in range(40):
        (folder / f"root/etc/{number}").write_bytes(bytes(range(number, 200)) * 200)
    (folder / "root/link").symlink_to("etc/7")
    (folder / "root/etc/0").chmod(0o4750)
    (folder / "kernel").write_bytes(bytes(range(251)) * 1500)
    (folder / "chip.toml").write_text(DESCRIPTION)
    build(read(folder / "chip.toml"), folder / "chip.img", oob=request.param)
    stored = BLOCKS * PAGES * (PAGE_B + (OOB_B if request.param else 0))
    chip = (folder / "chip.img").read_bytes()
    for number, name in enumerate(("ubi", "log")):
        (folder / f"{name}.img").write_bytes(chip[number * stored : (number + 1) * stored])
    return folder, request.param


def as_in_folder(listing: dict[str, Entry]) -> dict[str, tuple[object, ...]]:
    """What must be as in the folder. The files belong to root, and are as old as the simulated clock says."""
    return {path: (entry.kind, entry.permissions, entry.data) for path, entry in listing.items() if path}


def test_a_kernel_mounts_every_volume(built: tuple[Path, bool], machine: Machine) -> None:
    folder, oob = built
    job = f"""
chip {BLOCKS}
{write_command("ubifs", oob)}
mount_fs ubifs
list first
cat /dev/ubi0_1 > kernel.read
seq 1 40000 > /mnt/new
rm /mnt/etc/3
umount /mnt
mount -t ubifs ubi0_2 /mnt
list third
umount_fs
mount_fs ubifs
list list
umount_fs
read_dump image
"""
    done = machine.run(job, {"image": folder / "ubi.img"})
    log = [line.replace("(ubi0:2)", "(ubi0:0)") for line in done.kernel_log]
    assert complaints(log) == []
    found = verdict(done)
    wanted = as_in_folder(from_folder(folder / "root"))
    assert as_in_folder(found.other("first")) == wanted
    assert as_in_folder(found.other("third")) == wanted
    assert (done.folder / "kernel.read").read_bytes() == (folder / "kernel").read_bytes()
    assert {entry.owner for entry in found.other("first").values()} == {(0, 0)}
    assert {"new"} == found.listing.keys() - wanted.keys() - {""}
    assert found.dump is not None
    assert_same(found.listing, from_ffslab(read_image(found.dump, volume="root")))


def test_a_kernel_mounts_a_partition_of_jffs2(built: tuple[Path, bool], machine: Machine) -> None:
    folder, oob = built
    change = "list untouched; seq 1 40000 > /mnt/new; rm /mnt/etc/3"
    found = mount_and_list(machine, folder / "log.img", blocks=BLOCKS, oob=oob, change=change)
    assert found.complaints == []
    assert as_in_folder(found.other("untouched")) == as_in_folder(from_folder(folder / "root"))
