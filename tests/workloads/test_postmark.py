"""`ffslab postmark`: the counts that the program itself reports, its system calls, clear answers to broken files."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ffslab.answers.summary import ReadShare
from ffslab.api.experiment import Experiment
from ffslab.api.machine import Machine
from ffslab.api.run import Run
from ffslab.workloads.postmark import postmark_experiment, reports
from helpers.command import Command
from helpers.left_out import leave_out

# Command files; the program gets the same.
FILES = {
    "defaults": "run\n",
    "small-files": "set size 10 500\nset number 200\nset transactions 300\nset seed 7\nrun\n",
    "fixed-size": "set size 4096\nset number 50\nset transactions 100\nrun\n",
    "subdirectories": "set number 100\nset subdirectories 7\nset transactions 200\nrun\n",
    "locations": "set location a 3\nset location +b\nset subdirectories 2\nset number 80\nset transactions 100\nrun\n",
    "one-location": "set location a\nset number 30\nset transactions 40\nrun\n",
    "reads-only": "set number 40\nset bias read 10\nset bias create -1\nset transactions 80\nrun\n",
    "no-reads": "set number 60\nset bias read -1\nset bias create 7\nset transactions 80\nrun\n",
    "appends": "set size 100 20000\nset number 40\nset bias read 0\nset transactions 200\nrun\n",
    "blocks": "set size 1000 40000\nset number 30\nset read 3000\nset write 10000\nset transactions 60\nrun\n",
    "unbuffered": "set buffering false\nset number 50\nset transactions 80\nset read 700\nset write 1024\nrun\n",
    "terse": "set report terse\nset number 50\nset transactions 80\nrun\n",
    "two-runs": "set number 30\nset transactions 50\nrun\nset seed 9\nset size 600 700\nrun\n",
}


def program_output(folder: Path, commands: str) -> str:
    """What the program prints."""
    program = shutil.which("postmark")
    if program is None:
        leave_out("postmark is not installed; as root: apt-get install postmark")
    folder.mkdir()
    for name in ("a", "b"):
        (folder / name).mkdir()
    (folder / "commands").write_text(f"{commands}quit\n", encoding="utf-8")
    command = [program, "commands"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False, input="")
    assert "Eh?" not in ran.stdout and not ran.stderr, ran.stdout + ran.stderr
    return ran.stdout


def ran(folder: Path, commands: str) -> Run:
    (folder / "commands").write_text(commands, encoding="utf-8")
    return postmark_experiment(folder / "commands", Machine("zero-overhead", None, "yaffs2", 600)).run()


def blocks(output: str) -> list[str]:
    """The report blocks of a verbose output, without what only time decides."""
    found = []
    for block in output.split("Time:\n")[1:]:
        lines = [line for line in block.splitlines() if "seconds" not in line and not line.startswith("pm>")]
        lines = [re.sub(r" \([^()]* per second\)", "", line) for line in lines if not line.endswith("...Done")]
        found.append("\n".join(lines[: lines.index("Data:") + 3]))
    return found


@pytest.mark.parametrize("name", [name for name in FILES if name != "terse"])
def test_the_report_is_that_of_the_program(tmp_path: Path, name: str) -> None:
    expected = blocks(program_output(tmp_path / "real", FILES[name]))
    own = [
        block for done in reports(ran(tmp_path, FILES[name]).summary["variants"][0]) for block in blocks(done["report"])
    ]
    assert len(expected) == FILES[name].count("run\n")
    assert own == expected


def test_the_terse_report_has_the_fields_of_the_program(tmp_path: Path) -> None:
    expected = program_output(tmp_path / "real", FILES["terse"]).splitlines()[-1].removeprefix("pm>")
    done = reports(ran(tmp_path, FILES["terse"]).summary["variants"][0])[0]
    assert len(done["report"].split()) == len(expected.split()) == 13
    if expected.split()[:2] == done["report"].split()[:2] == ["1", "1"]:
        assert done["report"].split() == expected.split()


def test_the_system_calls_are_those_of_the_program(tmp_path: Path) -> None:
    """Sizes of reads and writes as strace sees them, buffered and not."""
    strace, program = shutil.which("strace"), shutil.which("postmark")
    if strace is None or program is None:
        leave_out("strace and postmark are not both installed; as root: apt-get install strace postmark")
    for name in ("blocks", "unbuffered", "appends"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "commands").write_text(f"{FILES[name]}quit\n", encoding="utf-8")
        command = [strace, "-o", "calls", "-y", "-e", "trace=read,write", program, "commands"]
        done = subprocess.run(command, cwd=folder, capture_output=True, timeout=300, check=False)
        if not (folder / "calls").is_file():
            leave_out(f"strace cannot trace here: {done.stderr.decode().strip()}")
        moved = {"read": 0, "write": 0}
        pattern = re.compile(r"(read|write)\(\d+<[^>]*/\d+>,.* = (\d+)$")
        for line in (folder / "calls").read_text(encoding="utf-8", errors="replace").splitlines():
            call = pattern.search(line)
            if call:
                moved[call[1]] += int(call[2])
        variant = ran(folder, FILES[name]).summary["variants"][0]
        assert moved == {"read": variant["user_read_B"], "write": variant["user_written_B"]}


def test_the_command_prints_the_block_and_what_it_cost(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "mail.pmrc").write_text(FILES["small-files"], encoding="utf-8")
    done = ffslab("postmark", "mail.pmrc", "--fs", "ubifs")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\tCreation alone: 200 files (" in done.stdout.replace("\t\t", "\t")
    assert "page programs" in done.stdout
    summary: dict[str, Any] = json.loads((tmp_path / "results/mail.pmrc/summary.json").read_text(encoding="utf-8"))
    report = summary["variants"][0]["steps"][0]["postmark"][0]
    assert report["files_created"] == report["files_deleted"] > 200
    assert "MT19937" in report["generator"]


def test_a_report_goes_where_the_run_says(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "mail").write_text("set number 20\nset transactions 20\nrun mail.out\n", encoding="utf-8")
    done = ffslab("postmark", "mail", "--board", "zero-overhead")
    assert done.returncode == 0
    assert "Creation alone" not in done.stdout
    assert "Creation alone: 20 files" in (tmp_path / "results/mail/logs/mail.out").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("set numbr 5\nrun\n", "mail:1: unknown command `set numbr 5`"),
        ("set number many\nrun\n", "mail:1: `set number` needs a number"),
        ("set number 5\n", "holds no command `run`"),
    ],
)
def test_a_broken_file_is_one_line(ffslab: Command, tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "mail").write_text(text, encoding="utf-8")
    done = ffslab("postmark", "mail")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert said in done.stderr and done.stderr.count("mail") == 1, done.stderr


def test_a_full_partition_is_told(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "mail").write_text("set size 50000 90000\nset number 100\nrun\n", encoding="utf-8")
    done = ffslab("postmark", "mail", "--board", "zero-overhead", "--partition-blocks", "20")
    assert done.returncode == 1
    assert re.search(r"operations of Postmark failed, first with ENOSPC", done.stdout)


def test_reads_are_timed_to_shares_of_each_file_and_find_it_on_flash() -> None:
    def shares(*, drop_caches: bool) -> list[ReadShare]:
        step = f'step = "postmark"\nfile = "inline"\ndrop_caches = {str(drop_caches).lower()}\ncommands = """\n'
        step += 'set size 20000 60000\nset number 20\nset bias create -1\nset transactions 40\nrun\n"""\n'
        stack = 'board = "omap3evm"\nfs = "yaffs2"\npartition_blocks = 100\nread_ahead_KiB = 128\n'
        text = f'title = "t"\n[stack]\n{stack}[[setup]]\nstep = "mount"\n[[measure]]\n{step}'
        done = reports(Experiment(text).run().summary["variants"][0])[0]
        found = done["read_shares"]
        assert [share["share_pct"] for share in found] == [25, 50, 100]
        assert found[-1]["read_B"] == done["read_B"]
        return found

    quarter, half, whole = shares(drop_caches=True)
    assert 0.25 <= quarter["read_B"] / whole["read_B"] < 0.4 < 0.5 <= half["read_B"] / whole["read_B"] < 0.65
    # What is read ahead for a quarter is most of a file.
    assert quarter["read_us"] > 0.7 * whole["read_us"]
    # Nothing is on flash alone: the program has just written all of it.
    assert shares(drop_caches=False)[-1]["read_us"] < 0.2 * whole["read_us"]
