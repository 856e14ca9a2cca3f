"""`inspect` and `extract` of Zephyr's ZMS and FCB: keys, values, what is older, what is damaged."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from ffslab.answers.image import Facts
from ffslab.images import read_image
from ffslab.images.inspection import inspect_image
from helpers.dumps import saved
from helpers.key_images import check_cut_collection, files
from helpers.zephyr_fcb import HEADER_B, ZephyrFcb
from helpers.zephyr_zms import ZephyrZms


def told(path: Path) -> list[str]:
    facts = inspect_image(path)
    assert facts["damage"] and read_image(path).complaints
    return [f"block {piece['block']}: {piece['what']}" for piece in facts["damage"]]


def space(facts: Facts, name: str) -> list[int]:
    return [block[name] for block in facts["blocks"]]  # type: ignore[literal-required]


# ---- ZMS ----------------------------------------------------------------------------------------------------

FORMS = {"narrow": {}, "crc": {"data_crc": True}, "early": {"early": True}, "wide": {"wide": True}}


@pytest.mark.parametrize("sector_B", [1024, 4096, 3 * 4096])
@pytest.mark.parametrize("write_B", [1, 8, 32])
@pytest.mark.parametrize("form", FORMS)
def test_sizes_of_zms_are_found_and_values_are_the_newest(
    sector_B: int,  # noqa: N803
    write_B: int,  # noqa: N803
    form: str,
    tmp_path: Path,
) -> None:
    zms, draw = ZephyrZms(3, sector_B, write_B=write_B, **FORMS[form]), random.Random(sector_B + write_B)
    expected: dict[int, bytes] = {}
    for _ in range(max(60, sector_B // 16)):
        number = draw.choice((1, 2, 3, 70_000, 0xDEADBEEF, 5, 6, 7))
        if number in expected and not draw.randrange(8):
            zms.delete(number)
            del expected[number]
        else:
            expected[number] = draw.randbytes(draw.choice((1, 3, 4, 5, 8, 9, 33, 100)))
            zms.write(number, expected[number])
    path = saved(tmp_path, zms.image())
    assert files(path) == {f"0x{number:08x}": value for number, value in expected.items()}
    facts = inspect_image(path)
    assert facts["damage_count"] == 0 and facts["layout"]["fs"] == "zephyr-zms"
    assert (facts["layout"]["block_B"], facts["layout"]["blocks"]) == (sector_B, 3)
    shown = facts["superblock"]
    assert shown["entry of the table, B"] == max(16, write_B) and shown["sector that is written"] == zms.sector
    assert shown["numbers"] == {"wide": "64 bits", "early": "32 bits, before the size: of the first months of ZMS"}.get(
        form, "32 bits"
    )
    assert ("unchecked" in facts["layout"]) == (form != "crc")
    assert {row["state"] for row in facts["keys"]} >= {"current", "older"}
    holds = [block["holds"] for block in facts["blocks"]]
    assert (holds[zms.sector], holds[(zms.sector + 1) % 3]) == ("open", "empty")
    # Where numbers have 32 bits the header counts how often its sector was begun.
    assert shown.get("most cycles of a sector") == (None if form == "wide" else max(zms.cycles))


def test_free_and_stale_space_of_zms(tmp_path: Path) -> None:
    zms = ZephyrZms(3, 1024)
    for number in (1, 2, 1, 1):
        zms.write(number, bytes(40))
    facts = inspect_image(saved(tmp_path, zms.image()))
    entry = 16
    assert facts["superblock"]["free for values and their entries, B"] == 2 * (1024 - 5 * entry) - 2 * (40 + entry)
    (live, *_), (free, *_) = space(facts, "valid_B"), space(facts, "free_B")
    assert live == 2 * (40 + entry) and free == 1024 - 4 * 40 - (4 + 3) * entry


@pytest.mark.parametrize("finish", [True, False])
def test_a_garbage_collection_of_zms_that_was_cut_off(finish: bool, tmp_path: Path) -> None:
    check_cut_collection(ZephyrZms(3, 1024), 40, 8, tmp_path, finish=finish)


def test_memory_without_erases_has_old_entries_that_do_not_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """RRAM: a new header makes a sector empty, and what stood there stays until it is overwritten."""

    def put(zms: ZephyrZms, sector: int, at: int, data: bytes) -> None:
        at += sector * zms.sector_B
        zms.flash[at : at + len(data)] = data

    monkeypatch.setattr(ZephyrZms, "_put", put)
    monkeypatch.setattr(ZephyrZms, "erase", lambda _zms, _sector: None)
    monkeypatch.setattr(ZephyrZms, "cycle", lambda zms, sector: zms.cycles[sector] & 0xFF)
    zms, expected = ZephyrZms(3, 1024, write_B=16), {}
    for number in range(100):
        expected[number % 7] = bytes([number]) * (5 + number % 50)
        zms.write(number % 7, expected[number % 7])
    path = saved(tmp_path, zms.image())
    assert files(path) == {f"0x{number:08x}": value for number, value in expected.items()}
    assert inspect_image(path)["damage_count"] == 0


def test_settings_in_zms_have_their_names(tmp_path: Path) -> None:
    zms = ZephyrZms(2)
    zms.write(0x80000001, struct.pack("<II", 0, 0x8ABC0011))
    for hash_, name, value in ((0xABC0010, b"bt/keys/1", b"secret"), (0x1230000, b"app/mode", b"\x02")):
        zms.write(0xC0000000 | hash_, value)
        zms.write(0x80000000 | hash_, name)
        zms.write(0x80000001 | hash_, struct.pack("<II", 0x80000001, 0))
    found = files(saved(tmp_path, zms.image()))
    assert found.pop("settings/bt%2Fkeys%2F1") == b"secret" and found.pop("settings/app%2Fmode") == b"\x02"
    assert "0x8abc0010" in found


def test_damage_of_zms_is_named_with_sector_and_entry(tmp_path: Path) -> None:
    zms = ZephyrZms(2, 1024, data_crc=True)
    for number in range(6):
        zms.write(number, bytes([number]) * 40)
    whole = bytearray(zms.image())
    kept = files(saved(tmp_path, whole))
    # The mark of the beginning is entry 0, behind header and close.
    for at, words, lost in [
        (1024 - (3 + 3) * 16 + 1, "entry 3: it has a wrong check sum or cycle", "0x00000002"),
        (45, "entry 2: the value of 0x00000001 has a wrong check sum", "0x00000001"),
        (1024 - 2 * 16, "the entry that closes the sector has a wrong check sum", ""),
        (300, "1 B that no entry names", ""),
    ]:
        image = bytearray(whole)
        image[at] ^= 0x10
        path = saved(tmp_path, image)
        assert any(words in line for line in told(path)), told(path)
        left = {each.path: each.data for each in read_image(path).entries if each.kind == "file" and each.error is None}
        assert left == {key: value for key, value in kept.items() if key != lost}
    zms = ZephyrZms(3, 1024)
    for number in range(30):
        zms.write(number % 3, bytes([number]) * 60)
    image = bytearray(zms.image())
    image[((zms.sector - 1) % 3 + 1) * 1024 - 1] ^= 1
    assert any("no right header" in line for line in told(saved(tmp_path, image)))


# ---- FCB ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write_B", [1, 4, 8, 16])
@pytest.mark.parametrize("magic", [0xC0FFEEEE, 0x12345678])
@pytest.mark.parametrize("first", [0, 0x7FFE, 0xFFFE])
def test_settings_in_an_fcb_are_the_newest(write_B: int, magic: int, first: int, tmp_path: Path) -> None:  # noqa: N803
    fcb, draw = ZephyrFcb(4, 4096, write_B=write_B, magic=magic, number=first), random.Random(first + write_B)
    expected: dict[str, bytes] = {}
    for round_ in range(400):
        # All are written in each round of eight, so that none is only in a sector that goes.
        name = f"app/key{round_ % 8}"
        value = b"" if round_ % 50 == 49 else draw.randbytes(draw.choice((1, 5, 60, 130, 200)))
        fcb.append(name.encode() + b"=" + value)
        expected[name] = value
    path = saved(tmp_path, fcb.image())
    left = {f"settings/{name.replace('/', '%2F')}": value for name, value in expected.items() if value}
    assert files(path) == left
    facts = inspect_image(path)
    assert facts["damage_count"] == 0 and facts["layout"]["fs"] == "zephyr-fcb"
    shown = facts["superblock"]
    assert (shown["sector size, B"], shown["write block size, B"]) == (4096, write_B)
    assert shown["magic number"] == f"{magic:#010x}" and shown["sectors in use"] in (3, 4)
    assert {row["state"] for row in facts["keys"]} >= {"current", "older"}
    for block, valid, free in zip(facts["blocks"], space(facts, "valid_B"), space(facts, "free_B"), strict=True):
        assert valid + free <= 4096 and (block["holds"] != "erased" or free == 4096)


@pytest.mark.parametrize("fixed_end", [None, 0xAB])
def test_records_of_a_log_keep_their_order(fixed_end: int | None, tmp_path: Path) -> None:
    fcb = ZephyrFcb(3, 2048, write_B=4, fixed_end=fixed_end)
    records = [struct.pack("<IHh", number, 400 + number % 20, -number) for number in range(300)]
    for record in records:
        fcb.append(record)
    path = saved(tmp_path, fcb.image())
    found = files(path)
    assert list(found.values()) == records[-len(found) :] and len(found) > 250
    assert list(found) == sorted(found)
    assert ("unchecked" in inspect_image(path)["layout"]) == (fixed_end is not None)


def test_damage_of_an_fcb_is_named_with_sector_and_entry(tmp_path: Path) -> None:
    def log(change: Callable[[ZephyrFcb], None] = lambda _: None) -> bytearray:
        fcb = ZephyrFcb(3, 1024)
        for number in range(20):
            fcb.append(b"key%d=" % (number % 6) + bytes([number]) * 40)
        change(fcb)
        return bytearray(fcb.image())

    whole = log()
    kept = files(saved(tmp_path, whole))
    entry_B = 1 + 5 + 40 + 1  # noqa: N806
    image = bytearray(whole)
    image[HEADER_B + 2 * entry_B + 10] ^= 0x10
    path = saved(tmp_path, image)
    assert any("block 0: entry 2: it has a wrong check sum" in line for line in told(path))
    left = {each.path: each.data for each in read_image(path).entries if each.kind == "file"}
    assert left == kept
    image = log(lambda fcb: fcb.append(b"key0=unfinished", finish=False))
    assert any("it was not finished" in line for line in told(saved(tmp_path, image)))


def test_an_fcb_with_a_torn_header_is_read_but_for_that_sector(tmp_path: Path) -> None:
    fcb = ZephyrFcb(4, 1024)
    for number in range(60):
        fcb.append(b"key%02d=" % number + bytes([number]) * 40)
    image = bytearray(fcb.image())
    image[1024] ^= 1
    path = saved(tmp_path, image)
    assert any("block 1: the sector has another magic number" in line for line in told(path))
    left = {each.path: each.data for each in read_image(path).entries if each.kind == "file"}
    per_sector = (1024 - HEADER_B) // (1 + 6 + 40 + 1)
    gone = range(per_sector, 2 * per_sector)
    assert left == {f"settings/key{number:02}": bytes([number]) * 40 for number in range(60) if number not in gone}


def test_an_entry_that_would_leave_its_sector_is_told(tmp_path: Path) -> None:
    fcb = ZephyrFcb(2, 1024)
    for number in range(17):
        fcb.append(b"key%d=" % (number % 5) + bytes(40))
    at = fcb.at
    image = bytearray(fcb.image())
    image[at : at + 2] = b"\xf8\x7f"
    assert any("2 B of no entry: one that does not end in its sector" in line for line in told(saved(tmp_path, image)))
