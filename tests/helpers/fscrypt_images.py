"""Volumes of UBIFS whose files are encrypted, as `Documentation/filesystems/fscrypt.rst` of Linux describes it.

Of a volume that `mkfs.ubifs` has made in plain, each node is encrypted here. AES is that of FIPS 197.
"""

from __future__ import annotations

import hashlib
import hmac
import random
import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field

BLOCK_B = 16
NODE_MAGIC = b"\x31\x18\x10\x06"
INODE, DATA, ENTRY, ATTRIBUTE = 0, 1, 2, 3
# Of nodes of files.
LEAST_B = {INODE: 160, DATA: 48, ENTRY: 56}
DIRECTORY_MODE, LINK_MODE, KIND_OF_MODE = 0o040000, 0o120000, 0o170000
ATTRIBUTE_FLAG, ENCRYPTED_FLAG = 0x20, 0x40
# Inodes of attributes have numbers of their own.
FIRST_ATTRIBUTE = 5000
NAMES_PADDED_B = 16


# ---- AES ---------------------------------------------------------------------------------------------------------


def _doubled(byte: int) -> int:
    return (byte << 1 ^ (0x11B if byte & 0x80 else 0)) & 0xFF


def _box() -> list[int]:
    box, p, q = [0x63] * 256, 1, 1
    while True:
        p = p ^ _doubled(p)
        for shift in (1, 2, 4):
            q ^= q << shift & 0xFF
        q ^= 0x09 if q & 0x80 else 0
        value = q ^ (q << 1 | q >> 7) ^ (q << 2 | q >> 6) ^ (q << 3 | q >> 5) ^ (q << 4 | q >> 4)
        box[p] = (value ^ 0x63) & 0xFF
        if p == 1:
            return box


BOX = _box()


class Aes:
    """Encrypts blocks."""

    def __init__(self, key: bytes) -> None:
        words = [list(key[at : at + 4]) for at in range(0, len(key), 4)]
        count, constant = len(words), 1
        while len(words) < 4 * (count + 7):
            word = list(words[-1])
            if len(words) % count == 0:
                word = [BOX[byte] for byte in word[1:] + word[:1]]
                word[0] ^= constant
                constant = _doubled(constant)
            elif count > 6 and len(words) % count == 4:
                word = [BOX[byte] for byte in word]
            words.append([a ^ b for a, b in zip(word, words[-count], strict=True)])
        self.rounds = [[byte for word in words[at : at + 4] for byte in word] for at in range(0, len(words), 4)]

    def block(self, block: bytes) -> bytes:
        state = [a ^ b for a, b in zip(block, self.rounds[0], strict=True)]
        for number, key in enumerate(self.rounds[1:], 2):
            state = [BOX[state[(at + 4 * (at % 4)) % 16]] for at in range(16)]
            if number < len(self.rounds):
                mixed = []
                for at in range(0, 16, 4):
                    a, b, c, d = state[at : at + 4]
                    every = a ^ b ^ c ^ d
                    pairs = ((a, b), (b, c), (c, d), (d, a))
                    mixed += [x ^ every ^ _doubled(x ^ y) for x, y in pairs]
                state = mixed
            state = [a ^ b for a, b in zip(state, key, strict=True)]
        return bytes(state)


def _xor(a: bytes, b: bytes) -> bytes:
    return bytes(x ^ y for x, y in zip(a, b, strict=False))


def xts(key: bytes, number: int, data: bytes) -> bytes:
    """AES-256-XTS of whole blocks; `number`: of the block of the file."""
    cipher, tweak = Aes(key[:32]), int.from_bytes(Aes(key[32:]).block(number.to_bytes(BLOCK_B, "little")), "little")
    out = b""
    for at in range(0, len(data), BLOCK_B):
        mask = tweak.to_bytes(BLOCK_B, "little")
        out += _xor(cipher.block(_xor(data[at : at + BLOCK_B], mask)), mask)
        tweak = tweak << 1 ^ (0x87 | 1 << 128 if tweak >> 127 else 0)
    return out


def cts(key: bytes, data: bytes) -> bytes:
    """CBC from zeros with the last two blocks swapped, the last one cut."""
    cipher, before, blocks = Aes(key), bytes(BLOCK_B), []
    for at in range(0, len(data), BLOCK_B):
        before = cipher.block(_xor(data[at : at + BLOCK_B].ljust(BLOCK_B, b"\0"), before))
        blocks.append(before)
    if len(blocks) > 1:
        blocks[-2:] = [blocks[-1], blocks[-2][: (len(data) - 1) % BLOCK_B + 1]]
    return b"".join(blocks)


# ---- keys --------------------------------------------------------------------------------------------------------


