"""The code base checks itself: units in names, sizes of files, sources of constants, nothing of the machine.

Each check is a function from text to a list of complaints. It is applied to the repository, and to a bad example
which it must refuse: a check that cannot fail is no check.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from helpers.command import ROOT

_CODE = ("crates", "python", "probe", "tests", "tools", "benches", "fuzz", ".ci")
FOLDERS = (*_CODE, "profiles", "experiments", "examples", "docs", "campaign")
SOURCE_LINES_MAX = 500

# ---- what the repository holds ------------------------------------------------------------------------------


def repository_files(*suffixes: str) -> Iterator[Path]:
    """The repository's own files with one of these suffixes; nothing that was built."""
    built = {"target", "corpus", "artifacts", "__pycache__"}
    # In a further work tree .git is a file.
    top = [path for path in ROOT.iterdir() if path.is_file() and path.name != ".git"]
    for path in sorted(top + [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]):
        if path.suffix in suffixes and not built.intersection(path.relative_to(ROOT).parts):
            yield path


def complaints_about(check: Callable[[str], list[str]], paths: Iterator[Path]) -> list[str]:
    return [f"{path.relative_to(ROOT)}: {text}" for path in paths for text in check(path.read_text(encoding="utf-8"))]


# ---- units --------------------------------------------------------------------------------------------------

NUMBER = re.compile(r"\b(?:[ui](?:8|16|32|64|128|size)|f32|f64)\b")
STRUCT = re.compile(r"^pub struct (\w+)[^;{]*\{\n(.*?)^\}", re.MULTILINE | re.DOTALL)
FIELD = re.compile(r"^    pub (\w+): (.+?),?(?:\s*//.*)?$", re.MULTILINE)
# A name ends in its unit, or in a rate whose denominator is a unit.
UNIT = re.compile(
    r"(?:^|_)(?:ps|ns|us|ms|s|seconds|nanoseconds|hz|bytes|B|KiB|MiB|kib|mib|bits|uj|uJ|mW|milliwatt|percent|pct|ticks"
    r"|jiffies|days|celsius|electronvolt|per_day|per_byte|per_page|per_block|per_1024)$"
)
# A struct of values of one unit may carry it in its own name.
UNIT_OF_STRUCT = re.compile(r"(?:Milliwatt|Bytes|Blocks|ErasesSpread|Us|Ns)$")
# Counts are their own unit: a word of the name says what is counted.
COUNTED_WORDS = """
    reads programs reprograms erases operations pages blocks requests calls links files inodes nodes entries count
    counts cycles records steps cases phases retries pieces copies failures fragments jiffies bytes bitflips badblocks
    rows handles ignored depth n rounds remounts images mounted refused writable points cuts full different failed jobs
     lebs pebs chunks strikes uses statements runs planes dies lines years channels chips clocks
     frames scrubs tortures modes leaps repetitions keys slabs boots
"""
COUNTED = frozenset(COUNTED_WORDS.split())
# Numbers that are no quantity, by the last word of their name, with the reason.
UNITLESS = {
    "ino": "a name for an inode",
    "uid": "a name for a user",
    "gid": "a name for a group",
    "parent": "the inode above",
    "owner": "the inode that it belongs to",
    "device": "major and minor number of a device file",
    "id": "a name for a volume",
    "xid": "a name for an extended attribute",
    "datum": "a position in an arena",
    "references": "positions in an arena",
    "unchecked": "positions in an arena",
    "known": "positions in a list",
    "hash": "a hash",
    **dict.fromkeys(("prefix", "compat", "type", "compression", "kind"), "a code of the on-flash format"),
    "nice": "a priority of Unix, -20 to 19",
    **dict.fromkeys(("mode", "flags", "permissions"), "bits"),
    "magic": "a fixed bit pattern",
    **dict.fromkeys(("crc", "sum"), "a check sum"),
    "seed": "the start of a random sequence",
    "address": "a page or block number, as the operation says",
    "offset": "a position in a file or on flash, in bytes in all formats of the field",
    "page": "the number of a page",
    "block": "the number of a block",
    "step": "the number of a step",
    "i": "the number of a call",
    "number": "a number of a page or block, as its struct says",
    "file": "the number of a file name",
    "line": "the number of a line",
    "process": "a process id",
    "index": "a position",
    "handle": "the number of an open file",
    "result": "what a call returned",
    **dict.fromkeys(("object", "equivalent", "shadows"), "the number of an object"),
    "chunk": "the number of a chunk",
    **dict.fromkeys(("sequence", "serial", "revision", "version", "generation"), "an ordinal"),
    "level": "a height in a tree",
    "dnode": "a position in an arena",
    "amplification": "a ratio",
    "ratio": "of two numbers",
    **dict.fromkeys(("rate", "mean"), "a share of bits"),
    "share": "a part of one",
    "exponent": "of a power",
    "shape": "of a distribution",
    "overdispersion": "a correlation",
    "probabilities": "parts of one",
    **dict.fromkeys(("reported", "failure"), "a probability"),
    "scale": "a factor",
    "die": "the number of a die",
    "column": "the number of a byte in a page",
}
# Structs whose unit is that of what they are made of, or stands in the key under which they are written.
UNIT_ELSEWHERE = {
    "MeanSd": "the unit of the values that it describes",
    **dict.fromkeys(
        ("Candidates", "CandidateTable", "Columns", "Entry", "Parameter"), "stands beside it, or in its name"
    ),
    "Pair": "the unit of the counter that it compares",
    "Spread": "the unit of the figure that it describes",
    "SummaryRow": "the unit of the counter, or percent where the name says so",
    "CounterRange": "of the counter under whose name it stands",
    "EnergySummary": "written under keys that end in uJ",
    "Cost": "flash operations per request",
    "Sourced": "stands in the key of a profile",
    "ShownConstant": "stands beside it",
    **dict.fromkeys(("Registers", "Unstable"), "bits as a chip holds them, or one for each unit of a page"),
    "AgeingConstant": "stands in its name",
    "ConstantSummary": "stands in its name",
}


