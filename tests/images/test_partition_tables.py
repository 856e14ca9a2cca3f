"""Whole devices, whose partitions stand in a table: each is found, and a table is trusted only if it is right."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from ffslab.images import read_partitions
from helpers.command import Command
from helpers.dumps import expected, saved, wear_levelled
from helpers.flipped_bits import fat, jffs2
from helpers.partition_tables import SECTOR_B, Held, environment, esp32, filled, gpt, mbr

ALL_B = 1 << 20
KIB = 1024


def parts_of(folder: Path, *names: str) -> list[Held]:
    """JFFS2, FAT, and what nobody knows."""
    noise = random.Random(2).randbytes(40_960)
    data = [jffs2(folder).ljust(96 * KIB, b"\xff"), fat(folder), noise]
    return [Held(*each) for each in zip(names, (128 * KIB, 256 * KIB, 384 * KIB), data, strict=True)]


def found(path: Path) -> tuple[dict[str, dict[str, bytes]], list[str]]:
    """The files of each partition that is read, and all complaints."""
    files: dict[str, dict[str, bytes]] = {}
    complaints: list[str] = []
    for part, tree in read_partitions(path):
        if tree is not None:
            # FAT of mtools has its names in capital letters.
            files[part.name] = {e.path.lower(): e.data for e in tree.entries if e.kind == "file"}
            complaints += tree.complaints
        else:
            files[part.name] = {}
    return files, complaints


@pytest.mark.parametrize(
    ("make", "names"),
    [
        (lambda parts: mbr(parts, [], ALL_B), ("part1", "part2", "part3")),
        (lambda parts: mbr(parts[:1], parts[1:], ALL_B), ("part1", "part5", "part6")),
        (lambda parts: gpt(parts, ALL_B), ("root", "boot fs", "spare")),
        (lambda parts: gpt(parts, ALL_B, 4096), ("root", "boot fs", "spare")),
        (lambda parts: esp32(parts, ALL_B), ("root", "boot fs", "spare")),
        (lambda parts: esp32(parts, ALL_B, 0x10000, md5=False), ("root", "boot fs", "spare")),
    ],
    ids=["MBR", "MBR with a chain", "GPT", "GPT of large sectors", "ESP32", "ESP32 of old"],
)
def test_partitions_are_those_of_the_table(
    tmp_path: Path, make: Callable[[list[Held]], bytearray], names: tuple[str, ...]
) -> None:
    image = make(parts_of(tmp_path, "root", "boot fs", "spare"))
    files, complaints = found(saved(tmp_path, image))
    assert files == {names[0]: expected(tmp_path), names[1]: expected(tmp_path), names[2]: {}}
    assert complaints == []


def test_fat_on_wear_levelling_is_read_in_its_partition(tmp_path: Path) -> None:
    worn = Held("storage", 128 * KIB, wear_levelled(fat(tmp_path)))
    files, complaints = found(saved(tmp_path, esp32([worn], ALL_B)))
    assert (files, complaints) == ({"storage": expected(tmp_path)}, [])


LIST = "nor0:64k(u-boot)ro,64k(env),96k(root),-(rest)"


@pytest.mark.parametrize(
    ("copies", "told"),
    [
        ([environment(LIST, 8192)], []),
        ([environment("nor0:1M(old)", 8192, 255), environment(LIST, 8192, 0)], []),
        ([environment(LIST, 8192, 7), environment("nor0:1M(old)", 8192, 6)], []),
        ([environment(LIST, 8192, 7), b"\xff" * 8192], []),
        ([environment(LIST, 8192, 7), environment(LIST, 8192, 8)[:-1] + b"x"], ["has a wrong CRC"]),
        ([environment(LIST.replace("-(rest)", "1M(rest)"), 8192)], ["behind the end of the file"]),
        ([environment("nor0:128k(other),96k(root),-(rest)", 8192)], None),
    ],
    ids=["one copy", "255 and 0", "7 and 6", "one of two", "damaged", "too long", "of another chip"],
)
def test_u_boots_environment_has_partitions(tmp_path: Path, copies: list[bytes], told: list[str] | None) -> None:
    held = Held("root", 128 * KIB, jffs2(tmp_path).ljust(96 * KIB, b"\xff"))
    places = [Held("", 64 * KIB + at * 8192, copy) for at, copy in enumerate(copies)]
    files, complaints = found(saved(tmp_path, filled([held, *places], 0xFF, 512 * KIB)))
    assert (files.get("root") == expected(tmp_path)) == (told is not None), files.keys()
    if told is not None:
        assert len(complaints) == len(told) and all(word in each for word, each in zip(told, complaints, strict=True))


def test_a_volume_of_fat_is_no_table(tmp_path: Path) -> None:
    """Both end in 55 AA."""
    files, complaints = found(saved(tmp_path, fat(tmp_path)))
    assert (files, complaints) == ({"": expected(tmp_path)}, [])


def changed(image: bytearray, at: int) -> bytes:
    return bytes(image[:at] + bytes([image[at] ^ 1]) + image[at + 1 :])


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda parts: changed(gpt(parts, ALL_B), SECTOR_B + 40), "the copy at the end is used"),
        (lambda parts: changed(gpt(parts, ALL_B), 2 * SECTOR_B + 60), "the copy at the end is used"),
        (lambda parts: changed(gpt(parts, ALL_B), ALL_B - SECTOR_B + 40), "is damaged"),
        (lambda parts: bytes(gpt(parts, ALL_B)[: 600 * KIB]), "has its copy behind the end of the file"),
        (
            lambda parts: bytes(mbr([*parts[:2], parts[2]._replace(claims_B=ALL_B)], [], ALL_B)),
            "B behind the end of the file",
        ),
        (lambda parts: bytes(mbr([*parts, parts[0]], [], ALL_B)), "over each other"),
        (lambda parts: changed(mbr(parts[:2], parts[2:], ALL_B), 382 * KIB + 510), "breaks off"),
    ],
    ids=["header", "list", "copy", "cut off", "too long", "twice", "chain"],
)
def test_what_is_wrong_with_a_table_is_told(
    tmp_path: Path, make: Callable[[list[Held]], bytes], told: str, ffslab: Command
) -> None:
    path = saved(tmp_path, make(parts_of(tmp_path, "root", "boot", "spare")))
    files, complaints = found(path)
    assert expected(tmp_path) in files.values()
    assert len([each for each in complaints if told in each]) == 1, complaints
    for verb in (("inspect", path), ("extract", path, tmp_path / "out")):
        ran = ffslab(*verb)
        assert ran.returncode == 1 and told in ran.stdout + ran.stderr


def test_a_table_that_is_not_right_is_not_used(tmp_path: Path, ffslab: Command) -> None:
    """Neither copy of a GPT, or the MD5 of ESP32's: what stands on the chip is looked for as without a table."""
    parts = parts_of(tmp_path, "root", "boot", "spare")
    both = bytearray(changed(gpt(parts, ALL_B), SECTOR_B + 40))
    both[ALL_B - SECTOR_B + 40] ^= 1
    # A bit of a name, and of a size, which then is not one of whole sectors.
    tables = (changed(esp32(parts, ALL_B), 0x8000 + at) for at in (14, 40))
    for image in (bytes(both), *tables):
        path = saved(tmp_path, image)
        ran = ffslab("inspect", path)
        assert ran.returncode == 1 and "is not used" in ran.stdout + ran.stderr, ran.stderr
        assert "Traceback" not in ran.stderr


