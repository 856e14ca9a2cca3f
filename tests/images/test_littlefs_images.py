"""`inspect` and `extract` of littlefs images, beside littlefs-python; damaged images are told or refused."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from littlefs import LittleFS, UserContext

from ffslab._native import InputError
from ffslab.images import read_image
from ffslab.images.inspection import inspect_image
from helpers.command import Command

BLOCK_BYTES = 4096
BLOCKS = 64
# Nothing in a directory, the largest that may stand there, some blocks, many blocks with several pointers.
SIZES = (0, 1, 200, 900, 4096, 4089, 30_000, 90_000)


def filled(disk_version: int = 0x20001) -> tuple[LittleFS, dict[str, bytes]]:
    """A file system by littlefs-python, and what stands in it: directories, names that were moved and removed."""
    fs = LittleFS(
        context=UserContext(buffer=bytearray(b"\xff" * (BLOCKS * BLOCK_BYTES))),
        block_size=BLOCK_BYTES,
        block_count=BLOCKS,
        read_size=16,
        prog_size=16,
        cache_size=512,
        disk_version=disk_version,
    )
    draw = random.Random(5)
    files: dict[str, bytes] = {}
    for directory in ("", "d", "d/e"):
        if directory:
            fs.mkdir(directory)
        for number, size in enumerate(SIZES[: 8 if not directory else 6]):
            path = f"{directory}/f{number}".lstrip("/")
            files[path] = draw.randbytes(size)
            with fs.open(path, "wb") as file:
                file.write(files[path])
    fs.remove("d/f5")
    del files["d/f5"]
    fs.rename("d/f4", "d/e/moved")
    files["d/e/moved"] = files.pop("d/f4")
    # So many names that a directory needs another pair of blocks.
    fs.mkdir("many")
    for number in range(120):
        path = f"many/name-{number:040}"
        files[path] = bytes([number]) * 30
        with fs.open(path, "wb") as file:
            file.write(files[path])
    return fs, files


def saved(fs: LittleFS, path: Path) -> Path:
    """The image of a file system that is unmounted for it."""
    fs.unmount()
    path.write_bytes(bytes(fs.context.buffer))
    return path


@pytest.mark.parametrize("disk_version", [0x20000, 0x20001])
def test_files_are_those_that_littlefs_python_wrote(disk_version: int, tmp_path: Path) -> None:
    fs, files = filled(disk_version)
    used = fs.used_block_count
    image = saved(fs, tmp_path / "image.bin")
    tree = read_image(image)
    assert {entry.path: entry.data for entry in tree.entries if entry.kind == "file"} == files
    assert not tree.complaints
    facts = inspect_image(image)
    assert facts["damage_count"] == 0 and facts["layout"]["fs"] == "littlefs"
    assert (facts["layout"]["block_B"], facts["layout"]["blocks"]) == (BLOCK_BYTES, BLOCKS)
    superblock: dict[str, Any] = dict(facts["superblock"])
    assert superblock["format"] == {0x20000: "2.0", 0x20001: "2.1"}[disk_version]
    # littlefs counts the blocks that it finds in the same way.
    assert superblock["metadata blocks"] + superblock["file data blocks"] == used
    assert superblock["free blocks"] == BLOCKS - used
    assert superblock["metadata pairs"] >= 5 and superblock["files in their directory"] >= 120
    held = [block["holds"] for block in facts["blocks"]]
    assert held[:2] in (["metadata", "older metadata"], ["older metadata", "metadata"])
    assert any("highest revision" in note for note in facts["notes"])


def test_what_a_user_sees(ffslab: Command, tmp_path: Path) -> None:
    fs, files = filled()
    image = saved(fs, tmp_path / "image.bin")
    shown = ffslab("inspect", str(image), "--out", str(tmp_path / "report.html"))
    assert shown.returncode == 0, shown.stderr
    assert "littlefs" in shown.stdout and "metadata pairs" in shown.stdout
    assert "file data" in (tmp_path / "report.html").read_text(encoding="utf-8")
    out = tmp_path / "files"
    done = ffslab("extract", str(image), str(out))
    assert done.returncode == 0, done.stderr
    found = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert found == files


@pytest.mark.parametrize(("page_bytes", "oob_bytes"), [(512, 16), (2048, 64)])
def test_a_dump_of_nand_has_oob_areas(page_bytes: int, oob_bytes: int, tmp_path: Path) -> None:
    """Both make equally long dumps."""
    fs, files = filled()
    image = saved(fs, tmp_path / "image.bin")
    data = image.read_bytes()
    pages = [data[at : at + page_bytes] + b"\xff" * oob_bytes for at in range(0, len(data), page_bytes)]
    (tmp_path / "dump.bin").write_bytes(b"".join(pages))
    tree = read_image(tmp_path / "dump.bin")
    assert {entry.path: entry.data for entry in tree.entries if entry.kind == "file"} == files
    assert inspect_image(tmp_path / "dump.bin")["layout"]["oob_B"] == oob_bytes


class _Watched(UserContext):
    """A device that keeps what it holds after each program from now on, as a power cut would leave it."""

    states: list[bytes] | None = None

    def prog(self, cfg: Any, block: int, off: int, data: bytes) -> int:
        done = super().prog(cfg, block, off, data)
        if self.states is not None:
            self.states.append(bytes(self.buffer))
        return done


def test_a_rename_that_was_cut_leaves_its_file_once(tmp_path: Path) -> None:
    """From the first commit on its new name counts alone: the state that both directories add up to says so."""
    context = _Watched(buffer=bytearray(b"\xff" * (BLOCKS * BLOCK_BYTES)))
    sizes: dict[str, Any] = {"block_size": BLOCK_BYTES, "block_count": BLOCKS, "read_size": 16, "prog_size": 16}
    fs = LittleFS(context=context, cache_size=512, **sizes)
    fs.mkdir("d")
    with fs.open("d/first", "wb") as file:
        file.write(b"x" * 5000)
    # Both directories have an older part of that.
    fs.rename("d/first", "second")
    context.states = []
    fs.rename("second", "d/third")
    found = []
    for state in context.states:
        image = tmp_path / "image.bin"
        image.write_bytes(state)
        tree = read_image(image)
        assert not tree.complaints
        found += [entry.path for entry in tree.entries if entry.kind == "file" and entry.data == b"x" * 5000]
    assert len(found) == len(context.states) and set(found) == {"d/third"}


def test_a_torn_commit_and_a_lost_log_are_named(tmp_path: Path) -> None:
    fs, files = filled()
    image = saved(fs, tmp_path / "image.bin")
    facts = inspect_image(image)
    data = bytearray(image.read_bytes())
    blocks: list[Any] = facts["blocks"]
    log = next(block for block in blocks if block["holds"] == "metadata" and block["free_B"] > 64)
    end = log["block"] * BLOCK_BYTES + log["valid_B"]
    data[end : end + 20] = b"\x40\x00\x00\x00" * 5
    image.write_bytes(data)
    torn = inspect_image(image)
    assert [(piece["block"], piece["offset"]) for piece in torn["damage"]] == [(log["block"], end)]
    assert "a commit that is not whole" in torn["damage"][0]["what"]
    assert len([entry for entry in read_image(image).entries if entry.kind == "file"]) == len(files)
    # Both blocks of a directory's pair.
    for block in facts["blocks"]:
        if block["holds"] in ("metadata", "older metadata") and block["block"] > 1:
            at = block["block"] * BLOCK_BYTES
            data[at : at + 64] = bytes(64)
    image.write_bytes(data)
    lost = inspect_image(image)
    assert any("no whole commit in blocks" in piece["what"] for piece in lost["damage"])
    assert any("cannot be read: names are missing" in (file["error"] or "") for file in lost["files"])


def test_hostile_images_are_told_or_refused(tmp_path: Path) -> None:
    fs, _ = filled()
    whole = saved(fs, tmp_path / "image.bin").read_bytes()
    told = refused = 0
    for seed in range(120):
        draw = random.Random(seed)
        data = bytearray(whole)
        for _ in range(draw.choice([1, 5, 200])):
            at = draw.choice([draw.randrange(min(2 * BLOCK_BYTES, len(data))), draw.randrange(len(data))])
            match draw.randrange(4):
                case 0:
                    data[at] ^= 1 << draw.randrange(8)
                case 1:
                    data[at : at + 4] = draw.choice([b"\xff" * 4, bytes(4), draw.randbytes(4)])
                case 2:
                    block = draw.randrange(BLOCKS) * BLOCK_BYTES
                    data[block : block + BLOCK_BYTES] = draw.choice([whole[:BLOCK_BYTES], b"\xff" * BLOCK_BYTES])
                case _:
                    del data[max(at, 1) :]
        image = tmp_path / "hostile.bin"
        image.write_bytes(data)
        try:
            facts = inspect_image(image) if draw.randrange(2) else inspect_image(image, fs="littlefs")
            told += 1
            assert len(facts["blocks"]) <= BLOCKS + 1
        except InputError as error:
            refused += 1
            assert "\n" not in str(error)
    assert told > 20 and refused > 5, (told, refused)