def is_quantity(type_text: str) -> bool:
    """Whether a field of this type holds numbers itself (maps and callbacks do not)."""
    return bool(NUMBER.search(type_text)) and not re.search(
        r"HashMap|BTreeMap|\bdyn\b|\bfn\b|\bFn|\[u8|<u8>", type_text
    )


def numbers_without_unit(text: str) -> list[str]:
    found = []
    for struct in STRUCT.finditer(text):
        if struct.group(1) in UNIT_ELSEWHERE:
            continue
        for field in FIELD.finditer(struct.group(2)):
            name, type_text = field.groups()
            words = name.split("_")
            says = UNIT.search(name) or words[-1] in UNITLESS or not COUNTED.isdisjoint(words)
            if is_quantity(type_text) and not (says or UNIT_OF_STRUCT.search(struct.group(1))):
                found.append(f"{struct.group(1)}.{name}: {type_text} does not say its unit (`_us`, `_bytes` ...)")
    return found


def test_public_numbers_say_their_unit() -> None:
    assert complaints_about(numbers_without_unit, (p for p in repository_files(".rs") if "src" in p.parts)) == []


def test_the_unit_check_refuses_a_bare_number() -> None:
    fields = ["/// How long.", "pub read: u64, // ns", "pub erase_ns: u64,", "pub blocks: u32,"]
    bad = "\n    ".join(["pub struct Timing {", *fields]) + "\n}\n"
    assert numbers_without_unit(bad) == ["Timing.read: u64 does not say its unit (`_us`, `_bytes` ...)"]


# ---- size and heads of files --------------------------------------------------------------------------------


def too_long(text: str) -> list[str]:
    lines = text.count("\n")
    if lines <= SOURCE_LINES_MAX or re.search(r"^(?://|#) long file: \S", text, re.MULTILINE):
        return []
    return [f"{lines} lines; split it, or say why not in a line `// long file: reason`"]


def test_source_files_are_short() -> None:
    assert complaints_about(too_long, repository_files(".rs", ".py")) == []


def test_the_length_check_refuses_a_long_file_without_a_reason() -> None:
    body = "x = 1\n" * (SOURCE_LINES_MAX + 1)
    assert too_long(body) != []
    assert too_long("# long file: one table that belongs together\n" + body) == []


