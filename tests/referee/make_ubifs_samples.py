"""Makes reference images of UBI and UBIFS with the real kernel and with mkfs.ubifs, each with a list of its files.

    python tests/referee/make_ubifs_samples.py FOLDER

FOLDER/README.md says what is there.
"""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from ffslab.measured.reference.kit import Kit
from ffslab.measured.reference.machine import Machine
from referee.listing import Entry, from_kernel, manifest
from referee.parts import find_kit, machine_of

COMPRESSORS = ("none", "lzo", "zlib", "zstd")
BLOCKS = 96  # 12 MiB
PAGE_B, BLOCK_B = 2048, 128 << 10
# Where the VID header stands: in the second sub-page of 512 B, or in a page of its own.
VID_OFFSETS = {"subpage": 512, "page": 2048}
LEB_B = {512: BLOCK_B - 2048, 2048: BLOCK_B - 4096}

README = f"""\
# UBI and UBIFS images made by a real kernel and by mtd-utils

Each sample NAME has

- `NAME.json`: how it was made (`about`), where the VID header stands (`vid_offset_B`), what the kernel said when it
  mounted the image (`kernel_log`) and what it listed (`files`: path, kind, mode, uid, gid, links, modified_s, device,
  same_inode_as, size_B, sha256, target). Link counts of directories are the kernel's.
- `NAME.data`: page data of all {BLOCKS} erase blocks of {BLOCK_B >> 10} KiB (pages of {PAGE_B} B), or what ubinize
  wrote.
- `NAME.dump`: page data and OOB (64 B) in turns, as they were on the chip; bytes 40 to 63 of the OOB are the kernel's
  software Hamming ECC. Not for images of ubinize.
- `NAME.ubifs`: only for images of mkfs.ubifs: the volume without UBI.

`subpage` in a name: VID header at offset 512, LEBs of {LEB_B[512]} B. `page`: at 2048, LEBs of {LEB_B[2048]} B.

- `kernel-*-clean`: unmounted and detached.
- `kernel-*-unclean`: dumped while mounted. After the last commit files were changed on a file system mounted with
  `sync`, so that the journal must be replayed. The list is that of the moment of the dump.
- `kernel-orphans`: dumped after a commit while files were open that had no name any more. They must not come back.
- `kernel-collected`: overwritten until garbage was collected many times; unmounted.
- `kernel-many`: 3000 small files in one directory, a third of them deleted; unmounted.
- `kernel-grown`: an image of mkfs.ubifs that the kernel mounted, changed and unmounted.
- `mkfs-*`: made by mkfs.ubifs and ubinize; the list is that of the kernel after mounting a copy read-only.
"""


@dataclass(frozen=True)
class Sample:
    """A sample before it was made. `script` leaves image.data, image.dump and list.tar in its folder."""

    name: str
    about: str
    vid_offset_B: int  # noqa: N815
    script: str
    ubifs: Path | None = None
    ubi: Path | None = None


MOUNTED = "mount_fs ubifs compr={compressor}"
# UBIFS commits in sync(2); what is written afterwards, synchronously, is in the journal only.
UNCLEAN = """
sync
mount -o remount,sync /mnt
modify journal 20
rm -r /mnt/first/a/b
mv /mnt/first/moved /mnt/first/moved_again
rm /mnt/many/f0007
echo replayed > /mnt/one
sync -d /mnt/one 2> /dev/null || :
list list
read_dump image
read_data image
umount_fs
"""
CLEAN = "sync; list list; umount_fs; read_dump image; read_data image"


def kernel_samples() -> Iterator[Sample]:
    for compressor in COMPRESSORS:
        for kind, offset in VID_OFFSETS.items():
            start = f"chip {BLOCKS}\nmake_volume '-O {offset}'\n" + MOUNTED.format(compressor=compressor)
            fill = "\nextract tree.tar; modify first 30\n"
            if kind == "subpage" or compressor == "lzo":
                about = f"kernel, compr={compressor}"
                yield Sample(f"kernel-{compressor}-{kind}-clean", f"{about}, unmounted", offset, start + fill + CLEAN)
                text = f"{about}, dumped while mounted, journal not committed"
                yield Sample(f"kernel-{compressor}-{kind}-unclean", text, offset, start + fill + UNCLEAN)
    start = f"chip {BLOCKS}\nmake_volume '-O 2048'\nmount_fs ubifs compr=lzo\n"
    orphans = """
extract tree.tar
for i in 1 2 3; do cp /bin/busybox /mnt/orphan$i; done
exec 4< /mnt/orphan1 5< /mnt/orphan2 6< /mnt/orphan3
rm /mnt/orphan1 /mnt/orphan2
sync
list list
mount -o remount,sync /mnt
rm /mnt/orphan3
list list
read_dump image
read_data image
exec 4<&- 5<&- 6<&-
umount_fs
"""
    yield Sample("kernel-orphans", "open files without names, after a commit", 2048, start + orphans)
    collected = """
extract tree.tar
for i in 1 2 3 4 5 6 7 8; do
  cp /bin/busybox /mnt/p$((i % 2))
  modify round$i 40
  sync
  if [ $i -lt 7 ]; then rm -r /mnt/round$i; fi
done
"""
    text = "overwritten and deleted again and again"
    yield Sample("kernel-collected", text, 2048, start.replace("lzo", "none") + collected + CLEAN)
    many = """
mkdir /mnt/d
for i in $(seq 3000); do echo "file $i" > /mnt/d/file$i; done
for i in $(seq 1 3 3000); do rm /mnt/d/file$i; done
"""
    yield Sample("kernel-many", "3000 small files in a directory, a third deleted", 2048, start + many + CLEAN)


