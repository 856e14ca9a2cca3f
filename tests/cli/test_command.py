"""What the command promises: results, exit codes, help, pipes, interrupts.

Where the process matters, or that two of them do the same, it is started as a shell does it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from ffslab.text.time_table import spent
from helpers.command import FFSLAB, SMALL, Command
from helpers.verbs import VERBS

FILES = {
    "resolved.toml",
    "summary.json",
    "requests.parquet",
    "blocks.parquet",
    "variants.parquet",
    "variants.csv",
    "report.html",
}


def test_run_prints_the_variants_side_by_side(started: Command, small: Path) -> None:
    ran = started("run", small)
    assert (ran.returncode, ran.stderr) == (0, "")
    machine, head = ran.stdout.splitlines()[2], ran.stdout.splitlines()[4]
    assert machine.startswith("board zero-overhead; part micron-slc-omap3evm; ")
    assert head.split() == ["read_ahead_KiB=128", "read_ahead_KiB=0", "change"]
    assert "page reads" in ran.stdout
    assert ran.stdout.rstrip().endswith("Report: results/small/report.html")


def test_the_results_folder_is_complete(small_results: Path) -> None:
    assert {path.name for path in small_results.iterdir()} == FILES
    assert [path.name for path in small_results.parent.iterdir()] == ["small"]


def test_the_tables_and_the_summary_agree(small_results: Path, small_summary: dict[str, Any]) -> None:
    requests = pq.read_table(small_results / "requests.parquet").to_pandas()
    blocks = pq.read_table(small_results / "blocks.parquet").to_pandas()
    for variant in small_summary["variants"]:
        own = requests[requests["variant"] == variant["name"]]
        assert len(own) == variant["latency_us"]["n"] >= 620
        assert own["latency_us"].sum() == pytest.approx(variant["latency_us"]["sum"])
        own_blocks = blocks[blocks["variant"] == variant["name"]]
        assert len(own_blocks) == 32
        assert own_blocks["erases_main"].sum() == variant["totals"]["erases"] > 0
        for counter in ("page_reads", "page_programs", "erases", "busy_us"):
            by_cause = sum(cause[counter] for cause in variant["by_cause"])
            assert by_cause == pytest.approx(variant["totals"][counter]), counter
        assert sum(spent(variant).values()) == pytest.approx(variant["time_us"], abs=1e-3)


def test_the_same_experiment_gives_the_same_bytes(started: Command, small: Path, tmp_path: Path) -> None:
    def hashes(folder: Path) -> dict[str, str]:
        return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}

    assert started("run", small, "--out", "first").returncode == 0
    assert started("run", small, "--out", "second").returncode == 0
    assert hashes(tmp_path / "first") == hashes(tmp_path / "second")


def test_the_resolved_experiment_gives_the_same_results(ffslab: Command, small_results: Path) -> None:
    ran = ffslab("run", small_results / "resolved.toml", "--out", "again", "--json")
    assert ran.returncode == 0, ran.stderr
    again = json.loads(ran.stdout)
    before = json.loads((small_results / "summary.json").read_text(encoding="utf-8"))
    for old, new in zip(before["variants"], again["variants"], strict=True):
        assert (old["totals"], old["latency_us"]) == (new["totals"], new["latency_us"])


def test_earlier_results_are_replaced(ffslab: Command, small: Path, tmp_path: Path) -> None:
    assert ffslab("run", small).returncode == 0
    small.write_text(SMALL.replace("Small", "Changed"), encoding="utf-8")
    assert ffslab("run", small).returncode == 0
    assert "Changed" in (tmp_path / "results/small/summary.json").read_text(encoding="utf-8")
    assert {path.name for path in (tmp_path / "results/small").iterdir()} == FILES


def test_json_is_the_summary_file(ffslab: Command, small: Path, tmp_path: Path) -> None:
    ran = ffslab("run", small, "--json")
    assert ran.stdout == (tmp_path / "results/small/summary.json").read_text(encoding="utf-8")


def test_the_report_needs_no_other_file(small_results: Path) -> None:
    report = (small_results / "report.html").read_text(encoding="utf-8")
    assert report.count("<figure") >= 4
    for section in (
        "What this means",
        "Latency over time",
        "Distribution of latency",
        "Flash operations by cause",
        "Where the time went",
        "Erase blocks",
    ):
        assert f"<h2>{section}</h2>" in report
    # One link is an empty icon, so that no browser asks a server for one; another names a place in the page, up to
    # which a browser reads before it draws.
    report = report.replace('<link rel="icon" href="data:,">', "")
    report = report.replace('<link rel="expect" href="#all-read" blocking="render">', "")
    assert "src=" not in report and "<link" not in report and "@import" not in report
    # Were there something, a browser would refuse it.
    assert "default-src 'none'" in report


@pytest.mark.parametrize("name", sorted(VERBS))
def test_every_verb_has_help_with_an_example(ffslab: Command, name: str) -> None:
    ran = ffslab(*name.split(), "--help")
    assert (ran.returncode, ran.stderr) == (0, "")
    printed = " ".join(ran.stdout.split())
    assert " ".join(str(VERBS[name].help).split()) in printed
    example = str(VERBS[name].epilog)
    assert example.startswith(f"Example: ffslab {name.split()[0]}")
    assert printed.endswith(" ".join(example.split()))


def test_every_option_of_a_verb_says_what_it_is() -> None:
    assert len(VERBS) > 25
    for name, declared in VERBS.items():
        for parameter in declared.params:
            assert getattr(parameter, "help", None), (name, parameter.name)


def test_help_names_arguments_without_types(ffslab: Command) -> None:
    assert ffslab("run", "--help").stdout.startswith("Usage: ffslab run [OPTIONS] EXPERIMENT.toml...\n")
    assert "\n  EXPERIMENT.toml...  Experiment files" in ffslab("run", "--help").stdout
    assert ffslab("extract", "--help").stdout.startswith("Usage: ffslab extract [OPTIONS] IMAGE [DIR]\n")
    assert "[OPTIONS] MOUNTPOINT [-- COMMAND...]\n" in ffslab("mount", "--help").stdout


def test_help_does_not_wait_for_the_large_packages() -> None:
    """What takes long at start-up is importing; a time would depend on the machine."""
    slow = ("pandas", "matplotlib", "pyarrow", "numpy")
    code = f"import sys, ffslab.cli.main; print([m for m in {slow} if m in sys.modules])"
    python = FFSLAB.with_name("python")
    ran = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_version_schema_and_profiles_answer(ffslab: Command) -> None:
    assert ffslab("--version").stdout.startswith("ffslab ")
    assert "partition_blocks" in json.dumps(json.loads(ffslab("schema").stdout))
    assert "omap3evm" in ffslab("profiles").stdout
    assert {"kind", "name", "title"} <= json.loads(ffslab("profiles", "ls", "--json").stdout)[0].keys()
    shown = json.loads(ffslab("profiles", "show", "omap3evm", "--json").stdout)
    assert all(value["source"] and value["status"] for value in shown["values"])
    text = ffslab("profiles", "show", "omap3evm").stdout
    assert "published" in text
    assert re.search(r"^cpu.buffer_flush_us +42\.11 +us +measured +\[1\]$", text, re.MULTILINE)
    assert re.search(r"^driver.read_cpu_uJ +34\.6 +uJ +published +\[4\], above idle$", text, re.MULTILINE)
    # A source of several values is printed once.
    assert text.count("calibrated from durations of system calls") == 1
    every = {value["source"] for value in shown["values"]}
    assert all(
        source in text
        for source in every
        if not any(source.startswith(f"{of}, ") for of in every) and ";" not in source
    )


def test_two_profiles_are_told_apart(ffslab: Command) -> None:
    found = json.loads(ffslab("profiles", "diff", "2.6.37", "6.1", "--json").stdout)
    sides = {pair["key"]: (pair["before"], pair["after"]) for pair in found["differences"]}
    # A rule that one of the kernels does not have stands on one side alone.
    keys = {key: (before and before["value"], after and after["value"]) for key, (before, after) in sides.items()}
    assert keys["read_ahead_KiB"] == (128, 0)
    assert "timer_slack_us" not in keys
    every = len(json.loads(ffslab("profiles", "show", "6.1", "--json").stdout)["values"])
    of_6_1 = [after for _, after in sides.values() if after]
    assert found["same"] + len(of_6_1) == every
    text = ffslab("profiles", "diff", "2.6.37", "6.1").stdout
    assert "read_ahead_KiB, 6.1: drivers/mtd/mtdcore.c" in text
    assert "0 of" in ffslab("profiles", "diff", "6.1", "6.1").stdout
    refused = ffslab("profiles", "diff", "6.1", "omap3evm")
    assert (refused.returncode, len(refused.stderr.splitlines())) == (2, 1)
    assert "6.1 is a kernel, omap3evm a board" in refused.stderr


def test_no_colour_and_no_progress_in_pipes(started: Command, small: Path) -> None:
    for env in ({}, {"NO_COLOR": "1"}):
        ran = started("run", small, **env)
        assert "\x1b" not in ran.stdout + ran.stderr
        assert ran.stderr == ""


def test_a_closed_pipe_is_quiet() -> None:
    ran = subprocess.run(
        ["bash", "-c", 'set -o pipefail; for i in 1 2 3; do "$0" schema; done | head -c 10', str(FFSLAB)],
        capture_output=True,
        text=True,
        check=False,
    )
    # As of a program that SIGPIPE ends: `pipefail` sees that the answer, which may be a negative one, was not read.
    assert (ran.returncode, ran.stderr) == (141, "")


def test_an_interrupt_ends_a_run_and_leaves_nothing(tmp_path: Path) -> None:
    endless = SMALL.replace("count = 600", "count = 4000000")
    (tmp_path / "endless.toml").write_text(endless, encoding="utf-8")
    running = subprocess.Popen(
        [FFSLAB, "run", "endless.toml"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Test runners in the background start their children with the signal ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    time.sleep(2)
    assert running.poll() is None, running.communicate()
    os.kill(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (130, "", "ffslab: interrupted\n")
    assert [path.name for path in tmp_path.iterdir()] == ["endless.toml"]


def test_interrupts_end_the_processes_that_make_runs(tmp_path: Path) -> None:
    """Twice at once, as `timeout` sends it to a process and its group; the workers here do not get it."""
    running = subprocess.Popen(
        [FFSLAB, "reproduce", "wear-gc", "--jobs", "2"],
        cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children")
    deadline_s = time.monotonic() + 30
    workers: list[str] = []
    # Beside them is the resource tracker of Python's own; a process that is just being started has no command line yet.
    while len(workers) < 2 and time.monotonic() < deadline_s:
        time.sleep(0.1)
        workers = [child for child in children.read_text(encoding="utf-8").split() if makes_runs(child)]
    time.sleep(1)
    os.kill(running.pid, signal.SIGINT)
    os.kill(running.pid, signal.SIGINT)
    try:
        out, err = running.communicate(timeout=20)
    finally:
        running.kill()
    assert (running.returncode, out, err) == (130, "", "ffslab: interrupted\n")
    time.sleep(1)
    assert (len(workers), [worker for worker in workers if makes_runs(worker)]) == (2, [])


def makes_runs(process: str) -> bool:
    """Of a process that is no more the command line is empty, if there is any."""
    line = Path(f"/proc/{process}/cmdline")
    return line.exists() and b"spawn_main" in line.read_bytes()


def test_an_interrupt_while_modules_load_is_one_line() -> None:
    """Python's own start is not ours; from the first import on it is."""
    code = (
        "import sys\n"
        "class Slow:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name == 'ffslab.cli.program': raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Slow())\n"
        "from ffslab.__main__ import main\n"
        "main()\n"
    )
    ran = subprocess.run([FFSLAB.with_name("python"), "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (130, "", "ffslab: interrupted\n")


def test_a_group_without_a_verb_lists_or_shows_its_help(ffslab: Command) -> None:
    for name, declared in VERBS.items():
        if hasattr(declared, "resolve_command"):
            lists = "ls" in getattr(declared, "commands", {})
            assert ffslab(name).stdout == ffslab(name, "ls" if lists else "--help").stdout, name


def test_help_shows_defaults(ffslab: Command) -> None:
    text = " ".join(ffslab("replay", "--help").stdout.split())
    for default in ("luckfox", "jffs2", "400", "keep"):
        assert f"[default: {default}" in text


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_shown_and_installed_without_a_shell(tmp_path: Path, shell: str) -> None:
    """As a service or a container calls it: no shell is above it, nothing says which one it could be."""
    bare = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}

    def said(*arguments: str, **further: str) -> str:
        ran = subprocess.run(
            [FFSLAB, *arguments], env=bare | further, capture_output=True, text=True, check=True, start_new_session=True
        )
        return ran.stdout

    script = said("--show-completion", shell)
    assert "_FFSLAB_COMPLETE" in script and f"complete_{shell}" in script
    assert said("--show-completion", SHELL=f"/bin/{shell}") == script
    said("--install-completion", shell)
    assert any(script.strip() in path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    if shell == "bash":
        answer = said(_FFSLAB_COMPLETE="complete_bash", COMP_WORDS="ffslab repl", COMP_CWORD="1")
        assert answer.split() == ["replay"]


def test_completion_needs_a_known_shell(started: Command) -> None:
    ran = started("--show-completion", "tcsh")
    assert (ran.returncode, "tcsh" in ran.stderr, "bash" in ran.stderr) == (2, True, True)
