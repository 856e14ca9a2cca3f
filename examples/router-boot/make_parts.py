"""Makes what stands on the router's chip: a kernel, a device tree, and the folder of a root.

The bytes are stand-ins: a kernel is compressed already, so it is random; a third of programs and libraries is random
and the rest text, of which compressors leave about a third, somewhat less than of real ones. The same call makes the
same bytes.

    mksquashfs rootfs root.sqfs -comp gzip -all-root -no-xattrs -mkfs-time 0 -all-time 0 -processors 1

has made root.sqfs of that folder, which is kept beside this script for those who have no squashfs-tools. Those in
`roots` are of the same call with `-b 16K`, `-b 1M`, `-comp lzo` and `-comp zstd`, and of

    mkfs.erofs -T0 -U 12345678-1234-5678-1234-567812345678 --all-root -x-1 -zlz4hc -C65536 lz4hc-64K.erofs rootfs

with `-C65536` and `-C4096`.
"""

import random
import shutil
from pathlib import Path

KIB = 1024
TEXT = b"The router starts its daemons one after the other, and each of them reads its settings from the overlay. "
PROGRAMS = {
    "lib/libc.so": 180,
    "lib/libgcc_s.so.1": 30,
    "lib/libubox.so": 25,
    "lib/libssl.so": 90,
    "bin/busybox": 160,
    "sbin/procd": 50,
    "sbin/netifd": 60,
    "usr/sbin/dnsmasq": 70,
    "usr/sbin/dropbear": 70,
    "usr/sbin/uhttpd": 40,
    "usr/lib/opkg/packages": 40,
}
SCRIPTS = ["etc/inittab", "etc/passwd", "etc/group", "etc/profile", *(f"etc/init.d/S{at:02}" for at in range(10, 34))]


def third_random(draw: random.Random, size: int) -> bytes:
    """Pieces of 512 bytes: each third one is random, the others are text."""
    text = (TEXT * 6)[:512]
    return b"".join(text if at % 3 else draw.randbytes(512) for at in range(-(-size // 512)))[:size]


def main() -> None:
    """Writes the files beside this script."""
    draw = random.Random(54)
    Path("kernel.img").write_bytes(draw.randbytes(2560 * KIB))
    Path("board.dtb").write_bytes(draw.randbytes(24 * KIB))
    for name, kib in PROGRAMS.items():
        path = Path("rootfs") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(third_random(draw, kib * KIB))
    for name in SCRIPTS:
        path = Path("rootfs") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes((TEXT * 40)[: draw.randrange(400, 3000)])
    # The root of layouts in which U-Boot loads the kernel from it.
    shutil.copytree("rootfs", "rootfs-with-kernel", dirs_exist_ok=True)
    for name in ("kernel.img", "board.dtb"):
        path = Path("rootfs-with-kernel/boot") / name
        path.parent.mkdir(exist_ok=True)
        shutil.copy(name, path)


if __name__ == "__main__":
    main()
