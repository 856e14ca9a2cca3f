"""Figures of `ffslab reproduce`: what is known of the published curve stands beside ours, and all are told apart."""

from __future__ import annotations

import re
from functools import cache

import pytest

from ffslab.answers.reproduction import JudgedPaper
from ffslab.studies.reproduce import PAPERS
from ffslab.studies.reproduce.claims import Claims, Verdict
from ffslab.studies.reproduce.figures import GREY, OURS, REAL, Figure, Line, Published, stated
from ffslab.studies.reproduce.page import UNSTATED, report
from ffslab.studies.reproduce.words import answer
from helpers.planned_rows import series_of

# At 12 px a character: a longer name of an axis would be cut off.
LABEL_CHARACTERS = 34
# Its number is a share of time, of which there is no figure.
WITHOUT_FIGURE = {"FFS-1"}
# What a claim holds beside published numbers: how they are compared.
HOW = ("tolerance", "tolerance_points", "alike_factor", "overlap", "r2_min", "reads", "linear_factors", "far_factor")


@cache
def judged(paper: str) -> tuple[Claims, tuple[Figure, ...]]:
    of, claims, series = PAPERS[paper], Claims(paper), series_of(paper)
    if paper == "driver":
        of.judge(claims, series)
    return claims, tuple(of.figures(claims, series))


def answered(paper: str, claims: Claims) -> JudgedPaper:
    return {
        "paper": paper,
        "title": claims.title,
        "machine": "a board",
        "ffslab": "0",
        "set_up": None,
        "runs": 1,
        "claims": [claim.as_dict() for claim in claims],
    }


@pytest.mark.parametrize("paper", PAPERS)
def test_each_published_number_stands_in_a_figure(paper: str) -> None:
    claims, figures = judged(paper)
    drawn = {claim for figure in figures if figure.published for claim in figure.claims}
    in_numbers = {claim.id for claim in claims if set(claim.published) - set(HOW)}
    assert in_numbers - WITHOUT_FIGURE <= drawn
    for figure in figures:
        assert figure.says and figure.claims, figure.title
        # Where no value is stated, the figure says so or tells the shape in words.
        assert figure.published or re.search("no value|rises|grows|No value", figure.says), figure.title


def test_published_numbers_are_those_of_the_claims() -> None:
    claims, figures = judged("wear-gc")
    (erases,) = (one for one in figures if one.title.startswith("Figure 4, sequential writes: mean"))
    (jffs2,) = (one for one in erases.published if one.label.startswith("jffs2"))
    assert dict(zip(jffs2.x, jffs2.y, strict=True)) == {2: 2.7, 512: 1.8}
    low, high = jffs2.same[0]
    assert (low, high) == pytest.approx((2.7 * 0.7, 2.7 * 1.3))
    _, of_readahead = judged("readahead")
    (random,) = (one for one in of_readahead if one.title.startswith("Figure 3a, random"))
    (about,) = (one for one in random.published if one.same)
    assert dict(zip(about.x, about.y, strict=True)) == {8: 20, 16: 20, 32: 20, 256: 50}
    (table,) = (one for one in of_readahead if one.title == "Table 1: Postmark")
    assert [one.y for one in table.published] == [
        [2.86, 4.77, 7.63], [6.68, 7.63, 7.63], [6.68, 9.54, 14.30], [14.30, 14.30, 14.30],
    ]  # fmt: skip
    (same,) = stated(claims["WG-8"], "x", {2: 1.0}, 0, 10).same
    assert same == pytest.approx((7.0, 13.0))


@pytest.mark.parametrize("paper", PAPERS)
def test_curves_of_a_figure_are_told_apart(paper: str) -> None:
    _, figures = judged(paper)
    for figure in figures:
        spec = figure.drawn("x").data["x"]
        assert isinstance(spec, dict)
        looks = [(one["colour"], str(one.get("dash")), one["kind"]) for one in spec["series"]]
        lines = [look for one, look in zip(spec["series"], looks, strict=True) if not one.get("stated")]
        assert len({look[:2] for look in lines}) == len(lines), figure.title
        # A published constant may change at a size, and two bounds may be those of one curve.
        names = [one["name"] for one in spec["series"]]
        assert len(set(names)) == len(names), figure.title
        assert not {look[:2] for look in lines} & {look[:2] for look in looks if look not in lines}, figure.title
        assert len(figure.y_label) <= LABEL_CHARACTERS, figure.y_label


def test_the_verdict_stands_on_the_figure() -> None:
    claims, _ = judged("wear-gc")
    held = Claims("wear-gc")["WG-4"]
    claims = Claims("wear-gc")
    for _ in range(2):
        claims["WG-4"].shape("order", "rises", "falls", False)
    assert held.verdict is Verdict.NOT_RUN
    lines = [Line("jffs2, ffslab", [2, 4], [1, 2], 0, OURS), Line("jffs2, Linux", [2, 4], [1, 2], 0, REAL)]
    published = [Published("at most", [2, 4], [3, 3], GREY, joined=True)]
    shown = Figure("Shown", "x", "y", lines, published, ("WG-4", "WG-5"), "one bound (section 5).")
    other = Figure("Other", "x", "y", lines, (), ("WG-5",), "no value is stated.")
    html = report(answered("wear-gc", claims), [other, shown])
    figure = html[html.index('data-chart="figure-1"') :].split("</figure>")[0]
    assert "WG-4 not reproduced" in figure and "WG-5 not yet run" in figure
    assert "Published: one bound (section 5)." in figure
    # It leads to its claim.
    link = re.search(r'<a href="#([^"]+)"><span class="chip bad">WG-4', figure)
    assert link and f'<section id="{link[1]}"' in html
    # What has nothing of the publication in it stands behind what has, folded.
    assert html.index('data-chart="figure-1"') < html.index(f">{UNSTATED}</h2>") < html.index('data-chart="figure-0"')
    assert html.index('class="verdicts') < html.index('data-chart="figure-1"')


def test_a_number_stands_as_far_off_as_it_is() -> None:
    claims = Claims("wear-gc")
    for ours, theirs in ((1.0, 1.0), (1.3, 1.0), (0.4, 1.0), (9.0, 1.0)):
        claims["WG-4"].number("erases", theirs, ours)
    assert [reading.off for reading in claims["WG-4"].readings] == pytest.approx([0, 1, -2, 80 / 3])
    html = report(answered("wear-gc", claims), [])
    assert [float(at) for at in re.findall(r'<i class="ours[^"]*" style="left:([\d.]+)%', html)] == pytest.approx(
        [50, 61.4, 27.3, 95.5], abs=0.1
    )
    assert html.count('class="ours far-right"') == 1
    assert "2 of 4 numbers count as the same" in html


def test_the_answer_counts() -> None:
    claims = Claims("wear-gc")
    for name, holds in (("WG-1", True), ("WG-2", False), ("WG-3", True)):
        claims[name].shape("order", "rises", "so", holds)
    claims["WG-3"].number("time", 1.0, 2.0)
    said = answer(answered("wear-gc", claims))
    assert said == "1 of 9 claims comes out as published, 1 more in shape but not in every number; 6 were not yet run."
