"""`ffslab new`, `ffslab doctor`, `ffslab man`: what a newcomer meets first."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from ffslab.api.machine import LINUX_BOARD, LINUX_PART
from ffslab.cli import doctor, man
from ffslab.cli.needs import required
from ffslab.measured.reference import kit
from ffslab.workloads.begin import WORKS, board_for
from helpers.command import FFSLAB, ROOT, Command
from helpers.schemas import check
from helpers.verbs import VERBS

TRACE = ROOT / "examples" / "sqlite" / "select-random-10.strace.gz"


@pytest.mark.parametrize("work", WORKS)
def test_a_new_experiment_is_commented_and_correct(ffslab: Command, tmp_path: Path, work: str) -> None:
    more = ["--recording", TRACE] if work == "recording" else []
    made = ffslab("new", "first.toml", "--work", work, "--fs", "ubifs", "--fs", "jffs2", *more)
    assert (made.returncode, made.stderr) == (0, "")
    assert made.stdout == "first.toml: written. Next: ffslab run first.toml\n"
    text = (tmp_path / "first.toml").read_text(encoding="utf-8")
    written = tomllib.loads(text)
    assert written["axes"]["fs"] == ["ubifs", "jffs2"] and written["stack"]["partition_blocks"] == 160
    # Each command of its head has the options that it names.
    commands = re.findall(r"ffslab (\w+)(.*)", text[: text.index("title =")])
    assert len(commands) >= 3
    for verb, rest in commands:
        flags = {flag for parameter in VERBS[verb].params for flag in parameter.opts}
        assert set(re.findall(r"--[\w-]+", rest)) <= flags
    assert len(re.findall(r"^#|  # ", text, re.MULTILINE)) >= 10


def test_a_new_experiment_runs(ffslab: Command) -> None:
    assert (
        ffslab("new", "first.toml", "--work", "files", "--fs", "ubifs", "--filled", 5, "--size-MiB", 10).returncode == 0
    )
    ran = ffslab("run", "first.toml", "--json")
    assert ran.returncode == 0, ran.stderr
    assert [variant["axes"] for variant in json.loads(ran.stdout)["variants"]] == [{"fs": "ubifs"}]


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--filled", "99"], "--filled 99: must be 1 to 95"),
        (["--work", "loger"], "--work loger: must be one of logger"),
        (["--fs", "ext4"], "new.toml: [stack]: unknown fs `ext4`"),
        (["--fs", "ubifs", "--fs", "ubifs"], "--fs ubifs: is given twice"),
        (["--size-MiB", "999"], "--size-MiB 999: mt29f1g01abafd has 1024 erase blocks of 128 KiB"),
        (["--work", "recording"], "--recording: this work needs one"),
        (["--recording", "x"], "--recording: belongs to --work recording"),
        (["--board", "omap3ev"], "did you mean `omap3evm`?"),
    ],
)
def test_what_cannot_be_begun_is_one_line(ffslab: Command, tmp_path: Path, options: list[str], complaint: str) -> None:
    ran = ffslab("new", "new.toml", *options)
    assert ran.returncode == 2 and complaint in ran.stderr and ran.stderr.count("\n") == 1, ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_there_stays(ffslab: Command, small: Path) -> None:
    before = small.read_text(encoding="utf-8")
    ran = ffslab("new", small)
    assert ran.returncode == 2 and "is there already" in ran.stderr
    assert small.read_text(encoding="utf-8") == before


def typed(folder: Path, keys: bytes) -> tuple[int, str]:
    """How `ffslab new mine.toml` ends for a person who types this, and what stood on the terminal."""
    ours, theirs = pty.openpty()
    running = subprocess.Popen([FFSLAB, "new", "mine.toml"], cwd=folder, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(ours, keys)
    shown = b""
    try:
        while piece := os.read(ours, 4096):
            shown += piece
    except OSError:
        pass  # Linux says that the other end was closed.
    os.close(ours)
    return running.wait(timeout=60), shown.decode()


def test_a_person_is_asked_seven_questions(tmp_path: Path) -> None:
    status, shown = typed(tmp_path, b"files\nubifs, yaffs2\n\n\n\n12\n30\n")
    assert (status, shown.count("? [")) == (0, 7), shown
    text = (tmp_path / "mine.toml").read_text(encoding="utf-8")
    written = tomllib.loads(text)
    assert written["initial"] == "df 30 %" and written["axes"] == {"fs": ["ubifs", "yaffs2"]}
    stack = written["stack"]
    assert (stack["board"], stack["part"], stack["partition_blocks"]) == (LINUX_BOARD, LINUX_PART, 96)
    assert stack["kernel"] == "6.12"
    assert "# Assumed, as nobody said otherwise:\n#   compression: lzo of UBIFS" in text, "all else was answered"


def test_a_wrong_answer_is_asked_for_again(tmp_path: Path) -> None:
    keys = b"nothing\nlogger\next4\njffs2 jffs2\njffs2\n6.1\nw25q999\nw25n02kv\n"
    keys += b"omap3evm\nluckfox-pico-max\n6.99\n6.1\nmany\n9999\n8\n99\n40\n"
    status, shown = typed(tmp_path, keys)
    assert status == 0 and shown.count("? [") == 17, shown
    for said in (
        "nothing: must be one of logger",
        "ext4: is no file system of Linux here: jffs2",
        "jffs2: is given twice",
        "6.1: is a kernel, no part",
        "unknown profile `w25q999`",
        "; luckfox-pico-max can have it",
        "unknown profile `6.99`",
        "many: must be a whole number, 1 to 256",
        "99: must be a whole number, 1 to 95",
    ):
        assert said in shown, said
    stack = tomllib.loads((tmp_path / "mine.toml").read_text(encoding="utf-8"))["stack"]
    assert [stack[key] for key in ("part", "board", "kernel")] == ["w25n02kv", "luckfox-pico-max", "6.1"]


def test_answers_that_do_not_go_together_are_asked_for_again(tmp_path: Path) -> None:
    # UBIFS does not fit: the second time only the size is another one.
    status, shown = typed(tmp_path, b"\nubifs\n\n\n\n1\n\n" + b"\n\n\n\n\n20\n\n")
    assert status == 0 and shown.count("? [") == 14 and "ubifs on 1 MiB of mt29f1g01abafd: " in shown, shown
    assert tomllib.loads((tmp_path / "mine.toml").read_text(encoding="utf-8"))["stack"]["partition_blocks"] == 160


@pytest.mark.parametrize(
    ("part", "board"),
    [
        (LINUX_PART, LINUX_BOARD),
        ("w25n02kv", LINUX_BOARD),
        ("w25q128jv", "licheepi-nano"),
        ("w25q32jv", "imx6ul-14x14-evk"),
        ("js28f256p30", "omap3evm"),
        ("mt29f2g08abaea", "omap3evm"),
        ("micron-slc-apf27", "apf27"),
    ],
)
def test_a_board_is_proposed_that_can_have_the_part(part: str, board: str) -> None:
    assert board_for(part) == board


def test_the_file_says_what_nobody_answered(ffslab: Command, tmp_path: Path) -> None:
    assert ffslab("new", "first.toml", "--yes", "--fs", "jffs2", "--part", "w25q128jv", "--size-MiB", 8).returncode == 0
    text = (tmp_path / "first.toml").read_text(encoding="utf-8")
    head = text[: text.index("title =")]
    assert "#   work logger, board licheepi-nano, kernel 6.12, 50 % of it filled\n" in head
    assert "zlib-rtime of JFFS2" in head and "half of a record" in head
    assert "w25q128jv" not in head and "8 MiB" not in head, "these were said"


# ---- doctor -------------------------------------------------------------------------------------------------


def test_the_doctor_says_what_is_missing_for_what(
    monkeypatch: pytest.MonkeyPatch, ffslab: Command, tmp_path: Path
) -> None:
    told = ffslab("doctor", "--json")
    assert told.returncode == 0
    check("doctor", told.stdout)
    monkeypatch.setattr(kit, "program", lambda _: None)
    answer = doctor.looked()
    lacking = {row["name"]: row for row in answer["rows"] if row["found"] is None}
    assert lacking["fusermount3"]["purpose"].startswith("mount") and "fuse3" in str(lacking["fusermount3"]["install"])
    assert answer["is_well"], "no program is needed by all"
    text = doctor.text_of(answer)
    assert "fusermount3 (mount, for users who are not root): " in text


def test_the_doctor_misses_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    of = metadata.version

    def version(name: str) -> str:
        if name in ("numpy", "salib"):
            raise metadata.PackageNotFoundError
        return of(name)

    monkeypatch.setattr(metadata, "version", version)
    answer = doctor.looked()
    installs = {
        row["name"]: row["install"] for row in answer["rows"] if row["found"] is None and row["kind"] == "package"
    }
    assert installs == {"numpy": "pip install numpy", "salib": "pip install 'ffslab[studies]'"}
    assert not answer["is_well"] and "numpy" in doctor.text_of(answer)


def test_the_doctor_knows_the_packages_of_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = {re.split(r"[>=<]", line)[0].lower() for line in project["dependencies"]}
    optional = {re.split(r"[>=<]", line)[0].lower() for line in project["optional-dependencies"]["all"]}
    assert optional <= set(doctor.PURPOSES) <= names | optional
    assert {name for name, extra in required() if extra is None} >= names


# ---- manual pages -------------------------------------------------------------------------------------------


def test_each_verb_has_a_manual_page(ffslab: Command, tmp_path: Path) -> None:
    said = ffslab("man", "--out", "man1")
    written = {path.name for path in (tmp_path / "man1").iterdir()}
    assert said.stdout == f"man1: {len(written)} pages, begin with man1/ffslab.1\n"
    assert written == {"ffslab.1", *(f"ffslab-{name.replace(' ', '-')}.1" for name in VERBS)}
    for path in sorted((tmp_path / "man1").iterdir()):
        text = path.read_text(encoding="utf-8")
        assert text.startswith(".TH FFSLAB") and ".SH NAME" in text
        # A line that begins with a dot and is no request would vanish.
        requests = set(re.findall(r"^[.'](\S*)", text, re.MULTILINE))
        assert requests <= {"TH", "SH", "TP", "B", "BR", "PP", "nf", "fi"}, path.name


def test_groff_has_nothing_to_say_about_them() -> None:
    if shutil.which("groff") is None:
        pytest.skip("groff is not installed")
    pages = man.manuals()
    joined = "".join(pages.values())
    ran = subprocess.run(
        ["groff", "-man", "-ww", "-Tutf8", "-P-cbou"],
        input=joined,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert ran.stderr == ""
    assert len(pages) > 40 and ran.stdout.count("SYNOPSIS") == len(pages)


def test_the_reference_has_every_verb_and_option() -> None:
    page = man.markdown("Verbs", list(dict.fromkeys(name.split()[0] for name in VERBS)))
    for name, verb in VERBS.items():
        assert f"\n## ffslab {name} {{#" in page
        options = [parameter for parameter in verb.params if parameter.param_type_name == "option"]
        assert all(flag in page for parameter in options for flag in parameter.opts)
