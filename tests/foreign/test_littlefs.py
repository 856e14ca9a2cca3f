"""littlefs on a bare program: its images are those of others, its costs have causes, its settings are checked."""

from __future__ import annotations

import json
import random
import re
import tomllib
from pathlib import Path
from typing import Any, cast

import pytest
from littlefs import LittleFS, UserContext

import ffslab
from helpers.command import ROOT, Command

# Kinds of media, with what the settings of the other side are then.
MEDIA: dict[str, dict[str, str | int]] = {
    "nor": {"board": "licheepi-nano", "part": "w25q128jv", "erase_block_KiB": 4, "partition_blocks": 64},
    "large blocks": {"board": "licheepi-nano", "part": "w25q128jv", "erase_block_KiB": 4, "partition_blocks": 128},
    "nand": {"board": "omap3evm", "partition_blocks": 24},
}
SETTINGS: dict[str, dict[str, str | int]] = {
    "nor": {"disk_version": "2.0"},
    "large blocks": {"block_size_B": 8192, "cache_size_B": 1024, "inline_max_B": -1, "metadata_max_B": 2048},
    "nand": {"block_cycles": 20},
}


def stack_with(medium: str, settings: dict[str, Any]) -> ffslab.Stack:
    keys: dict[str, Any] = {"system": "bare", "fs": "littlefs", "littlefs": settings}
    return ffslab.Stack.of(keys | MEDIA[medium])


def real(stack: ffslab.Stack, image: bytes | None, device: UserContext | None = None) -> LittleFS:
    """littlefs of PyPI with the same configuration: a newer version of the C code, in another process's hands."""
    sizes = cast("dict[str, Any]", stack.keys)["littlefs"]
    block_bytes = sizes["block_size_B"]
    count = len(image or stack.image()) // block_bytes
    limits = {name: sizes[f"{name}_B"] % 2**32 for name in ("metadata_max", "inline_max")}
    held = bytearray(image if image is not None else b"\xff" * (count * block_bytes))
    fs = LittleFS(
        context=device or UserContext(buffer=held),
        mount=False,
        block_size=block_bytes,
        block_count=count,
        read_size=sizes["read_size_B"],
        prog_size=sizes["prog_size_B"],
        cache_size=sizes["cache_size_B"],
        lookahead_size=sizes["lookahead_size_B"],
        block_cycles=sizes["block_cycles"],
        disk_version={"2.0": 0x20000, "2.1": 0x20001}[sizes["disk_version"]],
        **limits,
    )
    if image is None:
        fs.format()
    fs.mount()
    return fs


