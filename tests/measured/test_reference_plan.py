"""Reference runs without a kernel: what is refused before anything boots, and how a log becomes a case."""

from __future__ import annotations

import gzip
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from ffslab import InputError
from ffslab.api.experiment import Experiment
from ffslab.measured.reference import cases, chip, jffs2_module, lines, machine, medium, mtdram, plan, run, verb
from ffslab.measured.reference.kit import Kernel, program
from ffslab.measured.reference.progress import Progress
from helpers import command
from helpers.command import ROOT, Command
from helpers.left_out import leave_out

# What a mount of a distribution's kernel can choose is named: the default of JFFS2 is that of a kernel without LZO.
SMALL = command.SMALL.replace('fs = "jffs2"', 'fs = "jffs2"\ncompression = "none"', 1)

if TYPE_CHECKING:
    from ffslab.answers.machine import PlannedFlash

LOG = """\
# ffslab-probe 1 flashmon
0.9;M;;setup 0 mount
1.0;W;0;steps;1;2048
1.1;M;;measure 0 open
1.2;R;0;steps;1;512
1.3;W;0;steps;1;2048
1.4;W;1;kworker/0:1;1;2048
1.5;M;;measure 1 requests
1.6;E;0;jffs2_gcd_mtd0;1;131072
1.7;w;0;jffs2_gcd_mtd0;1;64
1.8;W;0;steps;1;2048
1.9;r;0;steps;1;64
2.0;M;;end
2.1;E;1;jffs2_gcd_mtd0;1;131072
# end: t_s=3 events=13 lost=0 overhead_ns_per_event=1
"""


FLASH = cast(
    "PlannedFlash",
    {"page_B": 2048, "oob_B": 64, "pages_per_block": 64, "first_block": 0, "partition_blocks": 4},
)
TIMES = {"chip_blocks": 2048, "t_read_us": 25, "t_program_us": 200, "t_erase_us": 2000, "bus_ns_per_B": 30}


def test_a_chip_says_its_geometry() -> None:
    """The fourth byte as data sheets have it: 0x95 of chips with pages of 2 KiB, 0xA6 of one with 4 KiB."""
    known = {(2048, 64, 64): 0x95, (4096, 128, 64): 0xA6, (2048, 64, 128): 0xA5, (2048, 32, 64): 0x91}
    for (page, oob, pages), byte in known.items():
        assert chip.geometry_byte({**FLASH, "page_B": page, "oob_B": oob, "pages_per_block": pages}) == byte
    for page, oob, pages in ((512, 16, 64), (2048, 112, 64), (4096, 128, 256), (8192, 256, 64)):
        assert chip.geometry_byte({**FLASH, "page_B": page, "oob_B": oob, "pages_per_block": pages}) is None


def test_nandsim_is_told_of_partitions_and_faults() -> None:
    faults = {"badblocks": [3, 7], "weakpages": ["70:0", "71"], "bitflips": 1}
    flash = cast("PlannedFlash", {**FLASH, **TIMES, "first_block": 24, "faults": faults})
    words = chip.parameters(flash).split()
    assert words[:2] == ["id_bytes=0x20,0xda,0x90,0x95", "parts=24,4"]
    assert words[-3:] == ["badblocks=3,7", "weakpages=70:0,71", "bitflips=1"]
    assert chip.mtd_of(flash) == 1
    assert chip.parameters(flash, 4).split()[-1] == "bch=4"
    small = cast("PlannedFlash", {**FLASH, **TIMES, "page_B": 512, "oob_B": 16, "pages_per_block": 32})
    assert chip.parameters(small).startswith("id_bytes=0x20,0x75,0xff,0xff parts=4 ")


NOR = """
[stack]
board = "licheepi-nano"
part = "w25q128jv"
erase_block_KiB = 4
first_block = 8
partition_blocks = 512
fs = "none"
[[measure]]
step = "mtd_loop"
op = "read"
count = 3
"""


def test_mtdram_stands_in_for_nor() -> None:
    """What memory cannot be like is said in the plan, and so in the case: no times, nothing before the partition."""
    (variant,) = plan.variants(Experiment.from_toml('title = "NOR"' + NOR), "nor")
    flash = variant.flash
    assert medium.of(flash).MODULE == "mtdram"
    assert mtdram.parameters(flash) == "total_size=2048 erase_size=4 writebuf_size=256"
    assert (flash["medium"], flash["page_B"], flash["oob_B"], flash["pages_per_block"]) == ("nor", 256, 0, 16)
    assert [flash[key] for key in ("first_block", "chip_blocks", "t_read_us", "t_erase_us")] == [0, 512, 0, 0]
    assert variant.lines(250).splitlines()[-1] == "measure 0 mtd_loop op=read count=3 first=0 page_B=256"
    assert mtdram.trouble({**flash, "partition_blocks": 1 << 20}) == (
        "the partition has 4096 MiB; the guest has room for 256 MiB of NOR"
    )


