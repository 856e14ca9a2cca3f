"""Steps that write the bytes of a file beside the experiment (`content_file`)."""

from __future__ import annotations

from pathlib import Path

import pytest

import ffslab
from ffslab.measured.reference import plan

FILE = b"0123456789" * 50 + b"end"
STACK = """
title = "A photo"

[stack]
board = "zero-overhead"
fs = "jffs2"
partition_blocks = 24

[[setup]]
step = "mount"
"""
TWO_WRITES = f"""{STACK}
[[measure]]
step = "create"
file = "a"
bytes = 700
request_B = 300
content_file = "photo.jpg"

[[measure]]
step = "create"
file = "b"
bytes = 600
content_file = "photo.jpg"

[[measure]]
step = "save_image"
file = "nand.bin"
"""


def refusal(folder: Path, text: str) -> str:
    with pytest.raises(ffslab.InputError) as caught:
        experiment(folder, text).run()
    return str(caught.value)


def experiment(folder: Path, text: str) -> ffslab.Experiment:
    (folder / "e.toml").write_text(text, encoding="utf-8")
    return ffslab.Experiment.from_file(folder / "e.toml")


def test_what_is_wrong_is_said(tmp_path: Path) -> None:
    assert "photo.jpg" in refusal(tmp_path, TWO_WRITES)
    (tmp_path / "photo.jpg").touch()
    assert "it is empty: content_file needs bytes to write" in refusal(tmp_path, TWO_WRITES)
    (tmp_path / "photo.jpg").write_bytes(FILE)
    both = TWO_WRITES.replace("request_B = 300", 'content = "text"')
    assert "give either content or content_file" in refusal(tmp_path, both)
    state = TWO_WRITES.replace("[[setup]]", "[[state]]")
    moved = state.replace("[[measure]]", "[[state]]", 1) + '[[setup]]\nstep = "mount"\n'
    assert "cannot be part of a state" in refusal(tmp_path, moved)


def test_a_reference_run_gives_the_guest_the_file_and_puts_it_beside_the_case(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").write_bytes(FILE)
    text = TWO_WRITES[: TWO_WRITES.rindex("[[measure]]")].replace("[stack]", '[stack]\ncompression = "none"')
    (variant,) = plan.variants(experiment(tmp_path, text), "photo")
    assert variant.inputs == {"photo.jpg": tmp_path / "photo.jpg"}
    assert variant.measure[0]["content_file"] == "inputs/photo.jpg"
    (line,) = [line for line in variant.lines(250).splitlines() if "kind=file0" in line]
    assert line.endswith(f"stride_B=0 modulo_B={len(FILE)} goes_on=1")
    assert variant.files[variant.contents["file0"].path].startswith(FILE + FILE)
    assert "content=file0" in variant.lines(250) and "content_file" not in variant.lines(250)


def test_each_write_goes_on_where_the_last_one_ended(tmp_path: Path) -> None:
    photo = tmp_path / "photo.jpg"
    photo.write_bytes(FILE)
    stack = ffslab.Stack(fs="jffs2", partition_blocks=24)
    stack.mount()
    stack.step("create", file="a", bytes=700, request_B=300, content_file=str(photo))
    stack.step("create", file="z", bytes=100, content="zero")
    stack.step("create", file="b", bytes=600, content_file=str(photo))
    assert stack.read_file("z") == bytes(100)
    assert stack.read_file("a") + stack.read_file("b") == (FILE * 3)[:1300]
    photo.write_bytes(b"new")
    stack.step("create", file="c", bytes=5, content_file=str(photo))
    assert stack.read_file("c") == b"newne"
