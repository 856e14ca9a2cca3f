"""The data base of the read-ahead study, as SQL.

Follows P. Olivier, J. Boukhobza, E. Senn, "Revisiting Read-ahead Efficiency for Raw NAND Flash Storage in Embedded
Linux" (EWiLi 2014), section 3.1.2: a table of contacts with 17 columns, 12 integers of which one is the primary key and
5 texts of 64 B (the file has 518 KB) or 128 B (1 MB), 1000 records; SQLite 3.7.15.2, whose pages have 1024 B.
"""

from __future__ import annotations

import random
import string
from collections.abc import Iterable

from ffslab._native import InputError
from ffslab.sqlite.script import Script

RECORDS = 1000
TEXT_BYTES = {"small": 64, "large": 128}
# Default of SQLite before 3.12 (2016-03-29).
PAGE_BYTES = 1024
INTEGERS, TEXTS = 11, 5
# "Random data" in the paper. On the board 1024 B of the group's own inserts took 0.43 pages of flash, what JFFS2's zlib
# leaves of these.
ALPHABET = string.ascii_letters + string.digits
# The paper does not say how its data base was filled.
RECORDS_IN_TRANSACTION = 10


def schema(page_bytes: int = PAGE_BYTES) -> list[str]:
    """Statements that make the empty table."""
    columns = [f"n{i} INTEGER" for i in range(1, INTEGERS + 1)] + [f"t{i} TEXT" for i in range(1, TEXTS + 1)]
    return [
        f"PRAGMA page_size = {page_bytes};",
        f"CREATE TABLE contacts (id INTEGER PRIMARY KEY, {', '.join(columns)});",
    ]


def inserts(
    ids: Iterable[int], text_bytes: int, *, seed: int = 1, in_transaction: int = RECORDS_IN_TRANSACTION
) -> list[str]:
    """Statements that insert records, so many in a transaction."""
    if text_bytes < 1 or in_transaction < 1:
        raise InputError(f"text_bytes {text_bytes}, in_transaction {in_transaction}: both must be at least 1")
    draw = random.Random(seed)
    ids = list(ids)
    statements = []
    for start in range(0, len(ids), in_transaction):
        statements.append("BEGIN;")
        for record in ids[start : start + in_transaction]:
            values = [str(record), *_integers(draw), *(_text(draw, text_bytes) for _ in range(TEXTS))]
            statements.append(f"INSERT INTO contacts VALUES ({', '.join(values)});")
        statements.append("COMMIT;")
    return statements


def selects(count: int, pattern: str, *, records: int = RECORDS, seed: int = 1) -> list[str]:
    """Statements that select `count` records by id: the first ones ("sequential") or drawn ones ("random")."""
    return [f"SELECT * FROM contacts WHERE id = {record};" for record in _ids(count, pattern, records, seed)]


def updates(count: int, pattern: str, text_bytes: int, *, records: int = RECORDS, seed: int = 1) -> list[str]:
    """Statements that each change an integer and a text of a record in a transaction of their own."""
    draw = random.Random(seed + 1)
    return [
        f"UPDATE contacts SET n1 = {_integers(draw)[0]}, t1 = {_text(draw, text_bytes)} WHERE id = {record};"
        for record in _ids(count, pattern, records, seed)
    ]


def script(statements: Iterable[str], name: str) -> Script:
    """Statements as a script."""
    return Script.parse("\n".join(statements), name)


def _ids(count: int, pattern: str, records: int, seed: int) -> list[int]:
    if pattern == "sequential":
        return [1 + i % records for i in range(count)]
    if pattern == "random":
        draw = random.Random(seed)
        return [draw.randint(1, records) for _ in range(count)]
    raise InputError(f'pattern "{pattern}": must be sequential or random')


def _integers(draw: random.Random) -> list[str]:
    return [str(draw.randint(1, 2**31 - 2)) for _ in range(INTEGERS)]


def _text(draw: random.Random, text_bytes: int) -> str:
    return "'" + "".join(draw.choices(ALPHABET, k=text_bytes)) + "'"