def test_the_steps_are_those_of_the_experiment() -> None:
    text = SMALL.replace('fs = "jffs2"', 'fs = "ubifs"')
    variants = plan.variants(Experiment.from_toml(text), "small")
    assert [variant.name for variant in variants] == ["read_ahead_KiB=128", "read_ahead_KiB=0"]
    lines = variants[0].lines(250).splitlines()
    assert lines[0].startswith(
        "begin 0 content kind=random path=/content/random.1.65536 stride_B=4099 modulo_B=1048576"
    )
    assert lines[1].startswith("begin 0 begin fs=ubifs hz=250 period_us=2560000 mtd=0 phase_us=0")
    assert lines[2:5] == [
        "setup 0 ubi_attach max_beb_per1024=20",
        "setup 1 ubi_make_volume",
        "setup 2 mount read_ahead_KiB=128 fs_options=compr=none",
    ]
    assert "measure 0 open file=target flags=rdwr" in lines
    assert "id_bytes=0x20,0xda" in chip.parameters(variants[0].flash)
    assert "parts=32" in chip.parameters(variants[0].flash)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('fs = "jffs2"', 'fs = "yaffs2"', 'fs = "yaffs2": a distribution kernel has jffs2 and ubifs'),
        ('step = "drop_caches"', 'step = "format"', "setup step 4: format: cannot be run on a real kernel"),
        (
            "[[setup]]",
            '[[state]]\nstep = "mount"\n[[state]]\nstep = "crash"\n[[setup]]',
            "crash: not as a step of [[state]]",
        ),
        (
            'step = "drop_caches"',
            'step = "crash"\n[stack.faults]\nweakpages = ["7"]',
            "setup step 4: crash: not with faults that count operations (weakpages)",
        ),
        (
            'bytes = "256 KiB"',
            'bytes = "17 MiB"\nrequest_B = "17 MiB"',
            "a request of a reference run has at most 16777216 B",
        ),
        (
            'fs = "jffs2"',
            'fs = "jffs2"\necc = "bch"\necc_strength_bits = 10',
            "[stack]: 68 ECC bytes and the bad block mark do not fit into an out-of-band area of 64 bytes",
        ),
        ('fs = "jffs2"', 'fs = "jffs2"\nvid_hdr_offset_B = 2048', "vid_hdr_offset_B"),
        ('fs = "jffs2"', 'fs = "none"', 'setup step 1: mount: fs = "none": there is no file system to mount'),
        (
            "[[setup]]",
            "[stack.faults]\nbadblocks = [5000]\n[[setup]]",
            "[stack]: faults: block 5000 is outside the chip, which has 2048 blocks",
        ),
    ],
)
def test_what_a_real_kernel_cannot_run_is_refused(old: str, new: str, says: str) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        plan.variants(Experiment.from_toml(SMALL.replace(old, new, 1)), "small")


def test_a_module_that_is_not_as_thought_is_not_changed() -> None:
    for module, says in ((b"", "is compiled in"), (b"no module", "is no little-endian ELF file")):
        with pytest.raises(InputError, match=says):
            jffs2_module.with_rtime_alone(module)
    signature = b"123" + bytes(8) + (3).to_bytes(4, "big") + jffs2_module.SIGNED
    assert jffs2_module.without_signature(b"module" + signature) == b"module"
    assert jffs2_module.without_signature(b"module") == b"module"


def test_a_choice_of_compressors_that_was_not_built_in_is_refused(tmp_path: Path) -> None:
    def refused(compression: str, config: str) -> str | None:
        text = SMALL.replace('compression = "none"', f'compression = "{compression}"')
        (tmp_path / "config-1").write_text(config, encoding="utf-8")
        try:
            run.check_mode(
                Kernel(tmp_path / "vmlinuz-1", tmp_path), plan.variants(Experiment.from_toml(text), "small")[0]
            )
        except InputError as error:
            return str(error)
        return None

    assert refused("priority", "CONFIG_JFFS2_CMODE_PRIORITY=y") is None
    assert refused("priority", "") is None
    assert refused("size", "CONFIG_JFFS2_CMODE_SIZE=y") is None
    for compression, built in (("size", "PRIORITY"), ("priority", "SIZE")):
        text = refused(compression, f"CONFIG_JFFS2_CMODE_{built}=y")
        assert text is not None
        assert f"the kernel must be built with CONFIG_JFFS2_CMODE_{compression.upper()}=y, but" in text


