"""Text that others wrote is shown, and does nothing: on terminals, in JSON, in HTML."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import subprocess
import unicodedata
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ffslab.images import inspection
from ffslab.images import page as inspection_report
from ffslab.text.quoting import escape, machine_exact, one_line, plain_html, printable, quoted
from helpers.command import ROOT, SMALL, Command
from helpers.hostile_images import ACTING, jffs2_of_names
from helpers.left_out import leave_out

ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def shown_by_ls(folder: Path, names: list[bytes]) -> list[str]:
    """The names as GNU `ls` quotes them, in their order."""
    ls = shutil.which("ls")
    if ls is None or b"GNU" not in subprocess.run([ls, "--version"], capture_output=True).stdout:
        leave_out("GNU ls is missing: apt-get install coreutils")
    command: list[str | bytes] = [ls, "-d", "-U", "-1", "--quoting-style=shell-escape", "--", *names]
    ran = subprocess.run(command, cwd=folder, env={**os.environ, "LC_ALL": "C.UTF-8"}, check=True, capture_output=True)
    return ran.stdout.decode().splitlines()


def test_names_are_quoted_as_ls_does(tmp_path: Path) -> None:
    draw = random.Random(3)
    ascii_names = {bytes(draw.choices(range(1, 128), k=draw.randint(1, 6))) for _ in range(600)}
    names = ascii_names | {bytes([byte]) for byte in range(1, 128)} | {b"it's", b"it's $x", b"a'b\n", b"\xff\xfe"}
    names |= {b"a\xc3", "größer 日本".encode(), "ü'".encode()}
    # Before a quote that it escapes, ls sometimes writes an empty pair of quotes: the shell sees no difference.
    odd = {name for name in names if b"'" in name and quoted(name).startswith("'")}
    kept = sorted(name for name in names - odd if b"/" not in name and name not in (b".", b".."))
    assert len(kept) > 500
    for name in kept:
        (tmp_path / os.fsdecode(name)).touch()
    assert [quoted(name) for name in kept] == shown_by_ls(tmp_path, kept)


@pytest.mark.parametrize("name", ACTING, ids=ascii)
def test_nothing_in_a_quoted_name_acts_and_a_shell_takes_it_back(name: bytes) -> None:
    shown = quoted(name)
    assert not ACTS.search(shown)
    assert "\n" not in shown
    bash = shutil.which("bash")
    if bash is None:
        leave_out("bash is missing: apt-get install bash")
    ran = subprocess.run([bash, "-c", f"printf %s {shown}"], capture_output=True, check=True)
    assert ran.stdout == name


def test_text_keeps_its_lines_and_messages_are_one() -> None:
    assert printable("a\n\tb\x1b[2J\x85") == "a\n\tb\\033[2J\\302\\205"
    assert one_line("a\n\tb\x1b\udcff\ud800") == "a\\n\\tb\\033\\377\\355\\240\\200"


def test_json_is_exact_and_acts_on_nothing() -> None:
    values = [os.fsdecode(name) for name in ACTING] + ["\ud800"]
    shown = machine_exact(json.dumps(values, ensure_ascii=False, indent=2))
    assert json.loads(shown) == values
    assert not ACTS.search(shown)
    assert "größer" in shown
    shown.encode()  # no half of a surrogate pair is left


# ---- verbs --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An image whose names act on terminals; so does its own."""
    path = tmp_path_factory.mktemp("acting") / "\x1b[31m\nimage\u202e.jffs2"
    path.write_bytes(jffs2_of_names([*ACTING, b"x/\x1b[2J\n"]))
    return path


@pytest.mark.parametrize("verb", ["extract", "extract --json", "inspect", "inspect --json"])
def test_names_in_images_act_on_nothing(ffslab: Command, image: Path, verb: str) -> None:
    name, *options = verb.split()
    ran = ffslab(name, image, *options)
    assert ran.returncode == 1
    assert not ACTS.search(ran.stdout + ran.stderr)
    assert "[red]markup" in ran.stdout
    if options:
        json.loads(ran.stdout)
    elif name == "extract":
        # A line for the image, and one an entry: none is forged.
        assert len(ran.stdout.splitlines()) == 2 + len(ACTING)
        assert "/''$'\\033''[31mred" in ran.stdout or "'/'$'\\033''[31mred" in ran.stdout
        assert len(ran.stderr.splitlines()) == 1


BAD_NAME = "\x1b]0;x\x07\nforged\u202e"


