"""What a beginner gets wrong, and the one line that each mistake is answered with: what, where, what would be right."""

from pathlib import Path

import pytest

from helpers.command import Command

GOOD = """\
title = "First try"
[stack]
board = "omap3evm"
fs = "jffs2"
partition_blocks = 100
[[setup]]
step = "mount"
[[measure]]
step = "create"
file = "a"
bytes = "64 KiB"
"""
LOOP = 'step = "requests"\nfile = "a"\nop = "read"\npattern = "random"\nrequest_B = 512\ncount = 3'
FILLED = 'step = "create"\nfile = "a"\nbytes = "64 KiB"'

# What is written in place of what, and the answer to `ffslab run try.toml`.
IN_FILES = {
    "a name in capitals": ('"jffs2"', '"JFFS2"', 'try.toml: [stack]: fs "JFFS2": unknown, did you mean "jffs2"?'),
    "a file system that is not here": (
        '"jffs2"',
        '"ext4"',
        "try.toml: [stack]: unknown fs `ext4`: known: jffs2, yaffs2, ubifs, squashfs, erofs",
    ),
    "a file system of the other system": (
        '"jffs2"',
        '"rfs"',
        'try.toml: [stack]: fs "rfs": Linux has none here, RTEMS has: system = "rtems"; on Linux jffs2, yaffs2, ubifs, squashfs, erofs',
    ),
    "an unknown board": (
        "omap3evm",
        "beagleboard",
        "try.toml: [stack]: unknown board `beagleboard`: `ffslab profiles ls` lists all 15, or the path of a file such "
        "as ./my-board.toml",
    ),
    "an unknown kernel": (
        "fs =",
        'kernel = "2.6.30"\nfs =',
        "try.toml: [stack]: unknown kernel `2.6.30`: it is older than 2.6.37, the oldest one whose rules are known; did you "
        "mean `2.6.37`? known: every version from 2.6.37 to 6.12, or the path of a file such as ./my-kernel.toml",
    ),
    "a misspelt key": (
        "partition_blocks",
        "partition_block",
        "try.toml:5: unknown key `partition_block`: did you mean `partition_blocks`?",
    ),
    "a key below [stack] that belongs above it": (
        "fs =",
        'initial = "df 90 %"\nfs =',
        "try.toml:4: `initial` is no key of [stack]: it stands at the top of the file, above [stack]",
    ),
    "a step by another name": (
        '"create"',
        '"write"',
        'try.toml:9: measure step 1: unknown step `write`: did you mean `create`, `append`, or `requests` with op = "write"?',
    ),
    "no such step": ('"create"', '"zzz"', "try.toml:9: measure step 1: unknown step `zzz`: `ffslab steps` lists all"),
    "a key by another name": (
        "bytes =",
        "size =",
        "try.toml:11: measure step 1 (create): unknown key `size`: known: file, bytes, request_B, content, content_file, fails",
    ),
    "a size without its unit": (
        '"64 KiB"',
        '"64k"',
        'try.toml:11: measure step 1 (create): bytes: size "64k" has no known unit: write one of B, KiB, MiB, GiB after the number',
    ),
    "a time in other words": (
        FILLED,
        'step = "sleep"\nus = "1 minute"',
        'try.toml:10: measure step 1 (sleep): us: time "1 minute" has no known unit: write one of us, ms, s, min, h after '
        "the number",
    ),
    "nothing mounted": (
        '[[setup]]\nstep = "mount"\n',
        "",
        'try.toml: measure step 1 (create "a"): ENODEV: nothing is mounted: a mount step must come before',
    ),
    "a file that nobody opened": (
        FILLED,
        LOOP,
        'try.toml: measure step 1 (requests "a"): "a" is not open (no file is): an open step must come before',
    ),
    "a file that does not fit": (
        "64 KiB",
        "1 GiB",
        'try.toml: measure step 1 (create "a"): ENOSPC after 11.7 MiB of 1024.0 MiB: the partition holds 12.5 MiB (100 blocks) '
        "with the file system's own needs; enlarge it or write less",
    ),
    "a partition that is too small": (
        'fs = "jffs2"\npartition_blocks = 100',
        'fs = "ubifs"\npartition_blocks = 10',
        "try.toml: setup step 1 (mount): there are too few LEBs for the volume: 1 needed, 0 available: of 10 erase blocks, 2 hold "
        "the volume table, 2 are kept for moving data, 6 for blocks that go bad, 0 are available; "
        "partition_blocks = 61 would do, or a smaller max_beb_per1024, which counts the whole chip",
    ),
    "nothing to measure": (
        f"[[measure]]\n{FILLED}",
        "",
        "try.toml: there is no [[measure]] step: nothing would be measured",
    ),
    "no machine": (
        '[stack]\nboard = "omap3evm"\nfs = "jffs2"\npartition_blocks = 100\n',
        "",
        "try.toml: the table [stack] is missing: it names board, fs and partition_blocks",
    ),
    "an axis of one value": (
        "64 KiB",
        '64 KiB"\n[axes]\nread_ahead_KiB = 128\n#"',
        "try.toml:13: axis `read_ahead_KiB` must be a list of values, such as [128, 0]",
    ),
    "a table instead of a list": (
        "[[measure]]",
        "[measure]",
        "try.toml:8: `measure` must be steps: [[measure]] tables with a key `step`",
    ),
    "a table for each step": (
        f"[[measure]]\n{FILLED}",
        f'[measure]\n{FILLED}\n[measure]\nstep = "sync"',
        "try.toml:12: each step begins with [[measure]], in two brackets",
    ),
    "less than nothing": (
        "= 100",
        "= -1",
        "try.toml:5: [stack] partition_blocks: invalid value: integer `-1`, expected a whole number from 0 to 4294967295",
    ),
    "a text without quotes": (
        '"create"',
        "create",
        "try.toml:9: string values must be quoted, expected literal string",
    ),
}

