"""`ffslab calibrate`: what is measured comes out as a profile that simulations load; bad input is one line."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from ffslab import InputError
from ffslab._native import profile
from ffslab.studies.calibrate import loops, power_capture, probe_logs, verb
from ffslab.studies.calibrate.verb import Inputs
from helpers.bench_logs import Bench

if TYPE_CHECKING:
    from helpers.command import Command


def board(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((folder / "board.toml").read_text(encoding="utf-8"))
    return found


def holds(entry: dict[str, Any], truth: float) -> bool:
    """Whether the interval of a written value, twice as wide for a test that must not fail by chance, holds `truth`."""
    low, high = entry["ci95"]
    return bool(abs(truth - entry["value"]) <= high - low)


def check_driver(written: dict[str, Any], bench: Bench, *, energy: bool) -> None:
    for operation in bench.time_us:
        assert holds(written["driver"][f"{operation}_us"], bench.time_us[operation])
        assert written["driver"][f"{operation}_us"]["status"] == "measured"
        for rail, truth in (("cpu", bench.cpu_uj), ("memory", bench.memory_uj)):
            key = f"{operation}_{rail}_uJ"
            assert (key in written["driver"]) == energy
            assert not energy or holds(written["driver"][key], truth[operation])


# ---- from measurements to a profile -------------------------------------------------------------------------


def test_a_log_of_loops_becomes_a_profile(ffslab: Command, tmp_path: Path) -> None:
    bench = Bench()
    bench.write_loops(tmp_path / "loops.csv")
    done = ffslab("calibrate", "--loops", "loops.csv", "--base", "zero-overhead", "--title", 'The "A" board')
    assert (done.returncode, done.stderr) == (0, "")
    assert "Clock: steps of 30.52 us" in done.stdout
    written = board(tmp_path / "results" / "calibrate-loops")
    assert written["title"] == 'The "A" board'
    check_driver(written, bench, energy=True)
    assert holds(written["idle"]["cpu_mW"], 269.0) and holds(written["idle"]["memory_mW"], 147.8)
    assert written["vfs"]["call_ns"]["status"] == "unverified"
    assert written["vfs"]["call_ns"]["source"].startswith("not measured on this board; of zero-overhead: ")
    names = {path.name for path in (tmp_path / "results/calibrate-loops").iterdir()}
    assert names == {"board.toml", "calibration.json", "measurements.parquet", "report.html"}
    html = (tmp_path / "results/calibrate-loops/report.html").read_text(encoding="utf-8")
    # Of each regression the line and what it leaves over, and on the first screen all that is left over.
    assert html.count('<figure class="chart"') == 2 * 11 + 1 and "<svg" not in html


def test_the_same_measurements_give_the_same_bytes(tmp_path: Path) -> None:
    Bench(counts=(256, 512), repeats=2).write_loops(tmp_path / "loops.csv")
    folders = [tmp_path / "once", tmp_path / "again"]
    for folder in folders:
        verb.run(Inputs(loops=tmp_path / "loops.csv"), folder, json=False)
    for name in ("board.toml", "calibration.json", "measurements.parquet", "report.html"):
        once, again = ((folder / name).read_bytes() for folder in folders)
        assert once == again, name


def test_a_simulation_on_the_new_board_takes_the_measured_time(ffslab: Command, tmp_path: Path) -> None:
    Bench().write_loops(tmp_path / "loops.csv")
    assert ffslab("calibrate", "--loops", "loops.csv", "--out", "mine").returncode == 0
    experiment = 'title = "x"\n[stack]\nboard = "mine/board.toml"\nfs = "none"\npartition_blocks = 10\n'
    experiment += '[[measure]]\nstep = "mtd_loop"\nop = "read"\ncount = 100\n'
    (tmp_path / "x.toml").write_text(experiment)
    [variant] = json.loads(ffslab("run", "x.toml", "--json").stdout)["variants"]
    written = board(tmp_path / "mine")
    assert variant["time_us"] == pytest.approx(100 * written["driver"]["read_us"]["value"], rel=1e-4)
    assert variant["energy_uJ"]["cpu"] == pytest.approx(100 * written["driver"]["read_cpu_uJ"]["value"], rel=1e-4)
    idle_uj = written["idle"]["cpu_mW"]["value"] * variant["time_us"] / 1e3
    assert variant["energy_with_idle_uJ"]["cpu"] == pytest.approx(variant["energy_uJ"]["cpu"] + idle_uj)


def test_a_power_capture_gives_the_energies_that_the_log_lacks(ffslab: Command, tmp_path: Path) -> None:
    bench = Bench(repeats=2)
    bench.write_loops(tmp_path / "loops.csv", power=False)
    bench.write_capture(tmp_path / "capture.csv")
    done = ffslab("calibrate", "--loops", "loops.csv", "--power", "capture.csv", "--out", "with")
    assert done.returncode == 0, done.stderr
    check_driver(board(tmp_path / "with"), bench, energy=True)
    assert holds(board(tmp_path / "with")["idle"]["memory_mW"], 147.8)
    done = ffslab("calibrate", "--loops", "loops.csv", "--out", "without")
    assert "no power columns: the profile gets no energies" in done.stdout
    check_driver(board(tmp_path / "without"), bench, energy=False)


def test_logs_of_the_probe_kit_give_the_times_of_operations(ffslab: Command, tmp_path: Path) -> None:
    bench = Bench()
    flash, functions = bench.write_probe_logs(tmp_path)
    done = ffslab("calibrate", "--probe", flash, "--probe", functions, "--json")
    assert done.returncode == 0, done.stderr
    check_driver(board(tmp_path / "results/calibrate-flashmon"), bench, energy=False)
    found = {entry["key"]: entry for entry in json.loads(done.stdout)["constants"]}
    assert found["loop.driver_call_us"]["value"] == pytest.approx(12, abs=1)
    assert found["driver.read_us"]["measurements"] == 300


def test_a_profile_of_the_same_board_keeps_what_was_known(tmp_path: Path) -> None:
    Bench().write_loops(tmp_path / "first.csv")
    first = verb.calibrate(Inputs(loops=tmp_path / "first.csv"))
    verb.save(first, tmp_path / "mine")
    part = json.loads(profile("micron-slc-omap3evm"))
    keys = "\n".join(
        f'{v["key"]} = {{ value = {json.dumps(v["value"])}, source = "x", status = "datasheet" }}'
        for v in part["values"]
    )
    (tmp_path / "mine/own-part.toml").write_text(f'title = "own"\n{keys}\n')
    text = (tmp_path / "mine/board.toml").read_text().replace('"micron-slc-omap3evm"', '"./own-part.toml"')
    (tmp_path / "mine/board.toml").write_text(text)
    bench = Bench(time_us={"erase": 700.0})
    bench.write_loops(tmp_path / "erases.csv", power=False)
    second = verb.calibrate(Inputs(loops=tmp_path / "erases.csv", base=str(tmp_path / "mine/board.toml")))
    verb.save(second, tmp_path / "next")
    written, before = board(tmp_path / "next"), board(tmp_path / "mine")
    assert holds(written["driver"]["erase_us"], 700.0)
    assert "erase_cpu_uJ" not in written["driver"], "an energy belongs to the time that it was measured with"
    assert written["driver"]["read_us"] == before["driver"]["read_us"]
    assert written["part"] == "./part.toml"
    assert (tmp_path / "next/part.toml").read_text() == (tmp_path / "mine/own-part.toml").read_text()


def test_the_profile_shows_the_interval(tmp_path: Path) -> None:
    Bench().write_loops(tmp_path / "loops.csv")
    verb.save(verb.calibrate(Inputs(loops=tmp_path / "loops.csv")), tmp_path / "mine")
    shown = {value["key"]: value for value in json.loads(profile(str(tmp_path / "mine/board.toml")))["values"]}
    assert shown["driver.read_us"]["ci95"] == board(tmp_path / "mine")["driver"]["read_us"]["ci95"]
    assert "ci95" not in shown["ecc"]


# ---- what measurements do not tell --------------------------------------------------------------------------


def test_loops_of_one_length_cannot_tell_the_start_of_a_loop(tmp_path: Path) -> None:
    Bench(counts=(512,), repeats=6).write_loops(tmp_path / "loops.csv", power=False)
    done = verb.calibrate(Inputs(loops=tmp_path / "loops.csv"))
    assert any("read: all loops have the same n" in warning for warning in done.warnings)


def test_operations_that_were_not_measured_are_named(tmp_path: Path) -> None:
    Bench(time_us={"read": 185.0}).write_loops(tmp_path / "loops.csv")
    done = verb.calibrate(Inputs(loops=tmp_path / "loops.csv"))
    assert any("no loops of program, erase" in warning for warning in done.warnings)
    written = tomllib.loads(done.toml)
    assert written["driver"]["program_us"]["status"] == "unverified"


def test_two_measurements_that_contradict_each_other_are_named(tmp_path: Path) -> None:
    Bench().write_loops(tmp_path / "loops.csv")
    probe = Bench(time_us={"read": 240.0, "program": 407.6, "erase": 536.4}).write_probe_logs(tmp_path)
    done = verb.calibrate(Inputs(loops=tmp_path / "loops.csv", probe=probe))
    [doubt] = [warning for warning in done.warnings if warning.startswith("driver.read_us: 18")]
    assert "but 240.1" in doubt and "the first one is written" in doubt


def test_an_idle_power_that_drifts_is_said(tmp_path: Path) -> None:
    bench = Bench(repeats=1)
    log = loops.read(bench.write_loops(tmp_path / "loops.csv", power=False))
    lines = bench.write_capture(tmp_path / "capture.csv").read_text().splitlines()
    drifting = [lines[0]]
    for row, line in enumerate(lines[1:]):
        time_s, cpu_w, memory_w = map(float, line.split(","))
        drifting.append(f"{time_s},{cpu_w + 0.03 * row / len(lines)},{memory_w}")
    (tmp_path / "capture.csv").write_text("\n".join(drifting))
    found = power_capture.with_power(log, power_capture.read(tmp_path / "capture.csv"))
    assert any("idle power of the cpu rail goes from 2" in warning for warning in found.warnings)
    assert not any("memory rail" in warning for warning in found.warnings)


def test_what_the_kernel_does_now_and_then_is_no_loop(tmp_path: Path) -> None:
    """Between two loops the CPU is busy for 15 ms; the shortest loop takes 50."""
    bench = Bench(repeats=1)
    log = loops.read(bench.write_loops(tmp_path / "loops.csv", power=False))
    lines = bench.write_capture(tmp_path / "capture.csv").read_text().splitlines()
    for row in range(201, 231):
        time_s, _, memory_w = lines[row].split(",")
        lines[row] = f"{time_s},0.5,{memory_w}"
    (tmp_path / "capture.csv").write_text("\n".join(lines))
    capture = power_capture.read(tmp_path / "capture.csv")
    assert len(power_capture.find_loops(capture)[0]) == 13
    idle = power_capture.with_power(log, capture).of("idle")["cpu_mW"]
    assert idle.mean() == pytest.approx(269, abs=0.5)


def test_loops_that_draw_little_are_found_beside_those_that_draw_much(tmp_path: Path) -> None:
    """Erases for which the CPU sleeps, and which take most of the time."""
    bench = Bench(
        repeats=1,
        time_us={"read": 185.0, "erase": 5000.0},
        cpu_uj={"read": 34.6, "erase": 80.0},
        memory_uj={"read": 2.2, "erase": 8.5},
    )
    capture = power_capture.read(bench.write_capture(tmp_path / "capture.csv", noise_w=0.002))
    found, idle = power_capture.find_loops(capture)
    assert (len(found), len(idle)) == (8, 9)
    assert found[-1].power_mW["cpu"] == pytest.approx(269 + 16, abs=2)


def test_the_integral_over_a_loop_is_its_energy(tmp_path: Path) -> None:
    bench = Bench(repeats=1, counts=(4096,))
    found, idle = power_capture.find_loops(power_capture.read(bench.write_capture(tmp_path / "capture.csv")))
    assert (len(found), len(idle)) == (3, 4)
    for stretch, (_, _, time_us, cpu_mw, memory_mw) in zip(found, bench.loops(), strict=True):
        assert stretch.time_us == pytest.approx(time_us, rel=0.01)
        assert stretch.energy_uJ["cpu"] == pytest.approx(cpu_mw * time_us / 1e3, rel=0.01)
        assert stretch.energy_uJ["memory"] == pytest.approx(memory_mw * time_us / 1e3, rel=0.01)


def test_lost_events_and_logs_without_end_are_said(tmp_path: Path) -> None:
    flash, functions = Bench().write_probe_logs(tmp_path)
    flash.write_text(flash.read_text().replace("lost=0", "lost=7"))
    functions.write_text(functions.read_text().rsplit("# end", 1)[0])
    said = probe_logs.observations([flash, functions]).warnings
    assert any("flashmon.log" in line and "7" in line for line in said)
    assert any("funcmon.log" in line and "end" in line for line in said)


# ---- bad input ----------------------------------------------------------------------------------------------

HEAD = "operation,n,time_us\n"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("n,time_us\n1,2\n", "no column operation; it has n, time_us"),
        ("operation,n,time\nread,1,2\n", "no column for time: one of time_s, time_ms, time_us, time_ns is needed"),
        (HEAD + "reed,1,2\n", "row 1 below the head: operation 'reed': it is read, program, erase, write, idle"),
        (HEAD + "read,1,2\nread,2,x\n", "row 2 below the head: time_us = 'x' is no number"),
        (HEAD + "read,1,2\nread,0,5\n", "row 2 below the head: a loop has n of 1 or more"),
        (HEAD + "read,1,2\nread,2,-5\n", "row 2 below the head: a loop has n of 1 or more and a time above 0"),
        (HEAD, "holds no rows"),
        ("", "is no table"),
        (HEAD + "read,10,1\nread,20,2\nread,40,4\n", "driver.read_us = 0.1 us is less than the chip and the bus need"),
        ("operation,n,time_us\nidle,0,5\n", "the measurements determine no constant"),
    ],
)
def test_a_log_that_cannot_be_used_says_why(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "loops.csv").write_text(text)
    with pytest.raises(InputError) as refused:
        verb.run(Inputs(loops=tmp_path / "loops.csv"), tmp_path / "out", json=False)
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)
    assert {path.name for path in tmp_path.iterdir()} == {"loops.csv"}, "nothing half-written is left"


def test_bad_input_is_one_line_and_exit_code_2(ffslab: Command, tmp_path: Path) -> None:
    done = ffslab("calibrate", "--loops", "none.csv")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "ffslab: none.csv: cannot read the table: no such file or directory\n"
    assert not list(tmp_path.iterdir())


def test_options_that_do_not_go_together_are_refused(tmp_path: Path) -> None:
    log = Bench(repeats=2).write_loops(tmp_path / "loops.csv")
    capture = Bench(repeats=1).write_capture(tmp_path / "capture.csv", rate_hz=500)
    few = Bench(repeats=1, counts=(1024, 2048)).write_loops(tmp_path / "few.csv")
    other_order = Bench(repeats=1, counts=(2048, 1024)).write_capture(tmp_path / "order.csv", rate_hz=500)
    flash, _ = Bench().write_probe_logs(tmp_path)
    for inputs, complaint in [
        (Inputs(), "nothing was measured: give --loops"),
        (Inputs(power=capture), "--power: a capture belongs to a log of loops"),
        (Inputs(probe=[flash]), "--probe: no funcmon log"),
        (Inputs(probe=[log]), "unknown header"),
        (Inputs(loops=log, base="omap3ev"), "did you mean `omap3evm`?"),
        (Inputs(loops=log, base="6.1"), "--base 6.1: is a kernel; `ffslab profiles` lists the boards"),
        (Inputs(loops=log, part="./none.toml"), "none.toml: cannot read the profile: no such file"),
        (Inputs(loops=log, part="/dev/zero"), "/dev/zero: cannot read the profile: it is a device"),
        (Inputs(loops=log, power=capture), "shows 12 loops"),
        (Inputs(loops=few, power=other_order), "another run"),
    ]:
        with pytest.raises(InputError) as refused:
            verb.run(inputs, tmp_path / "out", json=False)
        assert complaint in str(refused.value)
        assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("time_s,cpu_W\n" + "\n".join(f"{i / 100},0.27" for i in range(200)), "no loop stands out from idle"),
        (
            "time_s,cpu_W\n" + "\n".join(f"{i % 100},0.27" for i in range(200)),
            "row 101 below the head: time does not go on",
        ),
        ("time_s,cpu_W\n0,1\n1,2\n", "2 samples: a capture needs 50 or more"),
        ("time_s,core_W\n" + "\n".join(f"{i},0.27" for i in range(200)), "no column of a rail: cpu_W or memory_W"),
    ],
)
def test_a_capture_that_cannot_be_used_says_why(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "capture.csv").write_text(text)
    with pytest.raises(InputError, match=complaint.replace("(", r"\(")):
        power_capture.find_loops(power_capture.read(tmp_path / "capture.csv"))


def test_units_and_separators_are_taken_as_they_come(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "# a comment\noperation; n; time_ms; power_cpu_W\nwrite; 10; 4.1; 0.45\nidle; 0; 1000; 0.27\n"
    )
    table = loops.read(tmp_path / "a.csv").table
    assert table["time_us"].tolist() == pytest.approx([4100, 1e6])
    assert table["cpu_mW"].tolist() == pytest.approx([450, 270])
    assert table["operation"].tolist() == ["program", "idle"]


# ---- what was measured in part ---------------------------------------------------------------------------------


def test_a_base_without_times_needs_all_operations_measured(ffslab: Command, tmp_path: Path) -> None:
    """Nobody has published driver times of apf27."""
    Bench(time_us={"read": 185.065}).write_loops(tmp_path / "loops.csv", power=False)
    line = ffslab("calibrate", "--loops", "loops.csv", "--base", "apf27").stderr
    assert line.startswith(
        "ffslab: --base apf27: has no times of program and erase (driver.program_us, driver.erase_us)"
    )
    assert "ffslab-probe bench loops" in line and "such as omap3evm" in line
    assert not (tmp_path / "results").exists()
    assert ffslab("calibrate", "--loops", "loops.csv", "--base", "omap3evm").returncode == 0


def test_one_rail_is_enough(tmp_path: Path) -> None:
    """The other rail's idle power is the base's; where it has none, the profile has no idle power, and this is said."""
    rows = "operation,n,time_us,power_cpu_mW\n"
    for operation, each_us in (("read", 190), ("program", 510), ("erase", 2540)):
        rows += "".join(f"{operation},{n},{400 + n * each_us},456\n" for n in (200, 400, 800))
    (tmp_path / "loops.csv").write_text(rows + "idle,0,1000000,269.1\n")
    verb.run(Inputs(tmp_path / "loops.csv", base="omap3evm"), tmp_path / "with", json=False)
    idle = board(tmp_path / "with")["idle"]
    assert (idle["cpu_mW"]["value"], idle["cpu_mW"]["status"]) == (269.1, "measured")
    assert (idle["memory_mW"]["value"], idle["memory_mW"]["status"]) == (147.8, "unverified")
    text = verb.run(Inputs(tmp_path / "loops.csv", base="apf27"), tmp_path / "without", json=False)
    assert "idle.memory_mW: not measured, nor in apf27: the profile has no idle power" in text
    assert "idle" not in board(tmp_path / "without")