def heads_missing(text: str) -> list[str]:
    heads = ("**Role.**", "**Follows.**", "**Leaves out.**")
    return [f"the crate's first comment does not have {head}" for head in heads if f"//! {head}" not in text]


def test_every_crate_says_its_role() -> None:
    assert complaints_about(heads_missing, iter(sorted(ROOT.glob("crates/*/src/lib.rs")))) == []


def test_the_head_check_refuses_a_crate_without_one() -> None:
    assert len(heads_missing("//! # flash\npub struct Chip;\n")) == 3


# ---- what the compiler does not see -------------------------------------------------------------------------

# The one argument why `Rc` may go from thread to thread stands there.
UNSAFE_IN = ROOT / "crates" / "mount" / "src" / "simulation.rs"
# Arrays of Python over memory of policies, without copies.
LENDS_MEMORY = ROOT / "crates" / "python" / "src" / "lent_columns.rs"
# Images of gigabytes are mapped.
MAPS_FILES = ROOT / "crates" / "images" / "src" / "held.rs"
# Processes of variants are forked, and end without what was registered for the end of the one before.
FORKS = ROOT / "crates" / "lab" / "src" / "shared" / "forked.rs"
# SQLite, littlefs, what users build: C with tables of functions; C programs call `capi`. Files of `fat` borrow from it.
CALLS_C = [*ROOT.glob("crates/*/src/c.rs"), *ROOT.glob("crates/*/src/c/*.rs"), *ROOT.glob("crates/sq*/src/[cv]*.rs")]


def unsafe_code(text: str) -> list[str]:
    return [
        f"{hit.group()!r} has no place here" for hit in re.finditer(r"\bunsafe (?:fn|impl|trait)\b|\bunsafe \{", text)
    ]


def thread_locals(text: str) -> list[str]:
    return [f"{hit.group()}: what a mutex holds would get out by it" for hit in re.finditer(r"\bthread_local!", text)]


def test_unsafe_code_is_in_few_places() -> None:
    elsewhere = {UNSAFE_IN, LENDS_MEMORY, MAPS_FILES, *CALLS_C, *ROOT.glob("crates/capi/src/*.rs")}
    elsewhere |= {ROOT / "crates/fat/src/held.rs", FORKS}
    assert complaints_about(unsafe_code, (p for p in repository_files(".rs") if p not in elsewhere)) == []
    for path in (UNSAFE_IN, LENDS_MEMORY, MAPS_FILES):
        assert len(unsafe_code(path.read_text(encoding="utf-8"))) == 1
    assert len(unsafe_code(FORKS.read_text(encoding="utf-8"))) == 2


def test_no_part_of_a_simulation_is_bound_to_a_thread() -> None:
    own = ROOT / "crates/foreign/src/guard.rs"  # Which foreign calls are under way: nothing of a simulation.
    assert complaints_about(thread_locals, (p for p in repository_files(".rs") if "src" in p.parts and p != own)) == []


def test_the_checks_of_unsafe_code_refuse_it() -> None:
    assert len(unsafe_code("unsafe impl Send for A {}\nlet b = unsafe { *a };")) == 2
    assert len(thread_locals("thread_local! { static A: u8 = 1; }")) == 1


# ---- constants ----------------------------------------------------------------------------------------------

STATUS = ("datasheet", "measured", "fitted", "published", "unverified")


def constants_without_source(text: str) -> list[str]:
    def walk(value: Any, at: str) -> Iterator[str]:
        if isinstance(value, dict):
            if "value" in value:
                if not str(value.get("source", "")).strip():
                    yield f"{at} has no source"
                if value.get("status") not in STATUS:
                    yield f"{at}: status is {value.get('status')!r}, not one of {', '.join(STATUS)}"
            else:
                for key, inner in value.items():
                    if key != "when":  # It says of a layer when it holds, and is no constant.
                        yield from walk(inner, f"{at}.{key}" if at else key)
        elif isinstance(value, list):
            for i, inner in enumerate(value):
                yield from walk(inner, f"{at}[{i}]")
        elif isinstance(value, int | float):
            yield f"{at} is a bare value; write {{ value, source, status }}"

    return list(walk(tomllib.loads(text), ""))