def test_a_mount_after_a_power_cut_attaches_ubi_again() -> None:
    text = SMALL.replace('fs = "jffs2"', 'fs = "ubifs"\nbulk_read = true')
    text = text.replace('step = "drop_caches"', 'step = "crash"\n[[setup]]\nstep = "mount"')
    setup = plan.variants(Experiment.from_toml(text), "small")[0].setup
    names = [step["step"] for step in setup]
    assert names[:3] == ["ubi_attach", "ubi_make_volume", "mount"]
    assert names[-3:] == ["crash", "ubi_attach", "mount"]
    assert [step["options"] for step in setup if step["step"] == "mount"] == [["bulk_read"]] * 2


def test_what_the_guest_does_to_the_chip_itself_is_not_in_the_log() -> None:
    lines = [f"{line}\n".encode() for line in LOG.splitlines()]
    paused = [b"1.55;M;;pause\n", b"1.56;R;3;steps;1;2048\n", b"1.57;M;;resume\n"]
    assert list(cases.without_pauses([*lines[:8], *paused, *lines[8:]])) == lines


def test_an_initial_state_is_made_in_the_same_boot() -> None:
    state = '[[state]]\nstep = "mount"\n[[state]]\nstep = "open"\nfile = "a"\nflags = ["wronly", "create"]\n[[setup]]'
    text = SMALL.replace("[[setup]]", state, 1).replace('fs = "jffs2"', 'fs = "ubifs"')
    steps = [step["step"] for step in plan.variants(Experiment.from_toml(text), "small")[0].setup]
    before = ["ubi_attach", "ubi_make_volume", "mount", "open", "close", "umount", "ubi_detach", "drop_caches"]
    assert steps[: len(before) + 2] == [*before, "ubi_attach", "mount"]


def test_steps_that_are_programs_are_made_call_by_call(tmp_path: Path) -> None:
    (tmp_path / "job.fio").write_text("[writes]\nrw=write\nbs=4k\nsize=8k\n", encoding="utf-8")
    path = tmp_path / "small.toml"
    path.write_text(SMALL.replace("[axes]", '[[measure]]\nstep = "fio"\nfile = "job.fio"\n[axes]'), encoding="utf-8")
    first = plan.variants(Experiment.from_file(path), "small")[0]
    lines = first.lines(250).splitlines()
    # The file is laid out at the end of the setup.
    prepare = next(line for line in lines if line.startswith("setup 4 prepare calls=/calls/"))
    measured = next(line for line in lines if line.startswith("measure 5 fio calls=/calls/"))
    calls = [first.files[line.split("calls=")[1].split()[0]].decode().splitlines() for line in (prepare, measured)]
    assert calls[0][-1] == "sync =ok"
    assert [line.split()[0] for line in calls[1] if "advise" not in line] == ["open", "pwrite", "pwrite", "close"]
    assert first.files[measured.split("data=")[1]]
    # The case names a copy of the job file.
    assert first.measure[-1]["file"] == "inputs/job.fio"
    assert first.inputs == {"job.fio": tmp_path / "job.fio"}


def test_names_may_hold_anything() -> None:
    (first, _) = plan.variants(
        Experiment.from_toml(SMALL.replace('file = "target"', 'file = "a name, 100 %"')), "small"
    )
    assert "measure 0 open file=a%20name%2C%20100%20%25 flags=rdwr" in first.lines(250).splitlines()


# Keys of a step from the command line instead of a file of steps.
CONTENT_MAIN = """
#include "steps.h"
#include <stdio.h>
#include <string.h>
static char **keys;
void fail(const char *format, ...) { puts(format); exit(1); }
const char *text(const char *name, const char *otherwise) {
    for (char **key = keys; key < keys + 10; key += 2) if (!strcmp(key[0], name)) return key[1];
    return otherwise;
}
uint64_t number(const char *name, const char *otherwise) { return strtoull(text(name, otherwise), NULL, 10); }
int main(int argc, char **argv) {
    for (keys = argv + 1; keys + 10 <= argv + argc; keys += 10)
        if (!strcmp(keys[0], "kind")) step_content();
        else fwrite(piece(number("bytes", NULL)), 1, number("bytes", NULL), stdout);
    return 0;
}
"""