@pytest.mark.parametrize(
    "args",
    [
        ("run", f"{BAD_NAME}.toml"),
        ("replay", BAD_NAME),
        ("fio", BAD_NAME),
        ("postmark", BAD_NAME),
        ("inspect", BAD_NAME),
        ("extract", BAD_NAME),
        ("lifetime", BAD_NAME),
        ("validate", BAD_NAME),
        ("profiles", "show", BAD_NAME),
        ("trace", "report", BAD_NAME),
        ("trace", "convert", BAD_NAME, "--out", "out.parquet"),
        ("calibrate", "--loops", BAD_NAME),
        ("trace", "compare", BAD_NAME),
        ("mount", BAD_NAME),
        ("run", "--" + BAD_NAME),
        (BAD_NAME,),
    ],
    ids=lambda args: ascii(args[0]),
)
def test_messages_are_one_line_that_acts_on_nothing(ffslab: Command, args: tuple[str, ...]) -> None:
    ran = ffslab(*args)
    assert ran.returncode == 2
    assert not ACTS.search(ran.stdout + ran.stderr)
    assert len(ran.stderr.splitlines()) == 1
    assert ran.stderr.startswith("ffslab: ")


def test_an_experiment_of_others_is_shown_literally(ffslab: Command, tmp_path: Path) -> None:
    title = "\\u001b[31m</title><script>x</script> $\\\\frac$ [red]r[/red] \\u202e"
    text = re.sub(r"^title = .*$", lambda _: f'title = "{title}"', SMALL, flags=re.MULTILINE)
    (tmp_path / "small.toml").write_text(text, encoding="utf-8")
    ran = ffslab("run", "small.toml")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert not ACTS.search(ran.stdout)
    assert "\\033[31m</title><script>x</script> $\\frac$ [red]r[/red] \\342\\200\\256" in ran.stdout
    report = (tmp_path / "results" / "small" / "report.html").read_text(encoding="utf-8")
    assert not ACTS.search(report)
    assert "x" not in scripts_of(report)
    assert json.loads((tmp_path / "results" / "small" / "summary.json").read_text())["title"] == json.loads(
        f'"{title}"'
    )


# ---- HTML ---------------------------------------------------------------------------------------------------


class Tags(HTMLParser):
    """Tags, attributes, and the text between them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.handlers: set[str] = set()
        self.text = ""
        self.scripts: list[str] = []
        self._in_script = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self._in_script = tag == "script"
        self.handlers |= {name for name, _ in attrs if name.startswith("on")}

    def handle_endtag(self, tag: str) -> None:
        self._in_script = False

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._in_script:
            self.scripts.append(data)


def scripts_of(page: str) -> list[str]:
    """The scripts of a page that has no handlers in its tags."""
    tags = Tags()
    tags.feed(page)
    assert tags.handlers == set()
    return tags.scripts


def test_the_report_on_an_image_shows_its_names_literally(image: Path) -> None:
    page = inspection_report.html(inspection.inspect_image(image))
    assert not ACTS.search(page)
    tags = Tags()
    tags.feed(page)
    assert "img" not in tags.found
    assert not any("document.title" in script for script in tags.scripts)
    assert tags.handlers == set()
    for name in ACTING:
        # Where a name stands among texts, a byte that is no UTF-8 is written as Python does.
        assert quoted("/" + name.decode("utf-8", "backslashreplace")) in tags.text
    assert "<bdi>" in page


def test_text_from_the_right_is_isolated() -> None:
    assert escape("שלום") == "<bdi>שלום</bdi>"
    assert escape("plain & größer") == "plain &amp; größer"
    assert plain_html("</title>שלום'") == "&lt;/title&gt;שלום&#x27;"
    assert unicodedata.bidirectional("ש") == "R"


# ---- one home -----------------------------------------------------------------------------------------------

PRINTS = re.compile(r"(?<![\w.])print\(|sys\.std(?:out|err)\.write|typer\.echo|from html import|html\.escape")
# The command's last word on Ctrl-C, which may come before anything could be imported, is a constant.
# So is the command's own help, which comes before anything was imported.
HOMES = {"printing.py", "quoting.py", "__main__.py", "program.py"}


def test_only_the_homes_of_quoting_print_and_escape() -> None:
    package = ROOT / "python" / "ffslab"
    found = [path.name for path in sorted(package.rglob("*.py")) if PRINTS.search(path.read_text(encoding="utf-8"))]
    assert set(found) == HOMES
    assert PRINTS.search('    print(f"ffslab: {name}")')
