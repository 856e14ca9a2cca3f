"""ffslab-board, the program for the board itself, beside the verbs that it stands for."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from ffslab.cli import root
from helpers.command import ROOT
from helpers.inspect_images import simulated, simulated_rfs
from helpers.left_out import leave_out

# `cargo test` builds it, as its tests call it.
BOARD = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "ffslab-board"


def board(*words: object) -> subprocess.CompletedProcess[str]:
    if not BOARD.is_file():
        leave_out(f"{BOARD} is not there: `make test` builds it first")
    return subprocess.run([BOARD, *map(str, words)], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """An image of each kind, and one that is damaged."""
    folder = tmp_path_factory.mktemp("images")
    made = {fs: simulated(folder, fs)["dump.bin"] for fs in ("jffs2", "yaffs2", "ubifs")}
    made["rfs"] = simulated_rfs(folder)
    damaged = bytearray(made["jffs2"])
    for at in range(1000, len(damaged), 7 * 2112):
        damaged[at] ^= 0xFF if damaged[at] != 0xFF else 0
    made["damaged"] = bytes(damaged)
    paths = {name: folder / f"{name}.img" for name in made}
    for name, path in paths.items():
        path.write_bytes(made[name])
    return paths


def command(capsys: pytest.CaptureFixture[str], *words: object) -> tuple[int, str]:
    code = root.run([*map(str, words)])
    return code, capsys.readouterr().out


@pytest.mark.parametrize("name", ["jffs2", "yaffs2", "ubifs", "rfs", "damaged"])
def test_extract_says_and_writes_the_same(
    images: dict[str, Path], name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for options in ([], ["--json"]):
        code, printed = command(capsys, "extract", images[name], *options)
        ran = board("extract", images[name], *options)
        assert (ran.returncode, ran.stdout) == (code, printed) or options, ran.stderr
        if options:
            assert json.loads(ran.stdout) == json.loads(printed)
    command(capsys, "extract", images[name], tmp_path / "theirs")
    board("extract", images[name], tmp_path / "ours")
    assert seen(tmp_path / "ours") == seen(tmp_path / "theirs") != {}


def seen(folder: Path) -> dict[str, tuple[int, int, int, float, bytes]]:
    """Mode, owner, group, time and content of everything in a folder."""
    found = {}
    for path in [folder, *sorted(folder.rglob("*"))]:
        about = path.lstat()
        data = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes() if path.is_file() else b""
        found[str(path.relative_to(folder))] = (about.st_mode, about.st_uid, about.st_gid, about.st_mtime, data)
    return found


@pytest.mark.parametrize("name", ["jffs2", "yaffs2", "ubifs", "rfs", "damaged"])
def test_inspect_knows_what_the_verb_knows(
    images: dict[str, Path], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--deleted", "--json"]
    code, printed = command(capsys, "inspect", images[name], *options)
    ran = board("inspect", images[name], *options)
    theirs, ours = json.loads(printed), json.loads(ran.stdout)
    for file in theirs["files"]:
        del file["read"]
    theirs["notes"] = [note for note in theirs["notes"] if not note.startswith("the cost of ")]
    for costs_or_sums in ("mount", "wear", "space"):
        del theirs[costs_or_sums]
    assert ran.returncode == code and ours == theirs


def test_text_says_what_matters(images: dict[str, Path]) -> None:
    told = board("inspect", images["ubifs"]).stdout
    assert "UBI with UBIFS: 64 erase blocks of 128.0 KiB, pages of 2048 B + 64 B OOB" in told
    assert "wear: erase counter of 64 blocks: least " in told and "no damage was found" in told
    damaged = board("inspect", images["damaged"])
    assert damaged.returncode == 1 and "\ndamage: " in damaged.stdout


def test_a_pipe_will_do(images: dict[str, Path]) -> None:
    with images["yaffs2"].open("rb") as image:
        piped = subprocess.run(
            ["sh", "-c", f"cat | {BOARD} extract /dev/stdin"], stdin=image, capture_output=True, text=True, check=False
        )
    assert piped.stdout.splitlines()[1:] == board("extract", images["yaffs2"]).stdout.splitlines()[1:]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["look", "x"], 'no verb "look": inspect or extract'),
        (["inspect"], "inspect: give one image"),
        (["inspect", "--page-B"], "--page-B: needs a value"),
        (["inspect", "--page-B", "x", "y"], "--page-B x: must be 0 to 1048575"),
        (["extract", "--deleted", "y"], "no option --deleted: --help lists them"),
        (
            ["inspect", "--fs", "ext4", "y"],
            "--fs ext4: must be jffs2, yaffs2, ubifs, fat, rfs, littlefs, spiffs, squashfs, erofs, esp-nvs, "
            "zephyr-nvs, zephyr-zms, zephyr-fcb or auto",
        ),
        (["inspect", "--offset", "1Q", "y"], "--offset 1Q: must be a number of bytes, such as 0x100000, 1M or 512k"),
        (["inspect", "/nowhere"], "/nowhere: cannot read the image: no such file or directory"),
    ],
)
def test_bad_input_is_one_line(words: list[str], said: str) -> None:
    ran = board(*words)
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", f"ffslab-board: {said}\n")


def test_a_full_folder_is_left_alone(images: dict[str, Path], tmp_path: Path) -> None:
    (tmp_path / "kept").write_text("mine", encoding="utf-8")
    ran = board("extract", images["jffs2"], tmp_path)
    assert ran.returncode == 2 and "holds files already: name a new or empty folder" in ran.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
