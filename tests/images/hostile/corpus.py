"""Makes the hostile files: those of `kept/`, and what is large, special or drawn from a seed."""

from __future__ import annotations

import gzip
import os
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import ffslab
from ffslab.files.traces import schema
from helpers.mutations import Image

KEPT = Path(__file__).parent / "kept"
# Depth of nested lists and tables.
DEEP = 100_000
MIB = 1 << 20

IMAGE = """\
title = "image"
[stack]
board = "zero-overhead"
fs = "{fs}"
partition_blocks = 32
{more}
[[setup]]
step = "mount"
[[setup]]
step = "mkdir"
dir = "folder"
[[setup]]
step = "create"
file = "folder/file"
bytes = "40 KiB"
[[setup]]
step = "create"
file = "small"
bytes = 700
[[measure]]
step = "umount"
[[measure]]
step = "save_image"
file = "image"
oob = {oob}
"""
VOLUME = IMAGE.replace('board = "zero-overhead"\n', 'system = "rtems"\n').replace(
    "partition_blocks = 32", "device_KiB = 1024"
)


@cache
def images() -> dict[str, Image]:
    """An image of each format, with a few files."""
    found = {}
    for fs, oob in (("jffs2", False), ("jffs2", True), ("yaffs2", True), ("ubifs", False)):
        more = "max_beb_per1024 = 1" if fs == "ubifs" else ""
        text = IMAGE.format(fs=fs, oob=str(oob).lower(), more=more)
        content = ffslab.Experiment.from_toml(text).run().images["image"]
        found[f"{fs}-oob" if oob else fs] = Image(fs, content, oob_B=64 if oob else 0)
    for fs, named in (("rfs", "rfs"), ("dosfs", "fat")):
        text = VOLUME.format(fs=fs, more="", oob="false").replace("oob = false\n", "")
        found[named] = Image(named, ffslab.Experiment.from_toml(text).run().images["image"])
    return found


LINKS = {
    "loop": "loop",
    "dangling": "no-such-file",
    "zero": "/dev/zero",
    "null": "/dev/null",
    "status": "/proc/self/status",
    "kcore": "/proc/kcore",
    "kmsg": "/proc/kmsg",
    "memory": "/proc/self/mem",
    "uevent": "/sys/kernel/uevent_seqnum",
}


def special(folder: Path) -> list[Path]:
    """What is no plain file of a plain size. Links stand for devices: what is renamed over a link harms nothing."""
    os.mkfifo(folder / "fifo")
    (folder / "folder").mkdir()
    (folder / "folder" / "inner").write_text("x", encoding="utf-8")
    for name, target in LINKS.items():
        (folder / name).symlink_to(target)
    sizes = {"sparse-4GiB": 4 << 30, "sparse-200MiB": 200 * MIB}
    for name, size in sizes.items():
        with (folder / name).open("wb") as file:
            file.truncate(size)
    return [folder / name for name in ("fifo", "folder", *LINKS, *sizes, "absent")]


