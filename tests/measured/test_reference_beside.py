"""Other mounts and programs of a reference run, without a kernel: what the guest is told, and what is refused."""

from __future__ import annotations

import re

import pytest

from ffslab import InputError, validate
from ffslab.api.experiment import Experiment
from ffslab.measured.reference import beside, cases, chip, plan, run
from helpers import command
from helpers.command import ROOT

# What a mount of a distribution's kernel can choose is named.
SMALL = command.SMALL.replace('fs = "jffs2"', 'fs = "jffs2"\ncompression = "none"', 1)

MOUNTED = """
[[stack.mount]]
at = "/data"
fs = "jffs2"
partition_blocks = 20
compression = "lzo"
options = ["sync"]

[[stack.mount]]
at = "/log"
fs = "ubifs"
volume_B = "1 MiB"
compression = "none"
"""
PROGRAM = """
[[program]]
name = "logger"
background = true
[[program.steps]]
step = "append"
file = "log"
request_B = 128
count = 4
content = "text"
"""


def with_mounts(text: str = SMALL) -> str:
    """The small experiment on UBIFS, with a partition and a volume beside it."""
    ubifs = text.replace('fs = "jffs2"', 'fs = "ubifs"').replace("partition_blocks = 32", "partition_blocks = 90")
    return ubifs.replace("[[setup]]", MOUNTED + "[[setup]]", 1)


def test_other_mounts_have_partitions_and_volumes_of_their_own() -> None:
    variant = plan.variants(Experiment.from_toml(with_mounts()), "small")[0]
    lines = variant.lines(250).splitlines()
    assert [line for line in lines if " place " in line] == [
        "begin 0 place at=data fs=jffs2 mtd=1 ubi=1 volume=0 volume_B=0 max_beb_per1024=20 options=sync "
        "fs_options=compr=lzo read_ahead_KiB=0",
        "begin 0 place at=log fs=ubifs mtd=0 ubi=0 volume=0 volume_B=1048576 max_beb_per1024=20 options= "
        "fs_options=compr=none read_ahead_KiB=0",
    ]
    assert next(line for line in lines if " begin " in line).endswith("mtd=0 volume=1 phase_us=0")
    assert "parts=90,20 " in chip.parameters(variant.flash, None, variant.sizes)
    assert "--scope chip" in run.first_job([variant])


def test_a_cut_beside_other_mounts_is_one_of_all_partitions() -> None:
    """The guest puts back what each of them held, attaches UBI again, and mounts all; it was refused."""
    text = with_mounts().replace('step = "drop_caches"', 'step = "boot"', 1)
    variant = plan.variants(Experiment.from_toml(text), "small")[0]
    names = [step["step"] for step in variant.setup]
    assert names[-3:] == ["crash", "ubi_attach", "mount"]
    assert any(line.startswith("setup ") and " crash period_us=" in line for line in variant.lines(250).splitlines())


LOG = """\
# ffslab-probe 1 flashmon
1.1;M;;measure 0 open
1.2;R;128;steps;1;2048
1.6;E;7;jffs2_gcd_mtd0;1;131072
1.7;M;;joining
1.8;W;130;steps;1;2048
2.0;M;;end
# end: t_s=3 events=6 lost=0 overhead_ns_per_event=1
"""


def test_partitions_with_room_between_them_are_counted_by_block_of_the_chip() -> None:
    partitions = [(2, 3), (7, 1)]
    assert beside.parts(partitions) == ([2, 3, 2, 1], {2: 1, 7: 3})
    flash = plan.variants(Experiment.from_toml(SMALL), "small")[0].flash
    counts = cases.count(LOG.splitlines(), flash, partitions)
    assert counts.erases_per_block == [0, 0, 0, 0, 0, 1]
    # The measured steps end before the programs beside them, whose operations are those of the measurement, too.
    assert [counter["page_programs"] for counter in counts.after_step] == [0, 1]


def test_programs_are_processes_with_bytes_of_their_own() -> None:
    variant = plan.variants(Experiment.from_toml(SMALL.replace("[axes]", PROGRAM + "\n[axes]")), "small")[0]
    (line,) = (line for line in variant.lines(250).splitlines() if " program " in line)
    words = dict(word.split("=") for word in line.split()[3:])
    assert (words["name"], words["background"]) == ("logger", "true")
    text = variant.files[words["file"]].decode().splitlines()
    assert text[-1] == "program 0 append file=log request_B=128 count=4 sync=none content=text"
    assert text[-2] == "go"
    # The simulator gives the first program the seed behind that of the measured steps.
    assert any("kind=random path=/content/random.2." in line for line in text)
    assert variant.seed == 1


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('compression = "lzo"', 'compression = "lzo"\nvm = { dirty_B = 8192 }', "mount at /data: vm: a kernel has one"),
        (
            'compression = "lzo"',
            'compression = "lzo"\nsummary = false',
            "mount at /data: summary: a reference run has it",
        ),
        ('compression = "lzo"', 'compression = "size"', None),
        ('compression = "lzo"', 'compression = "zlib-rtime"', 'mount at /data: compression = "zlib-rtime": a mount of'),
        (
            'fs = "jffs2"\npartition_blocks = 20\ncompression = "lzo"',
            'fs = "yaffs2"\npartition_blocks = 20',
            'mount at /data: fs = "yaffs2": a distribution kernel has jffs2 and ubifs',
        ),
        (
            'step = "drop_caches"',
            'step = "mtd_loop"\nop = "read"\ncount = 1',
            "setup step 4: mtd_loop: not with [[stack.mount]]: it works on one partition",
        ),
        (
            'step = "drop_caches"',
            'step = "age"\nfile = "a"\noverwrites = 1.0\ndistribution = "sequential"',
            "age: not with [[stack.mount]]: its calls are written down",
        ),
    ],
)
def test_what_other_mounts_cannot_have_is_refused(old: str, new: str, says: str | None) -> None:
    text = with_mounts().replace(old, new, 1)
    if says is None:
        assert plan.variants(Experiment.from_toml(text), "small")
        return
    with pytest.raises(InputError, match=re.escape(says)):
        plan.variants(Experiment.from_toml(text), "small")


def test_the_simulation_of_measured_mounts_and_programs() -> None:
    """Of Linux 6.1: a second file system is met in every counter, programs to two operations."""
    rows = validate(ROOT / "tests" / "measured" / "beside.jsonl.gz")
    rows = rows[rows.counter.isin(["page_reads", "page_programs", "erases"])]
    off = (rows.simulated - rows.expected).abs()
    mounts = rows.id.str.contains("two|vol")
    assert set(rows.id) == {f"reference/{name}/base" for name in ("two", "vol", "prog", "progu")}
    assert off[mounts].max() == 0
    assert off[~mounts].max() <= 3
