"""`ffslab card serve`: NBD with good and bad clients, power cuts, what a card holds from one run to the next."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from helpers import nbd_client as nbd
from helpers.command import Command
from helpers.nbd_client import Client
from helpers.served_card import BUFFERED, PAGE_B, SMALL, Served, served

EIO, EINVAL, ENOSPC = 5, 22, 28
UNSUPPORTED, INVALID, UNKNOWN, TOO_BIG = 2**31 + 1, 2**31 + 3, 2**31 + 6, 2**31 + 9


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One that outlives all that its clients do to it."""
    with served(tmp_path_factory.mktemp("card"), *SMALL) as made:
        yield made


@pytest.fixture
def client(server: Served) -> Iterator[Client]:
    with server.client() as made:
        yield made


def test_what_is_asked_of_a_device_costs_flash_and_time_and_is_there_the_next_time(tmp_path: Path) -> None:
    pattern = bytes(range(256)) * 64
    with served(tmp_path, *BUFFERED, "--save", "card.bin") as card, card.client() as client:
        assert client.write(0, pattern) == 0
        assert client.write(PAGE_B * 100, pattern, nbd.FUA) == 0
        assert client.ask(nbd.ZEROES, 512, 1024) == (0, b"")
        assert client.ask(nbd.FLUSH) == (0, b"")
        zeroed = pattern[:512] + bytes(1024) + pattern[1536:]
        assert client.read(0, len(pattern)) == zeroed
        assert client.ask(nbd.TRIM, PAGE_B * 100, PAGE_B) == (0, b"")
        assert client.read(PAGE_B * 100, PAGE_B) == bytes(PAGE_B)
        client.leave()
    first = card.variant
    # Two patterns of eight pages, the page that the zeroes changed once more, and what the layer notes of the trim.
    assert first["totals"]["page_programs"] >= 17
    assert first["user_written_B"] == 2 * len(pattern) + 1024
    assert first["time_us"] > 17 * first["flash"]["t_program_us"]
    with served(tmp_path, *BUFFERED, "--image", "card.bin") as card, card.client() as client:
        assert client.read(0, len(pattern)) == zeroed
        assert client.read(PAGE_B * 101, PAGE_B) == pattern[PAGE_B : 2 * PAGE_B]
        client.leave()