def test_names_are_those_of_folders(tmp_path: Path, ffslab: Command) -> None:
    """Whatever the table calls them; what is given goes before the table."""
    held = parts_of(tmp_path, "../up", "a/b", "..")
    image = saved(tmp_path, gpt(held, ALL_B))
    assert ffslab("extract", image, tmp_path / "out").returncode == 0
    assert sorted(path.name for path in (tmp_path / "out").iterdir() if path.is_dir()) == [".._up", "a_b"]
    ran = ffslab("inspect", image, "--mtdparts", "x:128k(head),96k(mine),-(rest)")
    assert "mine" in ran.stdout and "a_b" not in ran.stdout


def test_damaged_tables_are_survived(tmp_path: Path) -> None:
    parts = parts_of(tmp_path, "root", "boot", "spare")
    draw = random.Random(9)
    for image in (mbr(parts[:1], parts[1:], ALL_B), gpt(parts, ALL_B), esp32(parts, ALL_B)):
        tables = [at for at in range(0, 70_000) if image[at] not in (0, 0xFF)]
        for _ in range(12):
            damaged = bytearray(image)
            for at in draw.sample(tables, 3):
                damaged[at] = draw.randrange(256)
            try:
                read_partitions(saved(tmp_path, damaged))
            except ValueError:
                continue
