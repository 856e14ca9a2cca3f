"""How much the command says beside its answer: progress bars, remarks, colours; how shells complete what is typed."""

from __future__ import annotations

import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ffslab.cli.completion import Shell
from helpers.command import FFSLAB, Command
from helpers.left_out import leave_out

JOB = "[j]\nioengine=libaio\ndirect=1\nrate=1m\nrw=write\nsize=64k\n"
COLOUR = re.compile(r"\x1b\[[\d;]*3\d")


@pytest.fixture
def ffslab(started: Command) -> Command:
    """Here it is started, as a shell does it."""
    return started


def on_a_terminal(*args: str | Path, cwd: Path, **env: str) -> tuple[int, str]:
    """Runs the command with a terminal for its standard error; the exit code and what the terminal got."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "100", "FFSLAB_STATES": "", **env}
    running = subprocess.Popen(
        [FFSLAB, *args], cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs
    )
    os.close(theirs)
    shown = b""
    try:
        while piece := os.read(ours, 4096):
            shown += piece
    except OSError:
        pass  # Linux says that the other end was closed.
    os.close(ours)
    return running.wait(timeout=60), shown.decode()


def test_the_bar_is_for_people_and_not_with_quiet(small: Path, tmp_path: Path) -> None:
    code, shown = on_a_terminal("run", small, cwd=tmp_path)
    assert code == 0 and "small" in shown and COLOUR.search(shown)
    assert on_a_terminal("run", small, "--quiet", cwd=tmp_path) == (0, "")


def test_no_color_leaves_colours_out(small: Path, tmp_path: Path) -> None:
    code, shown = on_a_terminal("run", small, cwd=tmp_path, NO_COLOR="1")
    assert code == 0 and "small" in shown and not COLOUR.search(shown)


def test_quiet_leaves_remarks_out_and_no_errors(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "job.fio").write_text(JOB)
    usual, quiet = (ffslab("fio", "job.fio", "--lenient", *more) for more in ((), ("-q",)))
    assert usual.returncode == quiet.returncode == 0
    assert usual.stderr.startswith("ffslab: warning: ") and quiet.stderr == ""
    assert usual.stdout == quiet.stdout
    wrong = ffslab("fio", "job.fio", "-q")
    assert (wrong.returncode, wrong.stderr.count("\n")) == (2, 1)


def test_verbose_tells_what_was_done(ffslab: Command, small: Path) -> None:
    usual, verbose = (ffslab("run", small, *more) for more in ((), ("--verbose",)))
    assert usual.stdout == verbose.stdout and usual.stderr == ""
    assert re.fullmatch(
        r"ffslab: version \S+, Python \S+, .*\nffslab: results: /.*/results/small\n"
        r"ffslab: took [\d.]+ s, [\d.]+ s of CPU with the start, at most \d+ MiB of memory\n",
        verbose.stderr,
    )
    both = ffslab("run", small, "-q", "-v")
    assert (both.returncode, both.stderr) == (2, "ffslab: --quiet and --verbose: ask for one of them\n")


def test_help_of_the_command_loads_no_package() -> None:
    """What takes long at start-up is importing; a time would depend on the machine."""
    code = (
        "import sys; sys.argv = ['ffslab', '--help']\n"
        "from ffslab.cli.program import main; main()\n"
        "print([name for name in ('typer', 'rich', 'msgspec', 'ffslab._native') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


def test_a_verb_loads_the_modules_of_no_other() -> None:
    code = (
        "import sys; sys.argv = ['ffslab', 'policy', 'show', 'greedy']\n"
        "from ffslab.cli.program import main; main()\n"
        "print(sorted(name for name in sys.modules if name.startswith('ffslab.cli.') and name.endswith('_verbs')))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "['ffslab.cli.policy_verbs']"


# What a shell does with the script: what it offers for `ffslab prof`, `ffslab fio --len`.
COMPLETE = {
    Shell.BASH: (
        'source ./script; COMP_WORDS=({words}); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 )); COMP_LINE="{words}"; '
        "COMP_POINT=${{#COMP_LINE}}; $(complete -p ffslab | sed 's/.*-F \\([^ ]*\\).*/\\1/') ffslab; "
        'printf "%s\\n" "${{COMPREPLY[@]}}"'
    ),
    Shell.ZSH: (
        # The script hands its answer to `_arguments`, which stands in for the shell's own here.
        "compdef() {{ :; }}; _describe() {{ print -l -- $commands }}; _arguments() {{ print -l -- $@ }}; "
        "source ./script; words=({words}); CURRENT=$#words; _ffslab_completion"
    ),
    Shell.FISH: "source ./script; complete --do-complete '{words}'",
}


@pytest.mark.parametrize("shell", Shell)
def test_shells_complete_verbs_and_options(shell: Shell, tmp_path: Path) -> None:
    if shutil.which(shell.value) is None:
        leave_out(f"{shell.value} is not installed")
    path = f"{FFSLAB.parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HOME": str(tmp_path)}
    script = subprocess.run([FFSLAB, "--show-completion", shell.value], capture_output=True, text=True, check=True)
    (tmp_path / "script").write_text(script.stdout)
    for words, offered in (("ffslab prof", "profiles"), ("ffslab fio --len", "--lenient")):
        command = [shell.value, "-c", COMPLETE[shell].format(words=words)]
        ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert offered in ran.stdout and "replay" not in ran.stdout, (ran.stdout, ran.stderr)