def test_the_guest_takes_the_pieces_that_the_simulator_writes(tmp_path: Path) -> None:
    """By the program's own file for it, compiled for this machine. `content.rs` tests that the simulator takes them."""
    compiler = program("cc")
    if compiler is None:
        leave_out("cc is missing")
    pieces = [("random", 4096), ("mix", 100), ("text", 1 << 20), ("random", 1), ("zero", 65536), ("mix", 70_000)]
    words: list[str] = []
    sources = {kind: lines.content_of(kind, 1, 1 << 20) for kind, _ in pieces}
    (tmp_path / "photo").write_bytes(b"abcdefg")
    sources["file0"] = lines.content_of_file(tmp_path / "photo", 1 << 20)
    pieces += [("file0", 10), ("random", 5), ("file0", 3), ("file0", 1 << 20)]
    for kind, source in sources.items():
        (tmp_path / kind).write_bytes(source.data)
        words += ["kind", kind, "path", str(tmp_path / kind)]
        words += [
            "stride_B",
            str(source.stride_B),
            "modulo_B",
            str(source.modulo_B),
            "goes_on",
            str(int(source.goes_on)),
        ]
    for kind, size in pieces:
        words += ["content", kind, "bytes", str(size), *[""] * 6]
    (tmp_path / "main.c").write_text(CONTENT_MAIN, encoding="utf-8")
    files = [tmp_path / "main.c", run.STEPS / "content.c"]
    subprocess.run([compiler, "-I", run.STEPS, "-o", tmp_path / "pieces", *files], check=True)
    found = subprocess.run([tmp_path / "pieces", *words], capture_output=True, check=True).stdout
    start, expected, of_file = 0, b"", b""
    for kind, size in pieces:
        if kind == "file0":
            piece = (b"abcdefg" * (size // 7 + 2))[len(of_file) % 7 :][:size]
            of_file += piece
            expected += piece
            continue
        source = sources[kind]
        expected += source.data[start if source.stride_B else 0 :][:size]
        start = start + source.stride_B if source.stride_B else start
    assert found == expected


def test_a_boot_is_a_power_cut_and_a_mount() -> None:
    text = SMALL.replace('fs = "jffs2"', 'fs = "ubifs"').replace(
        'step = "drop_caches"', 'step = "boot"\noptions = ["ro"]'
    )
    variant = plan.variants(Experiment.from_toml(text), "small")[0]
    names = [step["step"] for step in variant.setup]
    at = names.index("crash")
    assert names[at : at + 3] == ["crash", "ubi_attach", "mount"]
    assert variant.setup[at + 2] == {"step": "mount", "options": ["ro"]}
    assert "boot" not in names


def test_software_bch_is_nandsims() -> None:
    def bits(keys: str) -> int | None:
        return plan.variants(Experiment.from_toml(SMALL.replace("[stack]", f"[stack]\n{keys}")), "small")[0].bch_bits

    assert [bits(keys) for keys in ("", 'ecc = "bch"', 'ecc = "bch"\necc_strength_bits = 8')] == [None, 4, 8]


def test_a_variant_that_fails_is_a_row(tmp_path: Path) -> None:
    (tmp_path / verb.FAILED).write_text('{"reference/a/b": "on the real kernel: mount: no"}', encoding="utf-8")
    (tmp_path / verb.CASES).write_bytes(one_case())
    assert "reference/a/b: not measured: on the real kernel: mount: no" in verb.text(tmp_path).splitlines()
    assert verb.answer(tmp_path)["not_measured"] == {"reference/a/b": "on the real kernel: mount: no"}


def one_case() -> bytes:
    """The first measured case of the kept ones."""
    with gzip.open(ROOT / "tests" / "measured" / "linux-6.1.jsonl.gz") as file:
        return file.readline()


def test_operations_are_counted_by_phase_task_and_block() -> None:
    counts = cases.count(LOG.splitlines(), FLASH)
    first, second = counts.after_step
    assert cases.plain(first, chip.COUNTERS) == dict.fromkeys(chip.COUNTERS, 0) | {
        "page_reads": 1,
        "page_programs": 2,
        "partial_page_reads": 1,
        "reprograms": 1,
    }
    # The block was erased before its page was programmed again.
    assert (second["reprograms"], second["erases"], second["oob_programs"], second["oob_reads"]) == (1, 1, 1, 1)
    assert counts.by_task["jffs2_gc_thread"] == {"erases": 1, "oob_programs": 1}
    assert counts.by_task["kworker"] == {"page_programs": 1}
    assert counts.erases_per_block == [1, 0, 0, 0]


@pytest.mark.parametrize(
    ("log", "says"),
    [(LOG.replace("lost=0", "lost=7"), "events were lost"), (LOG.rpartition("# end")[0], "has no end: it was cut off")],
)
def test_a_log_with_holes_is_no_case(log: str, says: str) -> None:
    with pytest.raises(InputError, match=says):
        cases.count(log.splitlines(), FLASH)


def test_a_step_that_fails_is_told(tmp_path: Path) -> None:
    said = tmp_path / "steps"
    said.write_text("step setup 0\nfailed setup step 1 (mount): mount: No such device\n", encoding="utf-8")
    with pytest.raises(InputError, match="on the real kernel: setup step 1"):
        cases.read_steps(said)
    said.write_text("step setup 0 first_latency=0 latencies=0\n", encoding="utf-8")
    with pytest.raises(InputError, match="cut off after 1"):
        cases.read_steps(said)


def test_the_command_refuses_bad_input_in_one_line(ffslab: Command, small: Path, tmp_path: Path) -> None:
    small.write_text(SMALL, encoding="utf-8")
    other = tmp_path / "other"
    other.mkdir()
    for arguments, says in (
        ([small], "small.toml is there 2 times"),
        (["--jobs", "0"], "--jobs"),
        (["--out", other], "is no folder of `ffslab reference run`"),
        (["--kernel-image", small], "--kernel-image and --modules belong together"),
        (["--kernel-image", small, "--modules", other], "modules.dep: no such file"),
    ):
        ran = ffslab("reference", "run", small, *arguments)
        assert (ran.returncode, len(ran.stderr.splitlines())) == (2, 1), ran.stderr
        assert says in ran.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "small.toml"]


def test_progress_names_case_and_step() -> None:
    """Two machines side by side, each with two variants."""
    experiments = [plan.variants(Experiment.from_toml(SMALL), name) for name in ("first", "second")]
    setup, measure = experiments[0][0].setup, experiments[0][0].measure
    steps = len(setup) + len(measure)
    shown: list[tuple[float, str]] = []
    progress = Progress(experiments, lambda share, what: shown.append((share, what)))
    lines = ["begin 0 begin"]
    for phase, of_phase in (("setup", setup), ("measure", measure)):
        lines += [f"{phase} {index} {step['step']}" for index, step in enumerate(of_phase)]
    for line in ("variant 0", *lines, "variant 1", *lines, "end"):
        for number in range(2):
            progress.take(number, line)
    assert shown[0] == (0.0, "boot")
    texts = [text for _, text in shown]
    assert texts[5] == f"first/read_ahead_KiB=128: setup, step 1 of {steps}: mount"
    assert f"second/read_ahead_KiB=0: measure, step {steps} of {steps}: sync" in texts
    shares = [share for share, _ in shown]
    assert shares == sorted(shares)
    assert shares[5] == pytest.approx(2 / 6)
    assert shares[-1] == 1


def test_each_of_several_steps_with_requests_has_its_own_facts() -> None:
    """The first one's stand in the case as in others that were measured."""
    variant = plan.variants(Experiment.from_toml(SMALL), "small")[0]
    steps = [cases.StepDone("measure", i, {"from_ns": "0", "to_ns": str(i)}) for i in range(len(variant.measure))]
    for index, done in ((1, 20), (2, 600)):
        steps[index].values |= {"requests_done": str(done), "bytes_accepted": str(done * 4096), "elapsed_ns": "9"}
        steps[index].latencies_us = [1.0]
    log = "".join(f"1.{index};M;;measure {index} step\n" for index in range(len(steps)))
    log += "2.0;M;;end\n# end: t_s=3 events=1 lost=0 overhead_ns_per_event=1\n"
    case = cases.case(variant, {}, log.splitlines(), steps)
    expect, measured = cast("dict[str, Any]", case["expect"]), cast("dict[str, Any]", case["measured"])
    assert expect["requests_done"] == 20
    assert [row.get("requests_done") for row in expect["after_step"]] == [None, 20, 600, None, None]
    assert set(measured["latency_us"]) == {"requests", "requests 2"}


def test_further_boots_begin_later_and_draw_other_numbers() -> None:
    first, third = run.first_job([], 0), run.first_job([], 2)
    assert "usleep" not in first
    assert "usleep 7407406\necho 20 > /proc/sys/vm/compaction_proactiveness || true\n" in third
    assert machine.icount(250)[-2:] == ["-seed", "1"]
    assert machine.icount(250, 2)[-2:] == ["-seed", "3"]


def test_a_case_says_what_other_boots_counted() -> None:
    other = {
        "system": {"fs": "jffs2", "uptime_us": 15.5, "wall_clock_us": 2},
        "expect": {"page_reads": 3, "reprograms": 0, "by_task": {}, "files": 4},
    }
    assert cases.boot(other) == {"uptime_us": 15.5, "wall_clock_us": 2, "page_reads": 3, "reprograms": 0}
