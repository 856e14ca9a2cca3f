"""Whole flashes as others build them, with their own tools, each opened with one command.

* An ESP32 with a table, NVS, an application, littlefs and FAT in wear levelling: esptool, esp-idf-nvs-partition-gen and
  esp-idf-defs (which holds `gen_esp32part.py` of ESP-IDF), littlefs-python, dosfstools. The wear levelling is written
  by these tests: what PyPI has for it (fatfs-ng 0.1.16) writes other check sums than ESP-IDF.
* OpenWrt on NAND and on NOR, as its image builder lays them: mkimage, squashfs-tools, mtd-utils, tar.
"""

from __future__ import annotations

import importlib.util
import random
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from ffslab.measured.reference.kit import install_command, program
from helpers.command import FFSLAB
from helpers.dumps import wear_levelled
from helpers.jffs2_images import tool
from helpers.left_out import leave_out

DRAW = random.Random(32)
FILES: Mapping[str, bytes] = {
    "index.htm": b"<h1>board</h1>\n",
    "logo.bin": DRAW.randbytes(20_000),
    "etc/conf": b"hostname=board\n" * 200,
}


def called(*words: object) -> None:
    """A program; of Debian's packages and of Python's."""
    ran = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def needs(name: str, package: str) -> Path:
    path = program(name)
    if path is None:
        leave_out(f"{name} is missing: {install_command(package)}")
    return path


def module(name: str, package: str) -> list[str]:
    if importlib.util.find_spec(name) is None:
        leave_out(f"{name} is missing: pip install {package}")
    return [sys.executable, "-m", name]


def tree(folder: Path) -> Path:
    for name, content in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def opened(image: Path, folder: Path, code: int = 0) -> dict[str, bytes]:
    """What one command without an option extracts."""
    ran = subprocess.run(
        [FFSLAB, "extract", str(image), str(folder)], capture_output=True, text=True, check=False, cwd=image.parent
    )
    assert ran.returncode == code, ran.stdout + ran.stderr
    paths = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def below(folder: str) -> dict[str, bytes]:
    return {f"{folder}/{name}": content for name, content in FILES.items()}


# ---- ESP32 ----------------------------------------------------------------------------------------------------------

TABLE = """\
nvs, data, nvs, 0x9000, 0x6000
phy_init, data, phy, 0xf000, 0x1000
factory, app, factory, 0x10000, 0x100000
web, data, littlefs, 0x110000, 0x40000
storage, data, fat, 0x150000, 0x80000
"""
# Of a partition of 512 KiB the dummy, both states and the sizes take four.
FAT_SECTORS = 124
VALUES = """\
key,type,encoding,value
wifi,namespace,,
ssid,data,string,home
channel,data,u8,11
key,data,hex2bin,00112233445566778899aabbccddeeff
"""


def esp_table(path: Path) -> None:
    # Its own command is not in the package.
    code = (
        "import sys; from esp_idf_defs import PartitionTable; "
        "open(sys.argv[2], 'wb').write(PartitionTable.from_csv(open(sys.argv[1]).read()).to_binary())"
    )
    module("esp_idf_defs", "esp-idf-defs")
    csv = path.with_suffix(".csv")
    csv.write_text(TABLE, encoding="utf-8")
    called(sys.executable, "-c", code, csv, path)


def fat_volume(folder: Path, path: Path) -> None:
    mkfs, mcopy = needs("mkfs.fat", "dosfstools"), needs("mcopy", "mtools")
    path.write_bytes(bytes(FAT_SECTORS * 4096))
    called(mkfs, "-S", 4096, "-s", 1, path)
    called(mcopy, "-s", "-i", path, *sorted(folder.iterdir()), "::")