def test_every_constant_of_a_profile_has_a_source_and_a_status() -> None:
    profiles = [path for path in repository_files(".toml") if path.is_relative_to(ROOT / "profiles")]
    assert profiles, "there are no profiles"
    assert complaints_about(constants_without_source, iter(profiles)) == []


@pytest.mark.parametrize(
    "line",
    [
        "t_read_us = 25",
        't_read_us = { value = 25, status = "datasheet" }',
        't_read_us = { value = 25, source = "data sheet", status = "sure" }',
        "[timing]\nt_read_us = 25",
    ],
)
def test_the_constant_check_refuses(line: str) -> None:
    assert len(constants_without_source(line)) == 1


# ---- nothing of the machine ---------------------------------------------------------------------------------

MACHINE_PATH = re.compile(r"(?<![\w.])/(?:work|root|farm|home/\w+|Users/\w+)/")


def machine_paths(text: str) -> list[str]:
    return [f"line {text.count(chr(10), 0, hit.start()) + 1}: {hit.group()}" for hit in MACHINE_PATH.finditer(text)]


def test_no_file_names_a_path_of_one_machine() -> None:
    kinds = (".rs", ".py", ".pyi", ".toml", ".md", ".sh", ".yml", ".json", ".jsonl", "")
    texts = (path for path in repository_files(*kinds) if path != Path(__file__))
    assert complaints_about(machine_paths, texts) == []


def test_the_path_check_refuses_a_machine_path() -> None:
    assert machine_paths("fine: results/a\ncp x " + "/".join(["", "work", "y"])) == ["line 2: /work/"]


# ---- experiments are data -----------------------------------------------------------------------------------

# A table of an experiment, a step, or keys from an f-string, as TOML.
TOML = re.compile(r"^\[\[?[a-z_.]+\]\]?$|[\"'n]\[\[?[a-z_.]+\]\]?\\n|step = \\?\"| = \{\{", re.MULTILINE)


def toml_assembled(text: str) -> list[str]:
    return [f"line {text.count(chr(10), 0, hit.start()) + 1}: {hit.group()}" for hit in TOML.finditer(text)]


def test_python_assembles_no_toml() -> None:
    """It gives data to the native half, whose one reader says what is wrong with an experiment."""
    own = (path for path in repository_files(".py") if path.is_relative_to(ROOT / "python"))
    assert complaints_about(toml_assembled, own) == []


def test_the_toml_check_sees_it() -> None:
    for text in ('"[stack]\\nboard"', '"""\n[[setup]]\nfoo"""', "'step = \"mount\"'", 'f"{key} = {{ {inner} }}"'):
        assert toml_assembled(text), text
    assert toml_assembled('step = fine(1)  # of [stack]\nkeys["[stack]"] = {}') == []


# ---- causes -------------------------------------------------------------------------------------------------

# Crates above the ground floor. Comments may name them: what a rule was read from.
LAYERS = re.compile(r"jffs2|yaffs|ubi(?:fs)?_|Ubi|Jffs|Yaffs|bdbuf|Bdbuf|rtems|UBI|JFFS2|YAFFS|RTEMS", re.ASCII)
CAUSE = re.compile(r"^pub static \w+: (?:Task|Reason) =.*?;$", re.MULTILINE | re.DOTALL)
# Logs of real kernels: which of their processes is which task of the measured cases.
READ_KERNEL_LOGS = "measured/threads.py"


def layers_named(text: str) -> list[str]:
    code = (line.split("//")[0] for line in text.splitlines())
    return [f"line {number}: {hit.group()}" for number, line in enumerate(code, 1) for hit in LAYERS.finditer(line)]


def words_of_causes() -> frozenset[str]:
    """Names of causes that are no everyday words, and what explains them to people, from all layers."""
    files = [*ROOT.glob("crates/*/src/causes.rs"), ROOT / "crates/sim/src/cause.rs"]
    causes = [cause for file in files for cause in CAUSE.findall(file.read_text(encoding="utf-8"))]
    words = re.findall(r'(?:name|title|sentence): "([^"]+)"', "\n".join(causes))
    return frozenset(word for word in words if re.search("[ _-]", word))


