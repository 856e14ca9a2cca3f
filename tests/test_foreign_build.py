"""`ffslab foreign build`: a littlefs of sources that a user has, compiled and named by an experiment."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

import ffslab
from ffslab.cli import root
from ffslab.foreign import build
from left_out import leave_out

EXPERIMENT = """
title = "versions"
[stack]
system = "bare"
fs = "littlefs"
board = "licheepi-nano"
part = "w25q128jv"
erase_block_KiB = 4
partition_blocks = 64
[[setup]]
step = "mount"
[[measure]]
step = "create"
file = "a"
bytes = 200
[axes]
"littlefs.library" = ["own.so", "other.so"]
"""


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """littlefs as the registry crate carries it, which ffslab is built of, too."""
    registry = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo")) / "registry/src"
    found = sorted(registry.glob("*/littlefs2-sys-0.4.0/littlefs"))
    if not found:
        leave_out(f"{registry} does not hold littlefs2-sys 0.4.0, of which cargo builds ffslab")
    place = tmp_path_factory.mktemp("sources") / "littlefs"
    place.mkdir()
    for file in found[0].glob("*.[ch]"):
        shutil.copy(file, place)
    return place


def test_a_users_littlefs_runs_in_an_experiment(
    sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert root.run(["foreign", "build", "littlefs", "--source", str(sources), "--out", str(tmp_path / "own.so")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'own.so'}: littlefs 2.9\n"
    # The other one writes no file into its directory.
    changed = tmp_path / "changed"
    shutil.copytree(sources, changed)
    text = (changed / "lfs.c").read_text(encoding="utf-8")
    assert text.count("lfs->inline_max = lfs->cfg->inline_max;") == 1
    text = text.replace("lfs->inline_max = lfs->cfg->inline_max;", "lfs->inline_max = (lfs_size_t)-1;")
    (changed / "lfs.c").write_text(text, encoding="utf-8")
    build.littlefs(changed, None, tmp_path / "other.so")

    run = ffslab.Experiment(EXPERIMENT, "versions.toml", tmp_path).run()
    own, other = run.summary["variants"]
    # The same sources are built in.
    (built_in,) = ffslab.Experiment(EXPERIMENT.partition("[axes]")[0]).run().summary["variants"]
    assert own["totals"] == built_in["totals"] and own["by_cause"] == built_in["by_cause"]
    reasons, others = ({cause["reason"] for cause in variant["by_cause"]} for variant in (own, other))
    assert "commit" in reasons and others > reasons
    assert str(tmp_path / "own.so") in run.resolved_toml


def test_what_the_compiler_says_is_shown(sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(sources, broken)
    (broken / "lfs_util.h").write_text('#error "no such board"\n', encoding="utf-8")
    out = tmp_path / "broken.so"
    assert root.run(["foreign", "build", "littlefs", "--source", str(broken), "--out", str(out)]) == 2
    said = capsys.readouterr().err
    assert 'error: #error "no such board"' in said and "does not compile the sources" in said
    assert not out.exists() and sorted(path.name for path in tmp_path.iterdir()) == ["broken"]


def test_what_is_wrong_is_one_line(
    sources: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*words: str) -> str:
        assert root.run(["foreign", "build", *words]) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1
        return said

    assert "known is littlefs" in refused("jffs9", "--source", str(sources))
    assert "lfs.c is missing" in refused("littlefs", "--source", str(tmp_path))
    assert "is not a file" in refused("littlefs", "--source", str(sources), "--config", str(tmp_path / "none.h"))
    monkeypatch.setenv("CC", "no-such-compiler")
    assert "no such C compiler" in refused("littlefs", "--source", str(sources), "--out", str(tmp_path / "a.so"))
    monkeypatch.delenv("CC")
    old = tmp_path / "old"
    shutil.copytree(sources, old)
    text = (old / "lfs.h").read_text(encoding="utf-8").replace("LFS_VERSION 0x00020009", "LFS_VERSION 0x00020001")
    (old / "lfs.h").write_text(text, encoding="utf-8")
    assert "littlefs is 2.1" in refused("littlefs", "--source", str(old))


def test_functions_of_earlier_versions_are_found_by_their_names() -> None:
    labels = build.LABELS.findall((build.GLUE / "littlefs.c").read_text(encoding="utf-8"))
    assert len(labels) > 25 and "lfs_alloc_scan" in labels
    lfs_2_8 = "static int lfs_rawformat(lfs_t *lfs) {\nstatic int lfs_alloc(lfs_t *lfs) {\nint lfs_fs_rawsize(\n"
    names = build.renamed(lfs_2_8, ["lfs_format_", "lfs_alloc_scan", "lfs_fs_size_", "lfs_fs_pred"])
    assert names == {
        "lfs_format_": "lfs_rawformat",
        "lfs_alloc_scan": "lfs_alloc",
        "lfs_fs_size_": "lfs_fs_rawsize",
        "lfs_fs_pred": "ffslab_no_function",
    }
