"""Encrypted files of UBIFS: with the master key they are what was put in, with another none is wrong in silence."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from ffslab.images import ImageTree, read_image
from helpers.command import Command
from helpers.dumps import expected, saved
from helpers.fscrypt_images import Aes, Policy, cts, encrypted
from helpers.jffs2_images import tool

LEB_B = 15_360
KEY = random.Random(9).randbytes(64)
OTHER_KEY = random.Random(10).randbytes(64)


def rootfs(folder: Path) -> Path:
    root = folder / "root"
    (root / "etc").mkdir(parents=True)
    (root / "etc" / "hostname").write_bytes(b"board\n")
    (root / "a name that is longer than a block of the cipher").write_bytes(b"all work and no play " * 500)
    (root / "noise").write_bytes(random.Random(4).randbytes(6000))
    (root / "link").symlink_to("etc/hostname")
    return root


def made(folder: Path, *more: str) -> bytes:
    out = folder / "made.ubifs"
    command = [tool("mkfs.ubifs"), "-r", rootfs(folder), "-m", "512", "-e", LEB_B, "-c", "100", "-o", out, *more]
    subprocess.run([str(word) for word in command], check=True, capture_output=True)
    return out.read_bytes()


def files(tree: ImageTree) -> dict[str, bytes]:
    return {entry.path: entry.data for entry in tree.entries if entry.kind == "file" and entry.error is None}


def targets(tree: ImageTree) -> list[bytes]:
    return [entry.data for entry in tree.entries if entry.kind == "symlink"]


def test_the_cipher_of_the_helper_is_that_of_the_standard() -> None:
    """FIPS 197, appendix C; RFC 3962, appendix B."""
    plain = bytes.fromhex("00112233445566778899aabbccddeeff")
    assert Aes(bytes(range(16))).block(plain).hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"
    assert Aes(bytes(range(32))).block(plain).hex() == "8ea2b7ca516745bfeafc49904b496089"
    assert cts(b"chicken teriyaki", b"I would like the ").hex() == "c6353568f2bf8cb4d8a580362da7ff7f97"


@pytest.mark.parametrize("cipher", ["AES-256-XTS", "AES-128-CBC"])
def test_what_mkfs_encrypts_is_read_with_its_key(tmp_path: Path, cipher: str) -> None:
    (tmp_path / "key").write_bytes(KEY)
    key = ("--key", str(tmp_path / "key"), "--key-descriptor", "0123456789abcdef")
    path = saved(tmp_path, made(tmp_path, "--cipher", cipher, *key))
    tree = read_image(path, keys=[KEY])
    assert tree.complaints == []
    assert (files(tree), targets(tree)) == (expected(tmp_path), [b"etc/hostname"])
    for keys in (None, [OTHER_KEY], [OTHER_KEY, KEY[:16]]):
        closed = read_image(path, keys=keys)
        assert (files(closed), targets(closed)) == ({}, [b""])
        assert sum(entry.size_B for entry in closed.entries if entry.kind == "file") == 16_506
        assert any("the key with the descriptor 0123456789abcdef is not given" in each for each in closed.complaints)


@pytest.mark.parametrize("version", [1, 2])
def test_policies_of_both_versions_are_opened_by_the_key_that_they_name(tmp_path: Path, version: int) -> None:
    plain = made(tmp_path)
    path = saved(tmp_path, encrypted(plain, LEB_B, Policy(version, KEY)))
    tree = read_image(path, keys=[OTHER_KEY, KEY])
    assert (files(tree), targets(tree)) == (expected(tmp_path), [b"etc/hostname"])
    closed = read_image(path, keys=[OTHER_KEY])
    assert (files(closed), targets(closed)) == ({}, [b""])


def test_a_key_is_a_file_of_bytes_or_digits(tmp_path: Path, ffslab: Command) -> None:
    path = saved(tmp_path, encrypted(made(tmp_path), LEB_B, Policy(2, KEY)))
    key = tmp_path / "key"
    for written in (KEY, KEY.hex().encode() + b"\n"):
        key.write_bytes(written)
        run = ffslab("extract", path, tmp_path / f"out{len(written)}", "--key", key)
        # Of this volume nodes alone are there.
        assert run.returncode == 1
        assert (tmp_path / f"out{len(written)}" / "etc" / "hostname").read_bytes() == b"board\n"
    key.write_bytes(KEY[:5])
    run = ffslab("extract", path, "--key", key)
    assert (run.returncode, run.stderr.count("\n")) == (2, 1)
    assert "a master key has 16 to 64 B" in run.stderr