@pytest.fixture(scope="module")
def esp32(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("esp32")
    esptool = module("esptool", "esptool")
    esp_table(place / "table.bin")
    (place / "nvs.csv").write_text(VALUES, encoding="utf-8")
    generator = module("esp_idf_nvs_partition_gen", "esp-idf-nvs-partition-gen")
    called(*generator, "generate", place / "nvs.csv", place / "nvs.bin", "0x6000")
    littlefs = Path(sys.executable).with_name("littlefs-python")
    called(littlefs, "create", tree(place / "tree"), place / "web.bin", "--fs-size", "0x40000", "--block-size", 4096)
    fat_volume(place / "tree", place / "fat.bin")
    (place / "storage.bin").write_bytes(wear_levelled((place / "fat.bin").read_bytes(), FAT_SECTORS))
    # A boot loader and an application, of which nothing is read: the first byte is their magic number.
    for name, size in (("boot.bin", 20_000), ("app.bin", 300_000)):
        (place / name).write_bytes(b"\xe9\0\0\0" + DRAW.randbytes(size))
    held = {0x1000: "boot", 0x8000: "table", 0x9000: "nvs", 0x10000: "app", 0x110000: "web", 0x150000: "storage"}
    words = [word for at, name in held.items() for word in (hex(at), place / f"{name}.bin")]
    merge = (*esptool, "--chip", "esp32", "merge-bin", "--output", place / "flash.bin", "--pad-to-size", "4MB")
    called(*merge, *words)
    return place / "flash.bin"


def test_an_esp32_flash_is_opened_with_one_command(esp32: Path, tmp_path: Path) -> None:
    found = opened(esp32, tmp_path / "files")
    expected = below("web") | below("storage")
    values = {"ssid": b"home", "channel": b"11\n", "key": bytes.fromhex("00112233445566778899aabbccddeeff")}
    expected |= {f"nvs/wifi/{key}": value for key, value in values.items()}
    assert found == expected


def test_the_page_of_a_flash_shows_it_as_a_map(esp32: Path, tmp_path: Path) -> None:
    page = tmp_path / "flash.html"
    called(FFSLAB, "inspect", esp32, "--out", page)
    text = page.read_text(encoding="utf-8")
    for name in ("nvs", "phy_init", "factory", "web", "storage"):
        assert name in text, name


# ---- OpenWrt --------------------------------------------------------------------------------------------------------

BOARD = "acme_router"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kernel with its header, and a root, as OpenWrt's image builder packs them (`include/image-commands.mk`)."""
    place = tmp_path_factory.mktemp("openwrt")
    (place / "zImage").write_bytes(DRAW.randbytes(200_000))
    mkimage = needs("mkimage", "u-boot-tools")
    head = ("-A", "arm", "-O", "linux", "-T", "kernel", "-C", "lzma", "-a", "0x8000", "-e", "0x8000", "-n", "OpenWrt")
    called(mkimage, *head, "-d", place / "zImage", place / "kernel")
    mksquashfs = needs("mksquashfs", "squashfs-tools")
    squash = ("-nopad", "-noappend", "-root-owned", "-comp", "xz", "-b", "256k")
    called(mksquashfs, tree(place / "rootfs"), place / "root", *squash)
    return place


def sysupgrade(built: Path) -> Path:
    """`sysupgrade-tar` of OpenWrt's image builder (`scripts/sysupgrade-tar.sh`)."""
    folder = built / f"sysupgrade-{BOARD}"
    folder.mkdir(exist_ok=True)
    (folder / "CONTROL").write_text(f"BOARD={BOARD}\n", encoding="utf-8")
    for name in ("kernel", "root"):
        shutil.copy(built / name, folder / name)
    image = built / "sysupgrade.bin"
    with tarfile.open(image, "w", format=tarfile.GNU_FORMAT) as archive:
        archive.add(folder, folder.name)
    return image


def flash_of_nand(built: Path) -> Path:
    """UBI as `ubinize-image.sh` makes it, and a device has it after its first boot: kernel, root, rootfs_data."""
    overlay = built / "overlay.ubifs"
    page = ("-m", 2048, "-e", 126_976, "-c", 40)
    called(tool("mkfs.ubifs"), *page, "-r", tree(built / "overlay"), "-o", overlay)
    volumes = (("kernel", built / "kernel"), ("rootfs", built / "root"), ("rootfs_data", overlay))
    lines = [
        f"[{name}]\nmode=ubi\nvol_id={number}\nvol_type=dynamic\nvol_name={name}\nimage={held}\nvol_size=6MiB\n"
        for number, (name, held) in enumerate(volumes)
    ]
    (built / "ubi.ini").write_text("".join(lines), encoding="utf-8")
    image = built / "nand.ubi"
    called(tool("ubinize"), "-o", image, "-p", "128KiB", "-m", 2048, built / "ubi.ini")
    return image


def flash_of_nor(built: Path) -> Path:
    """Boot loader, kernel, root right behind it, and JFFS2 from the next erase block on (`pad-rootfs`)."""
    block = 64 << 10
    overlay = built / "overlay.jffs2"
    called(tool("mkfs.jffs2"), "-d", tree(built / "jffs2"), "-e", "64KiB", "-l", "-p", "-o", overlay)
    flash = DRAW.randbytes(4 * block) + (built / "kernel").read_bytes() + (built / "root").read_bytes()
    flash += b"\xff" * (-len(flash) % block) + overlay.read_bytes()
    image = built / "nor.bin"
    image.write_bytes(flash.ljust(4 << 20, b"\xff"))
    return image


def test_the_nand_of_openwrt_is_opened_with_one_command(built: Path, tmp_path: Path) -> None:
    found = opened(flash_of_nand(built), tmp_path / "files")
    assert found == {**below("rootfs"), **below("rootfs_data"), "kernel": (built / "kernel").read_bytes()}


def test_the_nor_of_openwrt_is_opened_with_one_command(built: Path, tmp_path: Path) -> None:
    assert opened(flash_of_nor(built), tmp_path / "files") == {**below("squashfs"), **below("jffs2")}


def test_an_update_of_openwrt_is_opened_with_one_command(built: Path, tmp_path: Path) -> None:
    found = opened(sysupgrade(built), tmp_path / "files")
    assert {name.removeprefix(f"sysupgrade-{BOARD}_root/"): content for name, content in found.items()} == FILES