def causes_listed(text: str) -> list[str]:
    listed = re.findall(r'"([^"\n]+)"\s*[:,})\]]', text)
    return sorted(words_of_causes().intersection(listed))


def test_the_ground_floor_names_no_layer() -> None:
    assert complaints_about(layers_named, iter((ROOT / "crates/sim/src").glob("*.rs"))) == []


def test_python_lists_no_causes() -> None:
    assert len(words_of_causes()) > 40
    own = (path for path in repository_files(".py") if path.is_relative_to(ROOT / "python"))
    texts = (path for path in own if not path.as_posix().endswith(READ_KERNEL_LOGS))
    assert complaints_about(causes_listed, texts) == []


def test_the_checks_of_causes_refuse_a_layer_and_a_list() -> None:
    named = layers_named('// as JFFS2 does\nUbiThread = "ubi_thread",\nlet x = now;')
    assert named == ["line 2: Ubi", "line 2: ubi_"]
    assert causes_listed('MEANING = {"read-ahead": "x", "gc copy": "y"}\nsaid = \'the "wear levelling"\'') == [
        "gc copy",
        "read-ahead",
    ]


# ---- make ---------------------------------------------------------------------------------------------------


def targets_without_help(text: str) -> list[str]:
    targets = re.findall(r"^([a-z][\w-]*):(.*)$", text, re.MULTILINE)
    return [f"make {name} has no help line" for name, rest in targets if "## " not in rest]


def test_every_make_target_has_a_help_line() -> None:
    assert complaints_about(targets_without_help, iter([ROOT / "Makefile"])) == []


def test_the_make_check_refuses_a_target_without_help() -> None:
    assert targets_without_help("demo: setup ## show it\nfast:\n\techo\n") == ["make fast has no help line"]


# Two names of file systems with nothing between them but what stands between the items of a list.
FILE_SYSTEM = r"[\"'`]?(?:jffs2|yaffs2|ubifs|rfs|dosfs|(?:mini-)?imfs)\b[\"'`]?"
LISTED_FILE_SYSTEMS = re.compile(rf"{FILE_SYSTEM}(?:\s*[,|&]\s*|\s+(?:or|and)\s+)(?:or |and )?{FILE_SYSTEM}")
COMMENT = re.compile(r"^\s*(//|#).*$", re.MULTILINE)
# Where file systems are named one by one: their own crates, the table, and what is by its nature about given ones.
MAY_LIST_FILE_SYSTEMS = re.compile(
    r"^(crates/(jffs2|yaffs2|ubifs|rtems|conformance)/|crates/machine/src/file_systems/"
    r"|python/ffslab/(studies|measured)/|python/ffslab/sqlite/look_ups\.py)"
)


def lists_of_file_systems(text: str) -> list[str]:
    code = COMMENT.sub("", text.split("#[cfg(test)]")[0])
    return [f"a list of file systems, {found[0]!r}: the table has them" for found in LISTED_FILE_SYSTEMS.finditer(code)]


def test_file_systems_are_listed_in_one_table() -> None:
    library = []
    for path in repository_files(".rs", ".py"):
        name = path.relative_to(ROOT).as_posix()
        of_library = re.match(r"(crates/\w+/src|python/ffslab)/", name) and path.name != "tests.rs"
        if of_library and not MAY_LIST_FILE_SYSTEMS.match(name):
            library.append(path)
    assert len(library) > 100
    assert complaints_about(lists_of_file_systems, iter(library)) == []


# The same for systems. Their words are common, so they count in quotes alone, or as a help text would list them.
SYSTEM = r"[\"'`](?:linux|rtems|bare)[\"'`]"
LISTED_SYSTEMS = re.compile(rf"{SYSTEM}(?:\s*[,|&]\s*|\s+(?:or|and)\s+)(?:or |and )?{SYSTEM}|\blinux, rtems\b")


