"""`inspect` and `extract` of ESP-IDF's NVS and Zephyr's NVS: keys, values, what is older, what is damaged."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from ffslab._native import InputError
from ffslab.answers.image import Facts
from ffslab.images import read_image, read_partitions
from ffslab.images.inspection import inspect_image
from helpers.command import Command
from helpers.dumps import saved
from helpers.esp_nvs import CHUNK_MAX_B, ENTRY_B, PAGE_B, EspNvs, crc, head
from helpers.flipped_bits import jffs2
from helpers.key_images import check_cut_collection, files
from helpers.zephyr_fcb import ZephyrFcb
from helpers.zephyr_nvs import MARK, ZephyrNvs, ate
from helpers.zephyr_zms import ZephyrZms

# Of each type the least, the most, and one between.
NUMBERS: dict[str, tuple[float, ...]] = {
    **{f"u{bits}": (0, 7, 2**bits - 1) for bits in (8, 16, 32, 64)},
    **{f"i{bits}": (-(2 ** (bits - 1)), -7, 2 ** (bits - 1) - 1) for bits in (8, 16, 32, 64)},
    "float": (-0.5, 1.25, 3.0),
    "double": (0.1, -1e-3, 2.5),
}
TEXTS = (b"", b"at home", b"x" * 31, b"y" * 32, "größer".encode(), b"z" * (CHUNK_MAX_B - 1))
BLOBS = (0, 1, 32, 33, CHUNK_MAX_B, 3 * CHUNK_MAX_B + 5)


def told(path: Path) -> list[str]:
    """What is wrong, by both who look: pieces of damage, and files that cannot be read."""
    facts = inspect_image(path)
    complaints = [f"block {piece['block']}: {piece['what']}" for piece in facts["damage"]]
    assert complaints or facts["doubts"] or any(entry["error"] for entry in facts["files"])
    assert read_image(path).complaints or any(entry.error for entry in read_image(path).entries)
    return complaints + facts["doubts"] + [entry["error"] for entry in facts["files"] if entry["error"]]


def fact(facts: Facts, name: str) -> object:
    return facts["superblock"][name]


# ---- ESP-IDF ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("version", "wipes"), [(0xFE, True), (0xFE, False), (0xFF, False)])
def test_values_of_all_types_are_those_that_were_written(version: int, wipes: bool, tmp_path: Path) -> None:
    nvs, draw = EspNvs(24, version=version, wipes=wipes), random.Random(5)
    expected: dict[str, bytes] = {}
    for kind, values in NUMBERS.items():
        for number, value in enumerate(values):
            nvs.set_number(b"numbers", f"{kind}-{number}".encode(), kind, value)
            expected[f"numbers/{kind}-{number}"] = (
                f"{value:g}\n".encode() if kind in ("float", "double") else b"%d\n" % value
            )
    for number, text in enumerate(TEXTS):
        nvs.set_text(b"texts", b"t%d" % number, text)
        expected[f"texts/t{number}"] = text
    for number, size in enumerate(BLOBS[:5] if version == 0xFF else BLOBS):
        blob = draw.randbytes(size)
        (nvs.set_old_blob if version == 0xFF else nvs.set_blob)(b"blobs", b"b%d" % number, blob)
        expected[f"blobs/b{number}"] = blob
    path = saved(tmp_path, nvs.image())
    assert files(path) == expected
    facts = inspect_image(path)
    assert facts["damage_count"] == 0 and facts["layout"]["fs"] == "esp-nvs" and facts["layout"]["block_B"] == PAGE_B
    assert fact(facts, "format") == 256 - version and fact(facts, "namespaces") == 3
    shown = {f"{key['namespace']}/{key['key']}": key for key in facts["keys"] if key["state"] == "current"}
    assert shown.keys() == expected.keys()
    assert {key: row["type"] for key, row in shown.items() if key.startswith("numbers/")} == {
        f"numbers/{kind}-{number}": kind for kind in NUMBERS for number in range(3)
    }
    assert shown["numbers/i64-0"]["value"] == "-9223372036854775808" and shown["numbers/u16-2"]["size_B"] == 2
    assert shown["texts/t1"]["value"] == '"at home"' and shown["texts/t1"]["size_B"] == 8
    assert shown["texts/t5"]["value"] == '"' + "z" * 40 + '"...'
    assert shown["blobs/b4"]["size_B"] == CHUNK_MAX_B


@pytest.mark.parametrize("wipes", [True, False])
def test_what_was_replaced_or_erased_does_not_count_and_is_shown_if_it_is_there(wipes: bool, tmp_path: Path) -> None:
    nvs = EspNvs(3, wipes=wipes)
    for count in range(5):
        nvs.set_number(b"boot", b"count", "u32", count)
    nvs.set_text(b"boot", b"gone", b"secret")
    nvs.erase(b"boot", b"gone", "string")
    path = saved(tmp_path, nvs.image())
    assert files(path) == {"boot/count": b"4\n"}
    facts = inspect_image(path)
    rows = [(row["key"], row["value"], row["state"]) for row in facts["keys"]]
    older = [("count", str(count), "older") for count in range(4)] + [("gone", '"secret"', "erased")]
    assert rows == [("count", "4", "current")] + ([] if wipes else older)
    assert fact(facts, "entries erased") == 6 and fact(facts, "entries written") == 2
    assert fact(facts, "entries an application can write") == 3 * 126 - 2 - 126
    assert facts["space"] == {"valid_B": 64 + 2 * 32, "invalid_B": 6 * 32, "free_B": 118 * 32 + 2 * PAGE_B}


@pytest.mark.parametrize("finish", [True, False])
def test_a_full_partition_whose_pages_were_collected_has_the_newest_values(finish: bool, tmp_path: Path) -> None:
    nvs, draw = EspNvs(4), random.Random(3)
    expected: dict[str, bytes] = {}
    for number in range(2000):
        key = f"k{draw.randrange(40)}"
        if draw.randrange(3):
            nvs.set_number(b"many", key.encode(), "u32", number)
            expected[f"many/{key}"] = b"%d\n" % number
        else:
            text = draw.randbytes(50).hex().encode()
            nvs.set_text(b"texts", key.encode(), text)
            expected[f"texts/{key}"] = text
    if not finish:
        # Power fails between the copies and the erase: each of that page's values stands twice.
        nvs.page().state = 0xFFFF_FFFC
        nvs.collect(next(at for at, page in enumerate(nvs.pages) if page and at != nvs.current), finish=False)
    path = saved(tmp_path, nvs.image())
    assert nvs.sequence > 12, "pages were collected"
    assert files(path) == expected
    facts = inspect_image(path)
    assert facts["damage_count"] == 0 and bool(facts["superblock"].get("pages being freed")) != finish
    assert any(f"begun {nvs.sequence} times" in note for note in facts["notes"])
    assert (facts["superblock"]["older values that are there"] == 0) == finish


def test_a_value_stands_under_each_of_its_types(tmp_path: Path) -> None:
    """Before ESP-IDF 6.1 a key may have a value of each type."""
    nvs = EspNvs(3)
    for kind in ("u8", "i32"):
        nvs.set_number(b"n", b"key", kind, 5)
    nvs.set_text(b"n", b"a/b", b"slash")
    nvs.set_text(b"..", b"..", b"dots")
    nvs.set_text(b"n", b"50%", b"percent")
    path = saved(tmp_path, nvs.image())
    assert files(path) == {
        "n/key%u8": b"5\n", "n/key%i32": b"5\n", "n/a%2Fb": b"slash", "%2E%2E/%2E%2E": b"dots", "n/50%25": b"percent"
    }  # fmt: skip


def test_what_a_power_cut_leaves(tmp_path: Path) -> None:
    nvs = EspNvs(3, wipes=False)
    nvs.set_number(b"n", b"twice", "u8", 1)
    nvs.set_number(b"n", b"twice", "u8", 2, erase=False)
    path = saved(tmp_path, nvs.image())
    assert files(path) == {"n/twice": b"2\n"}, "the newer one, as the next start makes it"
    facts = inspect_image(path)
    assert facts["damage_count"] == 0 and any("1 older value is not marked" in note for note in facts["notes"])
    # An entry is written before its state is.
    unfinished = nvs.page()
    unfinished.data[unfinished.used * ENTRY_B : (unfinished.used + 1) * ENTRY_B] = head(1, 1, 1, 255, b"late", b"\x09")
    path = saved(tmp_path, nvs.image())
    assert any(
        "entry 3: an item with the key late whose state says that it was never finished" in line for line in told(path)
    )
    assert [entry.path for entry in read_image(path).entries] == ["", "n", "n/twice"]
    nvs = EspNvs(4)
    nvs.set_blob(b"n", b"blob", b"old" * 100)
    nvs.set_blob(b"n", b"blob", b"new" * 3000, index=False)
    assert any("a chunk of the blob blob that no index names" in line for line in told(saved(tmp_path, nvs.image())))


def damaged(at: int, what: bytes) -> Callable[[bytearray], None]:
    def change(image: bytearray) -> None:
        image[at : at + len(what)] = what

    return change


def entry(number: int) -> int:
    return 64 + number * ENTRY_B


# Of the image below: namespace, text in two entries, number, blob of three entries and its index.
@pytest.mark.parametrize(
    ("change", "words", "lost"),
    [
        (damaged(entry(1) + 10, b"?"), "entries 1 to 2: the head of an item has a wrong check sum", "n/text"),
        (damaged(entry(2), b"?"), "entries 1 to 2: the data of the key text have a wrong check sum", "n/text"),
        (
            damaged(entry(3) + 25, b"?"),
            "entry 3: no item with a right check sum, of what may be the key number",
            "n/number",
        ),
        (damaged(entry(5), b"?"), "entries 4 to 6: the data of the key blob have a wrong check sum", "n/blob"),
        (damaged(entry(7) + 24, b"?"), "entry 7: no item with a right check sum", "n/blob"),
        (damaged(32, b"\x0a"), "entries 1 to 2: not all of them are marked as written", None),
        (damaged(32, b"\xa9"), "entry 0: a state that no entry can have", None),
        (damaged(20, b"\0"), "the header has a wrong check sum", ""),
        (damaged(0, b"\xf0"), "the header has a state that no page can have", ""),
        (damaged(entry(100), b"?"), "entry 100: data where the state says that nothing was written", ""),
        (damaged(PAGE_B + 500, b"?"), "no page: its header has a wrong check sum", ""),
    ],
)
def test_damage_is_named_with_page_and_entry(
    change: Callable[[bytearray], None], words: str, lost: str | None, tmp_path: Path
) -> None:
    nvs = EspNvs(3)
    nvs.set_text(b"n", b"text", b"value")
    nvs.set_number(b"n", b"number", "u16", 500)
    nvs.set_blob(b"n", b"blob", b"blob" * 12)
    image = bytearray(nvs.image())
    whole = files(saved(tmp_path, image))
    change(image)
    path = saved(tmp_path, image)
    assert any(words in line for line in told(path)), told(path)
    left = {each.path: each.data for each in read_image(path).entries if each.kind == "file" and each.error is None}
    if lost is not None:
        assert left == {key: value for key, value in whole.items() if key != lost}


def test_an_encrypted_partition_is_said_to_be_that(ffslab: Command, tmp_path: Path) -> None:
    nvs, draw = EspNvs(3), random.Random(1)
    nvs.set_text(b"n", b"text", b"value" * 20)
    page = nvs.page()
    page.data[: page.used * ENTRY_B] = draw.randbytes(page.used * ENTRY_B)
    ran = ffslab("extract", saved(tmp_path, nvs.image()), tmp_path / "files")
    assert ran.returncode == 1 and "encrypted" in ran.stderr and len(ran.stderr.splitlines()) == 1


# ---- Zephyr -------------------------------------------------------------------------------------------------

SIZES = (1, 2, 3, 4, 7, 8, 33, 100)


@pytest.mark.parametrize("sector_B", [1024, 2048, 4096, 3 * 4096, 65536])
@pytest.mark.parametrize("write_B", [1, 2, 4, 8, 16, 32])
@pytest.mark.parametrize("data_crc", [False, True])
def test_sizes_are_found_and_values_are_the_newest(sector_B: int, write_B: int, data_crc: bool, tmp_path: Path) -> None:  # noqa: N803
    nvs, draw = ZephyrNvs(3, sector_B, write_B=write_B, data_crc=data_crc), random.Random(sector_B + write_B)
    expected: dict[int, bytes] = {}
    for _ in range(max(60, sector_B // 16)):
        number = draw.randrange(12)
        if number in expected and not draw.randrange(8):
            nvs.delete(number)
            del expected[number]
        else:
            expected[number] = draw.randbytes(draw.choice(SIZES))
            nvs.write(number, expected[number])
    path = saved(tmp_path, nvs.image())
    assert files(path) == {f"0x{number:04x}": value for number, value in expected.items()}
    facts = inspect_image(path)
    assert facts["damage_count"] == 0 and facts["layout"]["fs"] == "zephyr-nvs"
    assert (facts["layout"]["block_B"], facts["layout"]["blocks"]) == (sector_B, 3)
    assert (
        fact(facts, "entry of the table, B") == max(8, write_B) and fact(facts, "sector that is written") == nvs.sector
    )
    assert fact(facts, "check sums of values") == ("yes" if data_crc else "no")
    assert ("unchecked" in facts["layout"]) != data_crc
    by_state = {row["state"] for row in facts["keys"]}
    assert by_state >= {"current", "older"}
    assert next(block["holds"] for block in facts["blocks"] if block["block"] == nvs.sector) == "open"


def test_marks_of_early_versions_are_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ZephyrNvs, "mark_part", 0x00)
    nvs = ZephyrNvs(3, 1024)
    for number in range(40):
        nvs.write(number % 5, bytes([number]) * 60)
    facts = inspect_image(saved(tmp_path, nvs.image()))
    assert facts["damage_count"] == 0 and len([row for row in facts["keys"] if row["state"] == "current"]) == 5


@pytest.mark.parametrize("finish", [True, False])
def test_a_garbage_collection_that_was_cut_off(finish: bool, tmp_path: Path) -> None:
    check_cut_collection(ZephyrNvs(3, 1024), 30, 4, tmp_path, finish=finish)


def test_settings_have_their_names(tmp_path: Path) -> None:
    nvs = ZephyrNvs(2)
    for number, (name, value) in enumerate([(b"bt/keys/1", b"secret"), (b"app/mode", b"\x02")], 0x8001):
        nvs.write(number + 0x4000, value)
        nvs.write(number, name)
    nvs.write(0x8000, struct.pack("<H", 0x8002))
    found = files(saved(tmp_path, nvs.image()))
    assert found.pop("settings/bt%2Fkeys%2F1") == b"secret" and found.pop("settings/app%2Fmode") == b"\x02"
    assert found == {"0x8000": b"\x02\x80", "0x8001": b"bt/keys/1", "0x8002": b"app/mode"}


def test_damage_is_named_with_sector_and_entry(tmp_path: Path) -> None:
    nvs = ZephyrNvs(2, 1024, data_crc=True)
    for number in range(6):
        nvs.write(number, bytes([number]) * 40)
    whole = bytearray(nvs.image())
    kept = files(saved(tmp_path, whole))
    # The mark of the beginning is entry 0.
    for at, words, lost in [
        (1024 - (2 + 3) * 8 + 1, "entry 3: it has a wrong check sum", "0x0002"),
        (45, "entry 2: the value of 0x0001 has a wrong check sum", "0x0001"),
        (1023, "the entry that closes the sector has a wrong check sum", ""),
        (300, "1 B that no entry names", ""),
    ]:
        image = bytearray(whole)
        image[at] ^= 0x10
        path = saved(tmp_path, image)
        assert any(words in line for line in told(path)), told(path)
        left = {each.path: each.data for each in read_image(path).entries if each.kind == "file" and each.error is None}
        assert left == {key: value for key, value in kept.items() if key != lost}


# ---- all ----------------------------------------------------------------------------------------------------


def test_what_a_user_sees(ffslab: Command, tmp_path: Path) -> None:
    nvs = EspNvs(3)
    nvs.set_text(b"wifi", b"ssid", b"at \x1b[31mhome\n")
    path = saved(tmp_path, nvs.image())
    shown = ffslab("inspect", path, "--out", tmp_path / "report.html", "--extract", tmp_path / "files")
    assert shown.returncode == 0, shown.stderr
    assert "wifi/ssid" in shown.stdout and "\x1b" not in shown.stdout
    assert "Keys and values" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert (tmp_path / "files/wifi/ssid").read_bytes() == b"at \x1b[31mhome\n"
    image = bytearray(path.read_bytes())
    image[entry(2)] ^= 1
    assert ffslab("inspect", saved(tmp_path, image)).returncode == 1
    zephyr = ZephyrNvs(2, 1024)
    for number in range(4):
        zephyr.write(number, b"value")
    ran = ffslab("inspect", saved(tmp_path, zephyr.image()), "--extract", tmp_path / "small sectors")
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "small sectors/0x0003").read_bytes() == b"value"


def test_an_image_that_is_cut_off_is_told(tmp_path: Path) -> None:
    esp, zephyr, zms, fcb = EspNvs(3), ZephyrNvs(3, 1024), ZephyrZms(3, 1024), ZephyrFcb(3, 1024)
    for number in range(100):
        esp.set_text(b"n", b"k%d" % (number % 30), bytes([65 + number % 26]) * 90)
        zephyr.write(number % 10, bytes([number]) * 40)
        zms.write(number % 10, bytes([number]) * 40)
        fcb.append(b"k%d=" % (number % 10) + bytes([number]) * 30)
    images = [(each.image(), 1024, "sector") for each in (zephyr, zms, fcb)]
    for image, size_B, name in [(esp.image(), PAGE_B, "page"), *images]:  # noqa: N806
        for end in range(size_B * 2 + 37, len(image), 301):
            path = saved(tmp_path, image[:end])
            if end % size_B:
                assert any(f"of the {size_B} B of a {name}" in line for line in told(path))


def test_hostile_sizes_are_told_or_refused(tmp_path: Path) -> None:
    """Lengths, spans and offsets that lead elsewhere, each with the check sums that it needs."""
    draw, told_count = random.Random(11), 0
    for round_ in range(120):
        esp, zephyr = EspNvs(4), ZephyrNvs(2, 1024, write_B=draw.choice([1, 8, 16]))
        esp.set_blob(b"n", b"blob", bytes(5000))
        for number in range(6):
            esp.set_text(b"n", b"t%d" % number, b"text" * number)
            zephyr.write(number, b"data" * (number + 1))
        if round_ % 2:
            page, at = esp.page(0), draw.randrange(4) * ENTRY_B
            start = bytearray(page.data[at : at + ENTRY_B])
            start[draw.choice([0, 1, 2, 3, 24, 25, 28, 29])] = draw.choice([0, 1, 0x21, 0x42, 0x48, 0x7E, 0xFF])
            start[4:8] = struct.pack("<I", crc(bytes(start[:4] + start[8:])))
            page.data[at : at + ENTRY_B] = start
            image = esp.image()
        else:
            number, offset, size = draw.choice(
                [(MARK, 0, 5), (3, 0, 0xFFFF), (3, 1000, 30), (3, 0xFFFF, 0xFFFF), (MARK, 3, 0)]
            )
            changed = bytearray(zephyr.image())
            place = 1024 - draw.randrange(1, 8) * zephyr.ate_B
            changed[place : place + 8] = ate(number, offset, size)
            image = bytes(changed)
        path = saved(tmp_path, image)
        try:
            tree = read_image(path)
        except InputError as error:
            assert "Traceback" not in str(error) and "\n" not in str(error)
            continue
        told_count += bool(tree.complaints or any(each.error for each in tree.entries))
        assert all(not each.path.startswith(("/", "..")) for each in tree.entries)
        inspect_image(path)
    assert told_count > 60


def noise(folder: Path) -> bytes:
    return random.Random(7).randbytes(64 << 10)


def sparse_noise(folder: Path) -> bytes:
    """Mostly erased, as stores are, with something at the ends of blocks."""
    draw, image = random.Random(8), bytearray(b"\xff" * (64 << 10))
    for at in range(4096, len(image) + 1, 4096):
        image[at - 64 : at] = draw.randbytes(64)
    return bytes(image)


@pytest.mark.parametrize("make", [jffs2, noise, sparse_noise, lambda _: b"\xff" * 65536, lambda _: bytes(65536)])
def test_an_image_of_another_kind_is_no_store(make: Callable[[Path], bytes], tmp_path: Path) -> None:
    path = saved(tmp_path, make(tmp_path))
    try:
        found = [part.layout["fs"] if part.layout else "" for part, _ in read_partitions(path)]
    except InputError:
        found = []
    stores = ("esp-nvs", "zephyr-nvs", "zephyr-zms", "zephyr-fcb")
    assert not set(stores).intersection(found)
    for name in stores:
        with pytest.raises(InputError):
            read_image(path, fs=name)


def test_a_store_inside_a_larger_dump_is_read_where_it_is_said_to_be(tmp_path: Path) -> None:
    esp, zephyr = EspNvs(3), ZephyrNvs(4, 2048)
    for number in range(5):
        esp.set_number(b"n", b"k%d" % number, "u8", number)
        zephyr.write(number, b"v%d" % number)
    image = noise(tmp_path) + esp.image() + zephyr.image()
    path = saved(tmp_path, image)
    at = (64 << 10, (64 << 10) + 3 * PAGE_B)
    esp_files = read_image(path, offset_B=at[0], size_B=3 * PAGE_B)
    assert {each.path for each in esp_files.entries if each.kind == "file"} == {f"n/k{number}" for number in range(5)}
    zephyr_files = read_image(path, offset_B=at[1], size_B=4 * 2048)
    assert [each.data for each in zephyr_files.entries if each.kind == "file"] == [
        b"v%d" % number for number in range(5)
    ]