def packed(folder: Path) -> list[Path]:
    """Small files that unpack to much: 2 GiB of nothing, of lines of a trace, of a log, of cases."""
    lines = {
        "zeros": b"\0" * 4096,
        "trace": b'1 1700000000.000001 stat("/w/a", {st_mode=S_IFREG|0644, st_size=1, ...}) = 0 <0.000010>\n' * 40,
        "opens": b'1 1700000000.000001 openat(AT_FDCWD, "/w/a", O_RDWR|O_CREAT, 0644) = 3 <0.000010>\n' * 40,
        "cases": b'{"id": "x"}\n' * 400,
        "list": b"[" * 4096,
        "log": b"1.000000001;R;5;task\n" * 200,
    }
    made = []
    for name, piece in lines.items():
        member = gzip.compress(piece * (16 * MIB // len(piece)), mtime=0)
        path = folder / f"bomb-{name}.gz"
        path.write_bytes(member * 128)
        made.append(path)
    return made


def deep(folder: Path) -> list[Path]:
    """Lists and tables that are nested far too deeply, numbers with far too many digits, lines without an end."""
    texts = {
        "lists.toml": 'title = "x"\nx = ' + "[" * DEEP + "]" * DEEP + "\n",
        "inline.toml": "x = " + "{a = " * DEEP + "1" + "}" * DEEP + "\n",
        "dotted.toml": ".".join(["a"] * DEEP) + " = 1\n",
        "head.toml": "[" + ".".join(["a"] * DEEP) + "]\n",
        "digits.toml": f"x = {'9' * 100_000}\n",
        "lists.jsonl": "[" * DEEP + "]" * DEEP + "\n",
        "objects.jsonl": '{"a":' * DEEP + "1" + "}" * DEEP + "\n",
        "digits.csv": f"operation,n,time_us\nread,{'9' * 100_000},1\nread,2,2\n",
        "line.csv": "op," * MIB,
        "line.strace": "1 1700000000.000001 " + "open(" * 300_000,
        "parts.strace": f'1 1700000000.000001 stat("/w{"/a" * 200_000}", 0x7f) = 0 <0.000010>\n',
        "brackets.sql": "SELECT " + "(" * DEEP + "1" + ")" * DEEP + ";\n",
        "semicolons.sql": "SELECT '" + ";" * 500_000,
        "trigger.sql": "CREATE TRIGGER t AFTER INSERT ON x BEGIN SELECT 1" + ";" * 500_000,
        "repeats.csv": "operation,n,time_us\n" + "".join(f"read,8,{i + 1}\n" for i in range(30_000)),
    }
    for name, text in texts.items():
        (folder / f"deep-{name}").write_text(text, encoding="utf-8")
    return [folder / f"deep-{name}" for name in texts]


def parquet(folder: Path) -> list[Path]:
    """Tables that are no recordings, and one whose few bytes are 20 million rows."""
    of = {"wrong": pa.table({"x": [1, 2]}), "none": pa.table({"op": pa.array([], pa.string())})}
    rows = 20_000_000
    numbers, words = pa.array([None] * 1, pa.int64()), pa.array(["read"], pa.string())
    same = pa.chunked_array([numbers.take(pa.array([0] * MIB))] * (rows // MIB))
    word = pa.chunked_array([words.take(pa.array([0] * MIB))] * (rows // MIB))
    columns = {field.name: word if field.type == pa.string() else same for field in schema()}
    of["bomb"] = pa.table(columns)
    for name, table in of.items():
        pq.write_table(table, folder / f"{name}.parquet", compression="zstd")
    whole = (folder / "wrong.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(whole[: len(whole) // 2] + whole[-8:])
    (folder / "foot.parquet").write_bytes(b"PAR1" + b"\xff" * 64 + b"\xff\xff\xff\x7fPAR1")
    return [folder / f"{name}.parquet" for name in ("wrong", "none", "bomb", "cut", "foot")]


def damaged(folder: Path, seeds: int) -> list[Path]:
    """Images of every format: as they are, cut off, damaged in `seeds` ways, and two formats in one file."""
    made = {}
    for name, image in images().items():
        made[f"{name}.img"] = image.content
        made[f"{name}-cut.img"] = image.content[: len(image.content) // 3 + 7]
        made |= {f"{name}-{seed}.img": image.damaged(seed) for seed in range(seeds)}
    made["mixed.img"] = images()["ubifs"].content + images()["jffs2"].content
    made["ones.img"] = b"\xff" * MIB
    made["zeros.img"] = b"\0" * MIB
    for name, content in made.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in made]


# A key that names a file, in an experiment that is otherwise good.
STEPS: dict[str, str] = {
    "replay": '[[measure]]\nstep = "replay"\nfile = "{}"\n',
    "fio": '[[measure]]\nstep = "fio"\nfile = "{}"\n',
    "postmark": '[[measure]]\nstep = "postmark"\nfile = "{}"\n',
    "load": '[[measure]]\nstep = "umount"\n[[measure]]\nstep = "load"\nimage = "{}"\n',
    "copy_in": '[[measure]]\nstep = "copy_in"\nfrom = "{}"\n',
}
STACKS = ("image", "board", "part", "kernel")
NAMED = ("fifo", "folder", "loop", "zero", "kmsg", "sparse-4GiB", "bomb-zeros.gz", "bomb-trace.gz", "deep-lists.toml")


def naming(folder: Path) -> list[Path]:
    """Experiments that name hostile files in every key that names a file."""
    made = []

    def write(name: str, stack: dict[str, str], steps: str) -> None:
        keys = {"board": "zero-overhead", "fs": "jffs2"} | stack
        lines = "".join(f'{key} = "{value}"\n' for key, value in keys.items())
        text = f'title = "x"\n[stack]\n{lines}partition_blocks = 32\n[[setup]]\nstep = "mount"\n'
        path = folder / f"names-{name}.toml"
        path.write_text(text + (steps or '[[measure]]\nstep = "sync"\n'), encoding="utf-8")
        made.append(path)

    for named in NAMED:
        for key, step in STEPS.items():
            write(f"{key}-{named}", {}, step.format(named))
        for key in STACKS:
            write(f"{key}-{named}", {key: f"./{named}"}, "")
    write("part-huge-part.toml", {"part": "./huge-part.toml"}, "")
    for key, endings in {"replay": (".strace", ".csv", ".parquet"), "fio": (".fio",), "postmark": (".pmrc",)}.items():
        for path in sorted(folder.iterdir()):
            if path.suffix in endings:
                write(f"{key}-{path.name}", {}, STEPS[key].format(path.name))
    return made


def make(folder: Path, seeds: int) -> list[Path]:
    """Makes all hostile files in an empty folder. `seeds`: damaged images of each format."""
    kept = [Path(shutil.copy(path, folder)) for path in sorted(KEPT.iterdir())]
    makers: tuple[Callable[[Path], list[Path]], ...] = (special, packed, deep, parquet)
    made = [path for maker in makers for path in maker(folder)]
    return kept + made + damaged(folder, seeds) + naming(folder)
