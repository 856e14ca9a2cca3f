"""No test of the Rust crates is left out of `make test`.

Integration tests of a crate are one program, `tests/all.rs`: a file that it does not name would not be compiled. And
`make test` does not ask for tests in documentation, which would compile each crate once more for nothing.
"""

from __future__ import annotations

import re
import tomllib

from helpers.command import ROOT

CRATES = ROOT / "crates"


def not_named(program: str, files: set[str]) -> set[str]:
    """Files that are no module of the program."""
    return files - set(re.findall(r"^mod (\w+);$", program, re.MULTILINE))


def test_every_file_of_tests_is_a_module_of_the_program() -> None:
    programs = sorted(CRATES.glob("*/tests/all.rs"))
    assert programs
    for program in programs:
        files = {path.stem for path in program.parent.glob("*.rs")} - {"all"}
        assert not_named(program.read_text(encoding="utf-8"), files) == set(), program.parent


def test_crates_with_such_a_program_have_no_others() -> None:
    """Cargo would make one of each file beside it."""
    with_one = {path.parent.parent for path in CRATES.glob("*/tests/all.rs")}
    told = {path.parent for path in CRATES.glob("*/Cargo.toml") if "\nautotests = false\n" in path.read_text("utf-8")}
    assert with_one == told


def test_every_crate_is_tested_with_its_assertions() -> None:
    built = tomllib.loads((ROOT / ".ci/testing.toml").read_text(encoding="utf-8"))["profile"]["release"]["package"]
    manifests = [tomllib.loads(path.read_text(encoding="utf-8")) for path in CRATES.glob("*/Cargo.toml")]
    ours = {name for each in manifests if (name := each["package"]["name"]) not in ("bindgen", "ffslab-python")}
    assert {name for name, keys in built.items() if keys.get("debug-assertions")} == ours


def test_the_check_sees_a_forgotten_file() -> None:
    assert not_named("mod reads;\n// mod writes;\n", {"reads", "writes"}) == {"writes"}


# ---- documentation -------------------------------------------------------------------------------------------------

FENCE = re.compile(r"^\s*//[/!] ?(?:```|~~~)(\w*)", re.MULTILINE)


def documented_tests(source: str) -> list[str]:
    """Blocks of code that rustdoc would run: those without a language, or in Rust."""
    return [language for language in FENCE.findall(source)[::2] if language in ("", "rust", "should_panic", "no_run")]


def test_no_crate_has_tests_in_its_documentation() -> None:
    for source in sorted(CRATES.glob("*/src/**/*.rs")):
        assert documented_tests(source.read_text(encoding="utf-8")) == [], source


def test_the_check_sees_a_test_in_documentation() -> None:
    assert documented_tests("/// ```\n/// assert!(true);\n/// ```\n") == [""]
    assert documented_tests("//! ```json\n//! {}\n//! ```\n") == []
