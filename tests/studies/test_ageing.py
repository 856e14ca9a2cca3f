"""`ffslab ageing` and `experiments/ageing`: closed forms, the verb's answers, documented commands."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from ffslab import Experiment, InputError, steps
from ffslab.studies.ageing import Given, Seen, of_experiment
from ffslab.studies.ageing.odds import count_interval, count_odds, lost_between, lost_over
from helpers.command import ROOT, Command

FOLDER = ROOT / "experiments" / "ageing"
CAMERA = FOLDER / "camera.toml"
SHAPE = 2.0


def test_losses_between_two_scrubs_are_those_of_drawn_frames() -> None:
    """A frame's rate is Gamma, its errors a Poisson process: drawn 400,000 times."""
    random = np.random.default_rng(1)
    rates = random.gamma(SHAPE, 1 / SHAPE, 400_000)
    for before, after, threshold, corrected in ((0.1, 0.3, 1, 1), (0.5, 1.5, 3, 4)):
        first = random.poisson(rates * before)
        second = first + random.poisson(rates * (after - before))
        found = ((first < threshold) & (second > corrected)).mean()
        expected = lost_between(SHAPE, before, after, threshold, corrected)
        assert found == pytest.approx(expected, abs=4 * (expected / len(rates)) ** 0.5)


def test_a_single_scrub_at_the_end_loses_what_ecc_cannot_correct() -> None:
    study = of_experiment(CAMERA, Given(years=10, temperature_celsius=25))
    lost = study["scrubbing"]["choices"][-1]["expected_losses"]
    (shelf,) = [row for row in study["shelf"] if row["years"] == 10]
    # Gamma for Beta, and nothing else, makes them differ.
    assert lost == pytest.approx(shelf["frames_lost"], rel=1e-2)
    assert lost_over(SHAPE, [0.0, 0.2], 1, 1) == lost_between(SHAPE, 0.0, 0.2, 1, 1)


def test_more_scrubs_lose_less_and_the_longest_good_interval_is_told() -> None:
    study = of_experiment(CAMERA, Given(years=10, risk=0.5))["scrubbing"]
    losses = [choice["expected_losses"] for choice in study["choices"]]
    assert losses == sorted(losses)
    good = [choice["days"] for choice in study["choices"] if choice["any_loss"] <= 0.5]
    assert study["longest_days"] == max(good, default=None)


def test_a_promise_is_kept_for_its_years() -> None:
    study = of_experiment(FOLDER / "promise.toml", Given(years=10, temperature_celsius=25))
    assert study["scrubbing"]["longest_days"] == pytest.approx(3652.5)
    assert study["scrubbing"]["said"].startswith("No scrub is needed for 10 years")


def test_corrected_bits_are_judged() -> None:
    normal = of_experiment(CAMERA, Given(), Seen(0, None, 1.0))["corrected"]
    assert normal is not None
    expected = round(normal["expected"])
    assert normal["low"] <= expected <= normal["high"]
    answers = {}
    for count in (expected, 3 * expected + 50, 0):
        judged = of_experiment(CAMERA, Given(), Seen(count, None, 1.0))["corrected"]
        assert judged is not None
        answers[count] = judged["answer"]
    assert answers == {expected: "normal", 3 * expected + 50: "more", 0: "fewer"}
    at_least, at_most = count_odds(SHAPE, 0.01, 1000, 10)
    assert 0.4 < at_least < 0.7 and 0.4 < at_most < 0.7
    low, high = count_interval(SHAPE, 0.01, 1000)
    assert low < 10 < high


def test_nothing_is_said_of_a_chip_that_does_not_age(tmp_path: Path) -> None:
    file = tmp_path / "plain.toml"
    file.write_text(CAMERA.read_text().split("[stack.ageing]")[0] + '[[measure]]\nstep = "mount"\n')
    with pytest.raises(InputError, match=r"there is no \[stack.ageing\]"):
        of_experiment(file, Given())


def test_the_verb_prints_answers_and_draws(ffslab: Command, tmp_path: Path) -> None:
    drawn = tmp_path / "curve.svg"
    ran = ffslab("ageing", str(CAMERA), "--corrected", "100000", "--out", str(drawn))
    assert ran.returncode == 1 and "more than this part shows" in ran.stdout
    assert drawn.read_text().startswith("<svg")
    as_json = ffslab("ageing", str(CAMERA), "--json")
    assert as_json.returncode == 0 and json.loads(as_json.stdout)["corrected"] is None
    wrong = ffslab("ageing", str(CAMERA), "--age", "2y")
    assert wrong.returncode == 2 and "--corrected" in wrong.stderr


def test_counters_stand_in_the_table(ffslab: Command) -> None:
    stack = {
        "board": "omap3evm", "fs": "jffs2", "partition_blocks": 20,
        "ageing": {"endurance_erases": 3000, "pe_cycles": 1500, "retention_rate": 2e-6, "retention_years": 1.0},
    }  # fmt: skip
    setup = [steps.mount(), steps.create(file="f", bytes="1 MiB"), steps.umount()]
    run = Experiment.of("t", stack=stack, setup=setup, measure=[steps.shelf(days=2000.0), steps.scrub()]).run()  # type: ignore[arg-type]
    counters = run.summary["variants"][0]["counters"]
    assert counters["corrected_bits"] > 0
    from ffslab.text.summary import summary_text

    assert re.search(r"^corrected bits +\d", summary_text(run.summary), re.MULTILINE)


BLOCK = re.compile(r"^    (?:python|ffslab) .*$", re.MULTILINE)


def test_the_commands_of_the_page_print_what_stands_there(ffslab: Command) -> None:
    """Those of `ffslab`; the script's chips take a minute each."""
    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    pairs = re.findall(r"^    ffslab (ageing [^\n]*)\n\n```text\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert pairs
    for line, shown in pairs:
        ran = ffslab(*line.split(), cwd=ROOT)
        assert ran.stdout == shown, line