def expanded(master: bytes, context: int, info: bytes, count: int) -> bytes:
    """HKDF-SHA512 without salt."""
    secret = hmac.new(bytes(64), master, hashlib.sha512).digest()
    info, out, last = b"fscrypt\0" + bytes([context]) + info, b"", b""
    for number in range(1, count // 64 + 2):
        last = hmac.new(secret, last + info + bytes([number]), hashlib.sha512).digest()
        out += last
    return out[:count]


@dataclass
class Policy:
    """How all files of a volume are encrypted."""

    version: int
    master: bytes
    draw: random.Random = field(default_factory=lambda: random.Random(8))

    def context(self, nonce: bytes) -> bytes:
        """What an inode keeps: AES-256-XTS, AES-256-CTS, names filled up to 16 B."""
        if self.version == 1:
            name = hashlib.sha512(hashlib.sha512(self.master).digest()).digest()[:8]
            return bytes([1, 1, 4, 2]) + name + nonce
        return bytes([2, 1, 4, 2, 0, 0, 0, 0]) + expanded(self.master, 1, b"", 16) + nonce

    def key(self, nonce: bytes, count: int) -> bytes:
        if self.version == 1:
            cipher = Aes(nonce)
            return b"".join(cipher.block(self.master[at : at + BLOCK_B]) for at in range(0, count, BLOCK_B))
        return expanded(self.master, 2, nonce, count)


# ---- nodes -------------------------------------------------------------------------------------------------------


def _nodes(volume: bytes) -> Iterator[bytes]:
    """All nodes of files, in the order in which they stand."""
    at = 0
    while at + 24 <= len(volume):
        if volume[at : at + 4] != NODE_MAGIC:
            at += 8
            continue
        (length,) = struct.unpack_from("<I", volume, at + 16)
        if length >= LEAST_B.get(volume[at + 20], length + 1):
            yield volume[at : at + length]
        at += (length + 7) & ~7


def _node(body: bytes, number: int) -> bytes:
    """A node with its length, sequence number and check sum."""
    node = bytearray(body)
    struct.pack_into("<QI", node, 8, number, len(node))
    struct.pack_into("<I", node, 4, zlib.crc32(node[8:]) ^ 0xFFFF_FFFF)
    return bytes(node)


class Encrypted:
    """The nodes of a volume, encrypted one by one."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.nonces: dict[int, bytes] = {}
        self.nodes: list[bytes] = []

    def nonce(self, ino: int) -> bytes:
        if ino not in self.nonces:
            self.nonces[ino] = self.policy.draw.randbytes(16)
            self._attribute(ino)
        return self.nonces[ino]

    def add(self, body: bytes) -> None:
        self.nodes.append(_node(body, 1000 + len(self.nodes)))

    def _attribute(self, ino: int) -> None:
        """The inode and the name of the attribute with the context."""
        holder, context = FIRST_ATTRIBUTE + ino, self.policy.context(self.nonces[ino])
        inode = bytearray(160)
        inode[:4], inode[20] = NODE_MAGIC, INODE
        struct.pack_into("<I", inode, 24, holder)
        struct.pack_into("<I", inode, 92, 1)
        struct.pack_into("<III", inode, 104, 0o100777, ATTRIBUTE_FLAG, len(context))
        self.add(bytes(inode) + context)
        entry = bytearray(56)
        entry[:4], entry[20] = NODE_MAGIC, ATTRIBUTE
        struct.pack_into("<II", entry, 24, ino, ATTRIBUTE << 29 | 7)
        struct.pack_into("<Q", entry, 40, holder)
        struct.pack_into("<H", entry, 50, 1)
        self.add(bytes(entry) + b"c\0")

    def names(self, ino: int, text: bytes) -> bytes:
        padded = text.ljust(-(-max(len(text), BLOCK_B) // NAMES_PADDED_B) * NAMES_PADDED_B, b"\0")
        return cts(self.policy.key(self.nonce(ino), 32), padded)

    def take(self, node: bytes) -> None:
        ino = struct.unpack_from("<I", node, 24)[0]
        new = bytearray(node)
        if node[20] == INODE:
            mode, flags, count = struct.unpack_from("<III", node, 104)
            struct.pack_into("<I", new, 108, flags | ENCRYPTED_FLAG)
            self.nonce(ino)
            if mode & KIND_OF_MODE == LINK_MODE:
                target = self.names(ino, node[160 : 160 + count])
                new[160:] = struct.pack("<H", len(target)) + target + b"\0"
                struct.pack_into("<I", new, 112, len(target) + 3)
        elif node[20] == DATA:
            stored = node[48:]
            struct.pack_into("<H", new, 46, len(stored))
            number = struct.unpack_from("<I", node, 28)[0] & 0x1FFF_FFFF
            filled = stored.ljust(-(-len(stored) // BLOCK_B) * BLOCK_B, b"\0")
            new[48:] = xts(self.policy.key(self.nonce(ino), 64), number, filled)
        else:
            name = self.names(ino, node[56:-1])
            struct.pack_into("<H", new, 50, len(name))
            new[56:] = name + b"\0"
        self.add(bytes(new))


def encrypted(volume: bytes, leb_B: int, policy: Policy) -> bytes:  # noqa: N803
    """The volume with all files encrypted. It has neither index nor master node: its nodes alone tell of its files."""
    made = Encrypted(policy)
    for node in _nodes(volume):
        made.take(node)
    lebs = [volume[:leb_B], NODE_MAGIC.ljust(leb_B, b"\xff"), b""]
    for node in made.nodes:
        padded = node.ljust((len(node) + 7) & ~7, b"\0")
        if len(lebs[-1]) + len(padded) > leb_B:
            lebs.append(b"")
        lebs[-1] += padded
    return b"".join(leb.ljust(leb_B, b"\xff") for leb in lebs)
