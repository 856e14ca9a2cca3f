"""Images to look into: of the real tools and of the simulator."""

from __future__ import annotations

import subprocess
from pathlib import Path

from helpers.jffs2_images import experiment, run, step, tool
from helpers.left_out import leave_out


def files(root: Path) -> Path:
    """A folder with files that compress, that do not, and that are empty."""
    import random

    draw = random.Random(5)
    for i in range(24):
        place = root / f"dir{i % 4}" / f"file{i:02}"
        place.parent.mkdir(parents=True, exist_ok=True)
        size = draw.choice((0, 700, 5_000, 40_000))
        place.write_bytes(draw.randbytes(size) if i % 2 else b"all work and no play " * (size // 21))
    (root / "large").write_bytes(draw.randbytes(600_000))
    return root


def simulated(folder: Path, fs: str, blocks: int = 64, hot: str = "1 MiB", **stack: object) -> dict[str, bytes]:
    """Images of a partition on which the file `hot` was overwritten until garbage was collected: raw.bin, dump.bin."""
    if not (folder / "source").exists():
        files(folder / "source")
    steps = [step("mount"), step("sleep", us="30 s"), step("copy_in", **{"from": "source"})]
    steps += [step("create", file="hot", bytes=hot), step("sync")]
    steps += [step("age", file="hot", overwrites=4.0, distribution="uniform"), step("umount")]
    steps += [step("save_image", file="raw.bin"), step("save_image", file="dump.bin", oob=True)]
    extra = {"max_beb_per1024": 1} if fs == "ubifs" else {}
    return run(experiment(steps, fs=fs, partition_blocks=blocks, **extra, **stack), folder).images


def simulated_rfs(folder: Path, mebibytes: int = 8) -> bytes:
    """A volume of RTEMS's RFS with files in folders."""
    steps = [step("mount")]
    for i in range(24):
        steps += [step("mkdir", dir=f"dir{i}")] if i < 4 else []
        steps += [step("create", file=f"dir{i % 4}/file{i:02}", bytes=(0, 700, 5_000, 40_000)[i % 4])]
    steps += [step("create", file="large", bytes=600_000), step("create", file="hot", bytes=f"{mebibytes // 2} MiB")]
    stack = f'[stack]\nsystem = "rtems"\nfs = "rfs"\nquirks = "fixed"\ndevice_KiB = {mebibytes * 1024}\n'
    steps += [step("umount"), step("save_image", file="raw.bin")]
    return run(f'title = "RFS"\n{stack}{"".join(steps)}', folder).images["raw.bin"]


def made_by_mkfs_jffs2(folder: Path, *flags: str) -> Path:
    image = folder / "mkfs.jffs2"
    subprocess.run([tool("mkfs.jffs2"), "-d", files(folder / "root"), "-o", image, *flags], check=True)
    return image


def made_by_ubinize(folder: Path) -> Path:
    """UBIFS of mkfs.ubifs in an image of ubinize, pages of 2 KiB without sub-pages."""
    volume, image = folder / "volume.ubifs", folder / "ubinize.img"
    make = [tool("mkfs.ubifs"), "-q", "-r", str(files(folder / "root")), "-m", "2048", "-e", "126976", "-c", "200"]
    subprocess.run([*make, "-o", str(volume)], check=True)
    table = f"[v]\nmode=ubi\nimage={volume}\nvol_id=0\nvol_type=dynamic\nvol_name=rootfs\nvol_flags=autoresize\n"
    (folder / "ubi.ini").write_text(table, encoding="utf-8")
    ubinize = [tool("ubinize"), "-o", str(image), "-m", "2048", "-p", "128KiB", str(folder / "ubi.ini")]
    subprocess.run(ubinize, check=True, capture_output=True)
    return image


def made_by_mkfs_fat(folder: Path, mebibytes: int = 8, *flags: str) -> Path:
    """A FAT volume, filled by mcopy."""
    import shutil

    image = folder / "fat.img"
    paths = {name: shutil.which(name, path="/usr/sbin:/sbin:/usr/bin:/bin") for name in ("mkfs.fat", "mcopy")}
    for name, path in paths.items():
        if path is None:
            leave_out(f"{name} is missing: apt-get install dosfstools mtools")
    image.write_bytes(bytes(mebibytes << 20))
    subprocess.run([str(paths["mkfs.fat"]), *flags, image], check=True, capture_output=True)
    names = sorted(files(folder / "root").iterdir())
    subprocess.run([str(paths["mcopy"]), "-i", image, "-s", *names, "::"], check=True)
    return image