# Calls of the command, and the answers.
CALLS = {
    "run": "Missing argument 'EXPERIMENT.toml' (see ffslab run --help)",
    "run missing.toml": "missing.toml: cannot read the experiment: no such file or directory",
    "run .": ".: cannot read the experiment: it is a folder: name a file in it",
    "runn good.toml": "No such command 'runn'. Did you mean 'run'? (see ffslab --help)",
    "lifetme good.toml": "No such command 'lifetme'. Did you mean 'lifetime'? (see ffslab --help)",
    "run good.toml --fs jffs2,ubifs": "--fs jffs2,ubifs: is one name; several are --fs jffs2 --fs ubifs",
    "run good.toml --fs jffs2 ubifs": "--fs jffs2 ubifs: each value needs its own --fs: --fs jffs2 --fs ubifs",
    "run --kernel 5.15 6.6 good.toml": "--kernel 5.15 6.6: each value needs its own --kernel: --kernel 5.15 --kernel 6.6",
    "run good.toml --read-ahead 128 0": "--read-ahead 128 0: each value needs its own --read-ahead: --read-ahead 128 "
    "--read-ahead 0",
    "mount --fs jffs2 ubifs": "--fs jffs2 ubifs: --fs takes one value here",
    "run good.toml --kernel 5.15,6.6": "--kernel 5.15,6.6: is one name; several are --kernel 5.15 --kernel 6.6",
    "run good.toml --kernel 7.8": "--kernel 7.8: unknown kernel: it is newer than 6.12, the newest one whose rules are "
    "known; did you mean `6.12`? known: every version from 2.6.37 to 6.12, or the path of a file such as "
    "./my-kernel.toml",
    "run good.toml --part w25n01": "--part w25n01: unknown part: did you mean `w25n01gv` or `w25n02kv`? `ffslab profiles ls` "
    "lists all 52, or the path of a file such as ./my-part.toml",
    "run good.toml --part omap3evm": "--part omap3evm: is a board; `ffslab profiles ls` lists all 52",
    "run good.toml --set append.count=10": "--set append.count=10: --set is of the [stack] table, and `append` is a step: "
    'write count = 10 there, or compare values of it: [axes] with "append.count" = [10, ...]',
    "run good.toml --set seed=4": "--set seed=4: has an option of its own: --seed 4",
    "run good.toml --set stack.fs=ubifs": "--set stack.fs=ubifs: keys of [stack] stand alone here: --set fs=ubifs",
    "run good.toml --set title=x": "--set title=x: --set is of the [stack] table, and `title` stands at the top of the file",
    "run good.toml --set policy=cat": "--set policy=cat: `policy` is a table: name a key of it, as --set policy.KEY=VALUE",
    "run good.toml --seed abc": "--seed abc: must be a whole number (see ffslab run --help)",
    "run good.toml --fs": "Option '--fs' requires an argument (see ffslab run --help)",
    "lifetime good.toml --years 10y": "--years 10y: must be a number (see ffslab lifetime --help)",
    "run good": "good: cannot read the experiment: no such file or directory: did you mean good.toml?",
    "run god.toml": "god.toml: cannot read the experiment: no such file or directory: did you mean good.toml?",
    "good.toml": "no verb is called good.toml: did you mean `ffslab run good.toml`?",
    "show omap3evm": "no verb is called show: did you mean `ffslab profiles show omap3evm`, `ffslab policy show omap3evm` or "
    "`ffslab store show omap3evm`?",
    "version": "no verb is called version: did you mean `ffslab --version`?",
    "profiles omap3evm": "ffslab profiles omap3evm: no such verb: did you mean `ffslab profiles show omap3evm`? known: ls, "
    "show, new, diff",
    "policy shw greedy": "ffslab policy shw: no such verb: did you mean `ffslab policy show greedy`? known: ls, show, "
    "amplification",
    "policy show cost": "unknown policy `cost`: did you mean `cost-benefit`?",
    "fio good.toml": "good.toml: is TOML, as experiments are, which `ffslab run` runs; fio reads a job file of fio",
    "replay good.toml": "good.toml: is TOML, as experiments are, which `ffslab run` runs; replay reads a recording of strace "
    "and others (docs/traces.md)",
    "sqlite good.toml": "good.toml: is TOML, as experiments are, which `ffslab run` runs; sqlite reads a file of SQL",
    "advise good.toml": 'good.toml: there is no [question]: add [question] with per_day = 24, maximise = "years" and '
    "axes.partition_blocks = [128, 256] (docs/advise.md)",
    "ci good.toml": "good.toml: there is no [budgets]: add [budgets] with limits = "
    '["write_amplification <= 3"] (docs/budgets.md)',
    "sweep good.toml": 'good.toml: nothing varies: add a table [axes], such as fs = ["jffs2", "ubifs"]',
    "ci": "ffslab-budgets.toml: no such file of budgets (docs/budgets.md says what it holds)",
    "crashtest --new good.toml": "good.toml: is there already, and would be lost: name another file",
    "run good.toml --set compression": '--set "compression": must be KEY=VALUE or TABLE.KEY=VALUE, as compression=zlib, '
    "policy.victim=cat",
    "run good.toml --set policy.victim=costbenefit": "good.toml: [stack]: policy.victim: unknown policy `costbenefit`; there are "
    "kernel, greedy, random, fifo, lru, d-choices, windowed-greedy, cost-benefit, cat: did you mean `cost-benefit`?",
    "replay short.csv --set compresion=lzo": "replay of short.csv: unknown key `compresion`: did you mean `compression`?",
    "ageing junk.bin": "junk.bin: the experiment is not UTF-8 text (byte 0)",
    "ageing mine": "mine: cannot read the experiment: it is a folder: name a file in it",
    "ageing missing.toml": "missing.toml: no such experiment",
    "lifetime good.toml --per-day 1e30": "--per-day 1e+30: must be more than 0 and less than 1e9",
    "profiles new good.toml": "good.toml: is there already, and would be lost: name another file",
    "run good.toml --out mine": "mine: not a results folder (x): name a new or empty one with --out",
    "replay notes.txt": "expected lines of `strace -f -ttt -T`, such as `4711 1700000000.123456 close(3) = 0 <0.000010>`, "
    "found `hello`",
    "fio job.fio": "job.fio:3: ioengine=io_uring is not honoured: write sync, psync, vsync or pvsync; without it psync is "
    "taken (--lenient leaves such options out with a warning)",
    "sqlite bad.sql": 'bad.sql:1: near "selct": syntax error: selct 1',
    "inspect notes.txt": "notes.txt: nothing is known in it: no JFFS2 node, no YAFFS2 object header, no UBI header, no FAT boot "
    "sector, no RFS superblock, no superblock of littlefs, no SPIFFS magic number, no squashfs superblock, no EROFS superblock, no page of ESP-IDF's NVS, no sector of Zephyr's NVS, no sector of Zephyr's ZMS, no sector of Zephyr's FCB; it holds text; "
    "the commands file and binwalk know other formats",
    "lifetime notes.txt": "notes.txt: an image says nothing of a workload: give --workload EXPERIMENT, or --age for its past "
    "rate",
    "mount --fs ubifs nowhere": "nowhere: is not a folder: make an empty one to mount on",
    "mount stat mine": "mine: no ffslab mount of yours is here: ffslab mount makes one",
    "steps request": '"request" is neither a step nor a table of an experiment: did you mean "requests"?',
    "run good.toml --board ./my-board.toml": "good.toml: [stack]: board file ./my-board.toml: cannot be read: no such file or "
    "directory",
}