def mkfs_samples(kit: Kit, folder: Path) -> Iterator[Sample]:
    for compressor in COMPRESSORS:
        for kind, offset in VID_OFFSETS.items():
            if kind == "page" and compressor != "lzo":
                continue
            name = f"mkfs-{compressor}-{kind}"
            ubifs, ubi = mkfs_ubi(kit, folder / "tree", folder / name, compressor, offset)
            script = (
                f"chip {BLOCKS}; write_data image.ubi; attach '-O {offset}'; mount_fs ubifs ro; list list; umount_fs"
            )
            yield Sample(name, f"mkfs.ubifs -x {compressor}, ubinize", offset, script, ubifs, ubi)
            if compressor == "lzo" and kind == "page":
                script = f"chip {BLOCKS}; write_data image.ubi; attach '-O {offset}'; mount_fs ubifs; modify grown 60; "
                yield Sample("kernel-grown", "mkfs.ubifs and ubinize, then changed", offset, script + CLEAN, None, ubi)


def mkfs_ubi(kit: Kit, tree: Path, place: Path, compressor: str, vid_offset_B: int) -> tuple[Path, Path]:  # noqa: N803
    """Makes PLACE.ubifs and PLACE.ubi of a folder."""
    ubifs, ubi, ini = (place.with_name(place.name + suffix) for suffix in (".ubifs", ".ubi", ".ini"))
    leb_B = LEB_B[vid_offset_B]  # noqa: N806
    command: list[str | Path] = [kit.host_programs["mkfs.ubifs"], "-q", "-r", tree, "-m", str(PAGE_B), "-e", str(leb_B)]
    subprocess.run([*command, "-c", str(BLOCKS - 8), "-x", compressor, "-F", "-o", ubifs], check=True)
    lines = ["[volume]", "mode=ubi", f"image={ubifs}", "vol_id=0", "vol_type=dynamic", "vol_name=volume"]
    ini.write_text("\n".join([*lines, "vol_flags=autoresize", ""]), encoding="utf-8")
    command = [
        kit.host_programs["ubinize"],
        "-m",
        str(PAGE_B),
        "-p",
        str(BLOCK_B),
        "-s",
        "512",
        "-O",
        str(vid_offset_B),
    ]
    subprocess.run([*command, "-Q", "1", "-o", ubi, ini], check=True, capture_output=True)
    return ubifs, ubi


def make_tree(root: Path) -> bytes:
    """A folder with files of every kind; also as an archive."""
    root.mkdir()
    (root / "one").write_bytes(b"x")
    (root / "empty").touch()
    (root / "zeros").write_bytes(bytes(50_000))
    # Numbers compress as text does; their checksums do not.
    numbers = [hashlib.sha256(b"%d" % i).digest() for i in range(3_000)]
    (root / "random").write_bytes(b"".join(numbers))
    (root / "text").write_bytes(b"".join(b"line %d of this text\n" % i for i in range(9_000)))
    (root / "mixed").write_bytes(b"".join(b"%d" % i * 90 + number * 4 for i, number in enumerate(numbers[:700])))
    (root / "page").write_bytes(b"0123456789abcdef" * 256)
    (root / "page and a byte").write_bytes(b"0123456789abcdef" * 256 + b"!")
    (root / "many").mkdir()
    for i in range(400):
        (root / "many" / f"f{i:04}").write_bytes((b"%d," % i) * (i % 170))
    deep = root.joinpath("deep", *"abcdefgh")
    deep.mkdir(parents=True)
    (deep / "bottom").write_bytes(b"down here\n")
    (root / ("n" * 255)).write_bytes(b"the longest name\n")
    (root / "hard link").hardlink_to(root / "text")
    (root / "symbolic").symlink_to("deep/a/b")
    (root / "setuid").write_bytes(b"#!/bin/sh\n")
    (root / "setuid").chmod(0o4755)
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        archive.add(root, ".")
    return buffer.getvalue()


def make(folder: Path, kit: Kit, machine: Machine) -> dict[str, dict[str, Entry]]:
    """Makes all samples in a folder; returns their lists by name."""
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    with tempfile.TemporaryDirectory() as temporary:
        archive = make_tree(Path(temporary) / "tree")
        for sample in (*kernel_samples(), *mkfs_samples(kit, Path(temporary))):
            files: dict[str, Path | bytes] = {"tree.tar": archive}
            if sample.ubi is not None:
                files["image.ubi"] = sample.ubi
            done = machine.run(sample.script, files)
            found[sample.name] = from_kernel(done.folder / "list")
            made = {"data": done.folder / "image.data", "dump": done.folder / "image.dump", "ubifs": sample.ubifs}
            if sample.ubifs is not None:
                made["data"] = sample.ubi
            for suffix, path in made.items():
                if path is not None and path.exists():
                    (folder / f"{sample.name}.{suffix}").write_bytes(path.read_bytes())
            said = [line for line in done.kernel_log if line.lower().startswith("ubi")]
            about = {"about": sample.about, "vid_offset_B": sample.vid_offset_B, "kernel_log": said}
            about["files"] = manifest(found[sample.name])
            text = json.dumps(about, indent=1, ensure_ascii=False) + "\n"
            (folder / f"{sample.name}.json").write_text(text, encoding="utf-8")
    (folder / "README.md").write_text(README, encoding="utf-8")
    return found


def main() -> int:
    if len(sys.argv) != 2:
        print("usage: make_ubifs_samples.py FOLDER", file=sys.stderr)
        return 2
    kit, missing = find_kit()
    if kit is None:
        print(f"missing: {', '.join(missing)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as temporary:
        machine = machine_of(kit, Path(temporary) / "machine")
        try:
            found = make(Path(sys.argv[1]), kit, machine)
        finally:
            machine.stop()
    for name, listing in found.items():
        print(f"{name}: {len(listing)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