class Random:
    """A random workload: calls that both sides have, and what stands there then."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(seed)
        self.files: dict[str, bytes] = {}
        self.directories = ["", "d", "d/e"]

    def data(self) -> bytes:
        return self.draw.randbytes(self.draw.choice([0, 7, 300, 1200, 9000, 20000]))

    def path(self) -> str:
        return f"{self.draw.choice(self.directories)}/f{self.draw.randrange(5)}".lstrip("/")

    def run(self, calls: Calls, count: int) -> None:
        for directory in self.directories[1:]:
            calls.mkdir(directory)
        for _ in range(count):
            path, held = self.path(), sorted(self.files)
            choice = self.draw.randrange(6)
            if choice == 0 and held:
                path = self.draw.choice(held)
                calls.remove(path)
                del self.files[path]
            elif choice == 1 and held:
                old = self.draw.choice(held)
                calls.rename(old, path)
                self.files[path] = self.files.pop(old)
            elif choice in (2, 3) and held:
                path, data = self.draw.choice(held), self.data()[:5000]
                at = self.draw.randrange(len(self.files[path]) + 1)
                calls.write_at(path, at, data)
                before = self.files[path]
                self.files[path] = before[:at] + data + before[at + len(data) :]
            elif sum(map(len, self.files.values())) < 60_000:
                self.files[path] = self.data()
                calls.write(path, self.files[path])


class Calls:
    """Those of a simulated machine."""

    def __init__(self, stack: ffslab.Stack) -> None:
        self.stack = stack

    def mkdir(self, path: str) -> None:
        self.stack.mkdir(path)

    def remove(self, path: str) -> None:
        self.stack.unlink(path)

    def rename(self, old: str, new: str) -> None:
        self.stack.rename(old, new)

    def write(self, path: str, data: bytes) -> None:
        self.stack.write_file(path, data)

    def write_at(self, path: str, at: int, data: bytes) -> None:
        fd = self.stack.open(path, "rdwr")
        self.stack.pwrite(fd, data, at)
        self.stack.close(fd)

    def tree(self) -> dict[str, bytes]:
        found: dict[str, bytes] = {}
        pending = [""]
        while pending:
            directory = pending.pop()
            for name in self.stack.listdir(directory or "/"):
                path = f"{directory}/{name}".lstrip("/")
                if self.stack.stat(path).kind == "directory":
                    pending.append(path)
                else:
                    found[path] = self.stack.read_file(path)
        return found


class RealCalls(Calls):
    """Those of littlefs-python."""

    def __init__(self, fs: LittleFS) -> None:
        self.fs = fs

    def mkdir(self, path: str) -> None:
        self.fs.mkdir(path)

    def remove(self, path: str) -> None:
        self.fs.remove(path)

    def rename(self, old: str, new: str) -> None:
        self.fs.rename(old, new)

    def write(self, path: str, data: bytes) -> None:
        with self.fs.open(path, "wb") as file:
            file.write(data)

    def write_at(self, path: str, at: int, data: bytes) -> None:
        with self.fs.open(path, "r+b") as file:
            file.seek(at)
            file.write(data)

    def tree(self) -> dict[str, bytes]:
        found = {}
        for directory, _, names in self.fs.walk("/"):
            for name in names:
                path = f"{directory.strip('/')}/{name}".lstrip("/")
                with self.fs.open(path, "rb") as file:
                    found[path] = file.read()
        return found


def exchange(medium: str, seeds: range, tmp_path: Path) -> int:
    """Random workloads on either side, each read by the other and changed further there; how many files were read."""
    files = 0
    for seed in seeds:
        stack = stack_with(medium, dict(SETTINGS[medium]))
        ours, theirs = Random(seed), Random(-seed)
        stack.mount()
        ours.run(Calls(stack), 25)
        stack.umount()
        read = RealCalls(real(stack, stack.image()))
        assert read.tree() == ours.files, f"{medium}, seed {seed}: ours, read by littlefs-python"
        writer = real(stack, None)
        theirs.run(RealCalls(writer), 25)
        writer.unmount()
        image = tmp_path / "image.bin"
        image.write_bytes(bytes(writer.context.buffer))
        stack.step("load", image=str(image))
        stack.mount()
        assert Calls(stack).tree() == theirs.files, f"{medium}, seed {seed}: of littlefs-python, read by ours"
        theirs.directories = [""]
        theirs.run(Calls(stack), 10)
        assert Calls(stack).tree() == theirs.files
        files += len(ours.files) + len(theirs.files)
    return files


@pytest.mark.parametrize("medium", MEDIA)
def test_images_are_those_of_littlefs_python_both_ways(medium: str, tmp_path: Path) -> None:
    assert exchange(medium, range(1, 25), tmp_path) > 120


class Counting(UserContext):
    """The emulated device of littlefs-python, with a count of its calls."""

    def __init__(self, size_bytes: int) -> None:
        super().__init__(buffer=bytearray(b"\xff" * size_bytes))
        self.reads = self.programs = self.erases = 0

    def read(self, cfg: Any, block: int, off: int, size: int) -> bytearray:
        self.reads += 1
        return super().read(cfg, block, off, size)

    def prog(self, cfg: Any, block: int, off: int, data: bytes) -> int:
        self.programs += 1
        return super().prog(cfg, block, off, data)

    def erase(self, cfg: Any, block: int) -> int:
        self.erases += 1
        return super().erase(cfg, block)


@pytest.mark.parametrize("seed", range(1, 6))
def test_the_flash_works_as_often_as_an_emulated_device_is_called(seed: int) -> None:
    """On NAND, where littlefs reads and programs page by page, each call is one operation."""
    stack = stack_with("nand", dict(SETTINGS["nand"]))
    stack.mount()
    device = Counting(len(stack.image()))
    fs = real(stack, None, device)
    before = stack.counters()
    device.reads = device.programs = device.erases = 0
    Random(seed).run(Calls(stack), 40)
    Random(seed).run(RealCalls(fs), 40)
    after = stack.counters()
    assert after["page_reads"] - before["page_reads"] == device.reads > 1000
    assert after["page_programs"] - before["page_programs"] == device.programs > 50
    assert after["erases"] - before["erases"] == device.erases > 10
    assert stack.image() == bytes(device.buffer)


@pytest.mark.soak
@pytest.mark.parametrize("medium", MEDIA)
def test_a_thousand_images_are_those_of_littlefs_python_both_ways(medium: str, tmp_path: Path) -> None:
    assert exchange(medium, range(1, 335), tmp_path) > 2000


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("block_size_B", 6000, "littlefs.block_size_B = 6000: a multiple of the 4096 bytes that the medium erases"),
        ("cache_size_B", 100, "littlefs.cache_size_B = 100: a multiple of read_size_B = 128 is needed"),
        ("block_cycles", 0, "littlefs.block_cycles = 0: 100 to 1000 is usual, -1 moves nothing"),
        ("inline_max_B", 2000, "littlefs.inline_max_B = 2000: at most 512 with these sizes"),
        ("lookahead_size_B", 0, "littlefs.lookahead_size_B = 0: at least 1 is needed"),
        ("metadata_max_B", 9000, "littlefs.metadata_max_B = 9000: 512 to block_size_B = 4096 makes sense"),
        ("disk_version", "1.0", "known are 2.0 and 2.1"),
    ],
)
def test_settings_that_cannot_be_are_refused(key: str, value: object, told: str) -> None:
    with pytest.raises(ValueError, match=r".") as refusal:
        stack_with("nor", {key: value})
    assert told in str(refusal.value)


def test_where_littlefs_is_and_where_not(ffslab: Command, tmp_path: Path) -> None:
    path = tmp_path / "e.toml"
    path.write_text(
        'title = "t"\n[stack]\nboard = "omap3evm"\nfs = "littlefs"\npartition_blocks = 9\n[[measure]]\nstep = "mount"\n'
    )
    done = ffslab("run", str(path))
    assert done.returncode == 2 and 'a bare program has: system = "bare"' in done.stderr, done.stderr
    path.write_text(
        'title = "t"\n[stack]\nsystem = "bare"\nfs = "yaffs2"\n[stack.littlefs]\nblock_cycles = 9\n'
        '[[measure]]\nstep = "mount"\n'
    )
    done = ffslab("run", str(path))
    assert done.returncode == 2 and "littlefs belongs to littlefs, not to yaffs2" in done.stderr, done.stderr


def scan_rows(summary: dict[str, Any]) -> list[str]:
    """The rows of docs/littlefs.md, from the results of its experiment."""
    rows = []
    for variant in summary["variants"]:
        step = variant["steps"][-1]
        caused = {cause["reason"]: cause for cause in variant["by_cause"]}
        scan = caused.get("allocation scan", {"page_reads": 0, "busy_us": 0.0})
        axes = variant["axes"]
        mean_ms, max_ms = (f"{step['latency_us'][name] / 1000:,.1f}" for name in ("mean", "max"))
        cells = (
            axes["setup.create.bytes"],
            axes["littlefs.lookahead_size_B"],
            mean_ms,
            max_ms,
            f"{scan['page_reads']:,}",
        )
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    return rows


def test_the_curve_of_allocation_scans_is_true(ffslab: Command, tmp_path: Path) -> None:
    experiment = ROOT / "experiments/bare/littlefs-scan.toml"
    summary = json.loads(ffslab("run", str(experiment), "--json", "--out", str(tmp_path / "out")).stdout)
    written = (ROOT / "docs/littlefs.md").read_text(encoding="utf-8")
    for row in scan_rows(summary):
        assert row in written, row
    # Each operation has a cause, and the times add up.
    for variant in summary["variants"]:
        assert not [cause for cause in variant["by_cause"] if cause["reason"] == "other"]
        caused = sum(c["cpu_us"] + c["driver_us"] + c["busy_us"] for c in variant["by_cause"])
        assert abs(caused + variant["program_us"] + variant["idle_us"] - variant["time_us"]) < 1.0


def test_the_table_beside_esp_idf_is_true(ffslab: Command, tmp_path: Path) -> None:
    folder = ROOT / "experiments/bare/esp-idf"
    written = (ROOT / "docs/littlefs.md").read_text(encoding="utf-8")

    def steps(name: str) -> list[dict[str, Any]]:
        done = ffslab("run", str(folder / name), "--json", "--out", str(tmp_path / name))
        found: list[dict[str, Any]] = json.loads(done.stdout)["variants"][0]["steps"]
        return [step for step in found if step["latency_us"] and step["latency_us"]["n"]]

    def mean_ms(step: dict[str, Any]) -> float:
        return float(step["latency_us"]["mean"]) / 1000

    # The loop calls the driver for 256 bytes, ESP-IDF's wear levelling for 4 KiB.
    driver = tomllib.loads((folder / "parts/board.toml").read_text(encoding="utf-8"))["driver"]
    fewer_calls_ms = {op: (256 - 16) * driver[f"{op}_overhead_us"]["value"] / 1000 for op in ("program", "read")}
    program, read = steps("raw.toml")
    assert f"| raw write, 64 KiB | 96.6 | {mean_ms(program) * 256 - fewer_calls_ms['program']:.1f} |" in written
    assert f"| raw read, 64 KiB | 8.08 | {mean_ms(read) * 256 - fewer_calls_ms['read']:.2f} |" in written
    timed = [step for step in steps("littlefs.toml") if step["step"].split()[0] in ("append", "requests")]
    sizes = ("65,536", "78,643", "54,613")
    published_ms = (946.405, 1176.518, 821.555)
    read_ms = (28.988, 39.843, 25.848)
    for size, published, of_read, write, read in zip(
        sizes, published_ms, read_ms, timed[::2], timed[1::2], strict=True
    ):
        assert abs(mean_ms(write) / published - 1) < 0.15 and abs(mean_ms(read) / of_read - 1) < 0.15
        assert f"| littlefs, write {size} B | {published:.1f} | {mean_ms(write):.1f} |" in written
        assert re.search(rf"\| littlefs, read {size} B \| [0-9.]+ \| {mean_ms(read):.2f} \|", written)