def refused(ffslab: Command, *args: object) -> str:
    """The one line with which a call is refused."""
    ran = ffslab(*args)
    assert (ran.returncode, ran.stdout) == (2, ""), ran.stdout
    assert ran.stderr.startswith("ffslab: ") and ran.stderr.count("\n") == 1, ran.stderr
    return ran.stderr.removeprefix("ffslab: ").rstrip("\n")


@pytest.mark.parametrize("mistake", IN_FILES)
def test_mistakes_in_experiments(mistake: str, ffslab: Command, tmp_path: Path) -> None:
    right, wrong, answer = IN_FILES[mistake]
    assert GOOD.count(right) >= 1
    (tmp_path / "try.toml").write_text(GOOD.replace(right, wrong, 1), encoding="utf-8")
    assert refused(ffslab, "run", "try.toml") == answer
    assert [path.name for path in tmp_path.iterdir()] == ["try.toml"], "nothing is half-written"


@pytest.mark.parametrize("call", CALLS)
def test_mistakes_in_calls(call: str, ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "notes.txt").write_text("hello\n", encoding="utf-8")
    (tmp_path / "job.fio").write_text("[a]\nrw=randwrite\nioengine=io_uring\nsize=1m\n", encoding="utf-8")
    (tmp_path / "bad.sql").write_text("selct 1;", encoding="utf-8")
    (tmp_path / "junk.bin").write_bytes(b"\xff\x00")
    (tmp_path / "short.csv").write_text("op,path\nopen,a\n", encoding="utf-8")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "x").write_text("x", encoding="utf-8")
    assert refused(ffslab, *call.split()).endswith(CALLS[call])


def test_the_file_without_a_mistake_runs(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "good.toml").write_text(GOOD, encoding="utf-8")
    assert ffslab("run", "good.toml").returncode == 0
