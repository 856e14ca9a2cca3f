"""Names of verbs and options: one style, old ones that say what they are now, help wherever it is asked for."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from ffslab.cli import index, renamed, root
from helpers.command import Command
from helpers.inspect_images import simulated
from helpers.verbs import VERBS


def test_the_first_screen_is_one_and_begins_with_what_a_newcomer_needs(ffslab: Command) -> None:
    screen = ffslab("--help").stdout
    lines = screen.splitlines()
    assert len(lines) <= 42 and max(map(len, lines)) <= 80
    assert screen.index("  new ") < screen.index("  run ") < screen.index("  lifetime ")
    assert ffslab().stdout == ffslab("-h").stdout == ffslab("help").stdout == screen
    more = ffslab("help", "more").stdout
    for name in index.SECTIONS[index.MORE]:
        assert f"\n  {name} " in more and f"\n  {name} " not in screen and name in screen
    assert "130 interrupted" in more and "--version" in more


@pytest.mark.parametrize("name", VERBS)
def test_help_is_the_same_however_it_is_asked_for(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for words in ([*name.split(), "--help"], [*name.split(), "-h"], ["help", *name.split()]):
        assert root.run(words) == 0
        said.append(capsys.readouterr().out)
    assert said[0].startswith(f"Usage: ffslab {name} ") and said == said[:1] * 3


def test_no_verb_lists_under_another_name_than_ls() -> None:
    words = {name.split()[-1] for name in VERBS if " " in name}
    assert "ls" in words and not words & {"list", "print", "info", "get", "view", "delete", "remove"}


@pytest.mark.parametrize("old", renamed.VERBS)
def test_an_old_verb_works_and_says_what_it_is_now(old: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    new = renamed.VERBS[old]
    assert " ".join(new) in VERBS and " ".join(old) not in VERBS
    assert root.run([*new, "--help"]) == 0
    wanted = capsys.readouterr()
    assert root.run([*old, "--help"]) == 0
    said = capsys.readouterr()
    assert said.out == wanted.out
    assert said.err == f"ffslab: {' '.join(old)} is now {' '.join(new)}; the old name goes with the next version\n"


def test_an_old_option_works_and_says_what_it_is_now(ffslab: Command, small: Path, tmp_path: Path) -> None:
    assert not set(renamed.OPTIONS) & {flag for verb in VERBS.values() for each in verb.params for flag in each.opts}
    for out in ("a", "b"):
        assert ffslab("run", small, "--out", out).returncode == 0
    new = ffslab("diff", "a", "b", "--out", "new.html")
    for old in (["--report", "old.html"], ["--report=old.html"]):
        ran = ffslab("diff", "a", "b", *old)
        assert ran.stderr == "ffslab: --report is now --out; the old name goes with the next version\n"
        assert ran.stdout == new.stdout.replace("new.html", "old.html")
        assert (tmp_path / "old.html").read_bytes() == (tmp_path / "new.html").read_bytes()
        (tmp_path / "old.html").unlink()


def test_a_file_to_write_may_stand_last_for_now(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "calls.csv").write_text("op,file,offset_B,size_B,start_us\nwrite,a,0,10,0\n", encoding="utf-8")
    new = ffslab("trace", "convert", "calls.csv", "--out", "new.csv")
    old = ffslab("trace", "convert", "calls.csv", "old.csv")
    assert (new.returncode, new.stderr, old.returncode) == (0, "", 0)
    assert old.stderr.startswith("ffslab: trace convert ... old.csv is now trace convert ... --out old.csv; ")
    assert (tmp_path / "new.csv").read_bytes() == (tmp_path / "old.csv").read_bytes()
    both = ffslab("trace", "convert", "calls.csv", "old.csv", "--out", "new.csv")
    assert (both.returncode, "is named twice" in both.stderr) == (2, True)
    assert "--out FILE names the file" in ffslab("trace", "convert", "calls.csv").stderr


@pytest.mark.parametrize(
    ("flags", "key"),
    [
        (["--kernel", "5.15", "--kernel", "6.6"], "kernel"),
        (["--board", "omap3evm", "--board", "zero-overhead"], "board"),
        (["--part", "w29n02gv", "--part", "mt29f2g08aac"], "part"),
        (["--blocks", "32", "--partition-blocks", "48"], "partition_blocks"),
        (["--set", "compression=none", "--set", "compression=zlib"], "compression"),
    ],
)
def test_what_is_given_several_times_is_compared(ffslab: Command, small: Path, flags: list[str], key: str) -> None:
    ran = ffslab("run", small, "--read-ahead", "0", *flags, "--json")
    assert ran.returncode == 0, ran.stderr
    found = [variant["axes"][key] for variant in json.loads(ran.stdout)["variants"]]
    values = [word.rpartition("=")[2] for word in flags[1::2]]
    assert [str(value) for value in found] == values
    again = ffslab("run", small, *flags[:2], *flags[:2])
    assert (again.returncode, "is given twice" in again.stderr) == (2, True)


def test_block_devices_are_compared(ffslab: Command, tmp_path: Path) -> None:
    text = (
        'title = "t"\n[stack]\nsystem = "rtems"\nfs = "dosfs"\ndevice_KiB = 4096\n[[setup]]\nstep = "mount"\n'
        '[[measure]]\nstep = "create"\nfile = "a"\nbytes = "64 KiB"\n'
    )
    (tmp_path / "t.toml").write_text(text, encoding="utf-8")
    ran = ffslab("run", "t.toml", "--device", "sd-card", "--device", "usb-stick", "--json")
    assert ran.returncode == 0, ran.stderr
    assert [each["axes"] for each in json.loads(ran.stdout)["variants"]] == [
        {"device": "sd-card"},
        {"device": "usb-stick"},
    ]


def test_what_is_lost_is_recovered_into_a_folder_with_the_name_of_the_image(ffslab: Command, tmp_path: Path) -> None:
    (tmp_path / "dump.bin").write_bytes(simulated(tmp_path / "made", "jffs2", 24)["raw.bin"])
    for call in (["dump.bin", "--recover"], ["--recover", "dump.bin"], ["dump.bin", "--recover", "--json"]):
        ran = ffslab("inspect", *call)
        assert ran.returncode == 0, ran.stderr
        assert "dump-recovered: what was recovered" in ran.stderr
        assert (tmp_path / "dump-recovered" / "recovered.json").exists()
        shutil.rmtree(tmp_path / "dump-recovered")
    named = ffslab("inspect", "dump.bin", "--recover", "lost")
    assert named.returncode == 0 and (tmp_path / "lost" / "recovered.json").exists()
    (tmp_path / "dump-recovered").mkdir()
    (tmp_path / "dump-recovered" / "mine").write_text("mine", encoding="utf-8")
    kept = ffslab("inspect", "dump.bin", "--recover")
    assert (kept.returncode, kept.stdout) == (2, "") and "dump-recovered: holds files already" in kept.stderr
    assert [path.name for path in (tmp_path / "dump-recovered").iterdir()] == ["mine"]