def test_a_plain_image_is_on_the_device_and_a_saved_one_is_for_its_device_alone(
    tmp_path: Path, ffslab: Command
) -> None:
    (tmp_path / "disk.img").write_bytes(bytes(4096) + b"card" * 100)
    with served(tmp_path, *SMALL, "--image", "disk.img", "--save", "card.bin") as card, card.client() as client:
        assert client.read(4096, 512) == (b"card" * 100).ljust(512, b"\0")
    # What somebody wrote before is no part of what was measured.
    assert card.variant["totals"]["page_programs"] == 0
    tail = ("--socket", str(tmp_path / "s"), "--no-results", "--", "true")
    other = ffslab("card", "serve", "sd-card", "--image", str(tmp_path / "card.bin"), *tail)
    assert (other.returncode, "was saved by another device" in other.stderr) == (2, True)
    whole = (tmp_path / "card.bin").read_bytes()
    # What the host wrote has no check sum of its own: a flipped bit in it was served as it is.
    flipped = whole[:-20] + bytes([whole[-20] ^ 1]) + whole[-19:]
    # One in its first line made a plain image of it, whose bytes were then written onto the card.
    other_kind = bytes([whole[0] ^ 1]) + whole[1:]
    for damaged in (whole[: len(whole) // 2], flipped, other_kind):
        (tmp_path / "damaged.bin").write_bytes(damaged)
        ran = ffslab("card", "serve", *SMALL, "--image", str(tmp_path / "damaged.bin"), *tail)
        assert (ran.returncode, ran.stderr.count("\n"), "damaged" in ran.stderr) == (2, 1, True)


def test_a_power_cut_takes_what_waits_in_the_buffer(tmp_path: Path) -> None:
    with served(tmp_path, *BUFFERED, "--cut-after", "4", "--save", "card.bin") as card, card.client() as client:
        for at in range(2):
            assert client.write(at * PAGE_B, b"a" * PAGE_B) == 0
        assert client.ask(nbd.FLUSH)[0] == 0
        assert client.write(2 * PAGE_B, b"b" * PAGE_B) == 0
        client.send(nbd.WRITE, 3 * PAGE_B, PAGE_B, b"b" * PAGE_B)
        assert client.is_hung_up
        card.process.wait(60)
    assert "power cut after 4 writes: 4096 B were written after the last flush, 4096 B of them are lost" in card.errors
    with served(tmp_path, *BUFFERED, "--image", "card.bin") as card, card.client() as client:
        assert client.read(0, 4 * PAGE_B) == b"a" * 2 * PAGE_B + bytes(2 * PAGE_B)


def test_options_are_answered_or_refused_and_the_choice_goes_on(server: Served) -> None:
    with Client(server.socket) as client:
        assert client.greeting == nbd.GREETING + b"\0\3"
        listed = client.option(nbd.LIST)
        assert [(reply.kind, reply.data) for reply in listed] == [(2, b"\0\0\0\x08page-map"), (nbd.ACK, b"")]
        assert client.option(nbd.LIST, b"x")[-1].kind == INVALID
        for option in (nbd.STRUCTURED, 5, 9, 10, 11, 4711):
            assert [reply.kind for reply in client.option(option)] == [UNSUPPORTED]
        assert client.option(nbd.INFO, bytes(10000))[-1].kind == TOO_BIG
        for broken in (b"", b"\0\0\0\x09page", struct.pack(">IHH", 0, 2, 3)):
            assert client.option(nbd.GO, broken)[-1].kind == INVALID
        assert client.go(b"another")[-1].kind == UNKNOWN
        told = {reply.data[:2]: reply.data[2:] for reply in client.go(option=nbd.INFO)}
        assert told[b"\0\3"] == struct.pack(">III", 512, 4096, 32 << 20)
        assert client.go(b"page-map")[-1].kind == nbd.ACK
        # Flush, FUA, trim and zeroes, and no more than one connection at a time.
        assert (client.flags, client.size_bytes % 512) == (0b1101101, 0)
        assert client.ask(nbd.FLUSH)[0] == 0
        client.leave()
    with Client(server.socket) as leaver:
        assert [reply.kind for reply in leaver.option(nbd.ABORT)] == [nbd.ACK]
        assert leaver.is_hung_up


@pytest.mark.parametrize(("flags", "zeroes"), [(1, 124), (3, 0)])
def test_a_client_that_knows_names_alone_gets_the_device(server: Served, flags: int, zeroes: int) -> None:
    with Client(server.socket, flags) as client:
        client.line.sendall(b"IHAVEOPT" + struct.pack(">II", nbd.EXPORT_NAME, 0))
        assert len(client.take(10 + zeroes)) == 10 + zeroes
        client.leave()
    with Client(server.socket, flags) as stranger:
        stranger.line.sendall(b"IHAVEOPT" + struct.pack(">II", nbd.EXPORT_NAME, 1) + b"x")
        assert stranger.is_hung_up


def test_a_request_that_cannot_be_gets_its_error_and_the_next_one_is_heard(client: Client) -> None:
    end, large = client.size_bytes, (32 << 20) + 512
    assert client.write(end, bytes(512)) == ENOSPC
    assert client.ask(nbd.ZEROES, end - 512, 1024)[0] == ENOSPC
    assert client.ask(nbd.READ, end - 512, 1024)[0] == EINVAL
    assert client.ask(nbd.TRIM, end, 512)[0] == EINVAL
    assert client.ask(nbd.READ, 0, large)[0] == EINVAL
    assert client.write(0, bytes(large)) == EINVAL
    assert client.ask(nbd.READ, 2**64 - 512, 512)[0] == EINVAL
    assert client.ask(nbd.READ, 1, 512)[0] == EINVAL
    assert client.write(0, b"x") == EINVAL
    assert client.ask(nbd.READ, 0, 0)[0] == EINVAL
    assert client.ask(nbd.CACHE, 0, 512)[0] == EINVAL
    assert client.ask(99)[0] == EINVAL
    assert client.ask(nbd.READ, 0, 512, flags=4)[0] == EINVAL
    assert client.ask(nbd.FLUSH, 512)[0] == EINVAL
    assert client.write(0, b"y" * 512) == 0
    assert client.read(0, 512) == b"y" * 512
    client.leave()


@pytest.mark.parametrize(
    "said",
    [
        b"\x25\x60\x95\x13\0\0",
        struct.pack(">IHHQQI", 0xDEADBEEF, 0, 0, 0, 0, 512),
        struct.pack(">IHHQQI", nbd.MAGIC, 0, nbd.WRITE, 0, 0, 4096) + b"half",
        struct.pack(">IHHQQI", nbd.MAGIC, 0, nbd.WRITE, 0, 1, 2**32 - 1) + b"less",
        struct.pack(">IHHQQI", nbd.MAGIC, 0, nbd.READ, 0, 0, 1 << 20) * 20,
    ],
    ids=["short header", "wrong magic", "half of a write", "of what is refused", "nobody reads"],
)
def test_who_breaks_the_protocol_or_leaves_ends_its_own_connection(server: Served, said: bytes) -> None:
    with server.client() as client:
        client.line.sendall(said)
    with server.client() as next_one:
        assert next_one.ask(nbd.FLUSH)[0] == 0


@pytest.mark.parametrize(
    "said", [b"\0\0\0\x80", b"\0\0\0\3GARBAGE!" + bytes(8), b"\0\0", b"\0\0\0\3IHAVEOPT" + b"\0\0\0\7\xff\xff\xff\xff"]
)
def test_who_cannot_negotiate_ends_its_own_connection(server: Served, said: bytes) -> None:
    with nbd.raw(server.socket) as line:
        line.sendall(said)
        line.shutdown(1)
        while line.recv(4096):
            pass
    with server.client() as next_one:
        assert next_one.ask(nbd.FLUSH)[0] == 0


def test_two_clients_see_one_device(server: Served) -> None:
    with server.client() as one, server.client() as other:
        assert one.write(8192, b"z" * 512) == 0
        assert other.read(8192, 512) == b"z" * 512


def test_what_cannot_be_served_is_one_line(tmp_path: Path, ffslab: Command) -> None:
    (tmp_path / "file").write_text("")
    there = ("--socket", str(tmp_path / "s"))
    for words, said in [
        (("sd-card",), "say where to listen"),
        (("sd-card", *there, "--tcp", "0"), "say where to listen"),
        (("sd-cart", *there), "sd-cart"),
        (("page-map", *there, "--set", "device=x"), "DEVICE"),
        (("page-map", *there), "needs --set device.part=PART"),
        (("page-map", *there, "--set", "device.spare=0.1"), "name its part by --set device.part=PART"),
        ((*SMALL, *there, "--set", "device.ftl=bast"), "--set device.ftl: the translation layer is the argument"),
        (("sd-card", *there, "--set", "device.blocks=64"), "sd-card is a whole device"),
        (("sd-card", *there, "--set", "board=nonsense"), "--set board nonsense: unknown board: `ffslab profiles ls`"),
        (("sd-card", *there, "--set", "board=./no.toml"), "./no.toml: cannot be read"),
        (("sd-card", "--socket", str(tmp_path / "file")), "is no socket"),
        (("sd-card", "--socket", str(tmp_path / "no" / "s")), "cannot be made"),
        (("sd-card", "--socket", "x" * 200), "is longer than"),
        (("sd-card", "--tcp", "70000"), "65535"),
        (("sd-card", *there, "--save", str(tmp_path / "no" / "card")), "no such folder"),
        (("sd-card", *there, "--image", str(tmp_path / "none")), "none"),
        (("sd-card", *there, "--cut-after", "0"), "1 or more"),
    ]:
        ran = ffslab("card", "serve", *words, "--no-results")
        assert (ran.returncode, ran.stdout, ran.stderr.count("\n")) == (2, "", 1), ran.stderr
        assert said in ran.stderr, ran.stderr


def test_a_command_gets_the_address_and_its_code_is_the_server_s(tmp_path: Path, ffslab: Command) -> None:
    tail = ("--tcp", "0", "--no-results", "--json", "--", "sh", "-c")
    ran = ffslab("card", "serve", "sd-card", *tail, 'echo "$FFSLAB_NBD" >&2; exit 3')
    assert (ran.returncode, "nbd://127.0.0.1:" in ran.stderr) == (3, True)