def lists_of_systems(text: str) -> list[str]:
    code = COMMENT.sub("", text.split("#[cfg(test)]")[0])
    return [f"a list of systems, {found[0]!r}: the table has them" for found in LISTED_SYSTEMS.finditer(code)]


def test_systems_are_listed_in_one_table() -> None:
    library = []
    for path in repository_files(".rs", ".py"):
        name = path.relative_to(ROOT).as_posix()
        if re.match(r"(crates/\w+/src|python/ffslab)/", name) and not name.startswith("crates/machine/src/systems/"):
            library.append(path)
    assert len(library) > 100
    assert complaints_about(lists_of_systems, iter(library)) == []


def test_the_check_of_systems_sees_lists() -> None:
    for text in ('&["linux", "rtems"]', '"rtems" | "bare"', "'linux' or 'bare'", "calls: linux, rtems, or bare"):
        assert lists_of_systems(text), text
    assert not lists_of_systems('// "linux", "rtems"\nsystem = "bare"; of = "linux"')


def test_the_check_of_lists_sees_them() -> None:
    for text in (
        '"rfs" | "dosfs" =>',
        "imfs, mini-imfs",
        '("jffs2", "ubifs")',
        "jffs2, yaffs2 or ubifs",
        "&'yaffs2' | 'jffs2'",
        "yaffs2 and ubifs",
    ):
        assert lists_of_file_systems(text), text
    assert not lists_of_file_systems('// jffs2, yaffs2\nfs = "jffs2"; other = 1')


# Names of media, of profiles of block devices and of engines of ECC. Those that are words stand in quotes.
MEDIUM = (
    r"[\"'`](?:nand|nor|ram-flash|block-device|hw|sw)[\"'`]|[\"'`]?(?:ram-disk-beaglebone|sd-card|usb-stick)\b[\"'`]?"
)
LISTED_MEDIA = re.compile(rf"(?:{MEDIUM})(?:\s*[,|&]\s*|\s+(?:or|and)\s+)(?:or |and )?(?:{MEDIUM})")
# Types made from schemas, and what is about given boards by its nature.
MAY_LIST_MEDIA = re.compile(r"^python/ffslab/(answers|studies|measured)/")


def lists_of_media(text: str) -> list[str]:
    code = COMMENT.sub("", text.split("#[cfg(test)]")[0])
    return [f"a list of media, {found[0]!r}: the tables have them" for found in LISTED_MEDIA.finditer(code)]


def test_media_are_listed_in_one_table() -> None:
    library = []
    for path in repository_files(".rs", ".py"):
        name = path.relative_to(ROOT).as_posix()
        if re.match(r"(crates/\w+/src|python/ffslab)/", name) and not MAY_LIST_MEDIA.match(name):
            library.append(path)
    assert len(library) > 100
    assert complaints_about(lists_of_media, iter(library)) == []


# A name of a medium above the crates that make it, where a match could ask for it.
MEDIUM_ASKED = re.compile(r"\b(?:is_nor|is_nand|Device::N\w+|Ecc::(?:Hardware|Software))\b|== Ecc::\w+")


def media_asked_for(text: str) -> list[str]:
    code = COMMENT.sub("", text.split("#[cfg(test)]")[0])
    return [f"{found[0]!r}: ask what the medium can do" for found in MEDIUM_ASKED.finditer(code)]


def test_nothing_above_mtd_asks_which_medium_it_is() -> None:
    above = (path for path in repository_files(".rs") if re.search(r"crates/(?!mtd/|flash/)\w+/src/", path.as_posix()))
    assert complaints_about(media_asked_for, above) == []


def test_the_checks_of_media_see_them() -> None:
    for text in ('["nand", "nor"]', "sd-card, usb-stick or ram-disk-beaglebone", "'hw' | 'sw'"):
        assert lists_of_media(text), text
    assert not lists_of_media('// "nand", "nor"\nmedium = "nand"; neither nand nor nor')
    assert media_asked_for("if medium.is_nor() {") and media_asked_for("driver.ecc == Ecc::SOFTWARE")
    assert not media_asked_for("if can.clears_bits_again { Ecc::HARDWARE.by(engine) }")
