"""Budgets as build servers read them: JUnit's XML, and the list that github-action-benchmark takes."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

from ffslab.answers.budgets import BudgetRow, BudgetsAnswer
from ffslab.studies.budgets.text import name_of, said_of
from ffslab.text.figures import declared

# Ends of names of figures that are units; other figures are counts, or have none.
_UNIT = re.compile(r"_(us|B|uJ)$")


def junit(answer: BudgetsAnswer) -> str:
    """A test case for each rule, as JUnit's XML."""
    failures = sum(not row["holds"] for row in answer["rows"])
    suite = ElementTree.Element(
        "testsuite", name="ffslab ci", tests=str(len(answer["rows"])), failures=str(failures), errors="0", skipped="0"
    )
    for row in answer["rows"]:
        case = ElementTree.SubElement(suite, "testcase", classname=name_of(row), name=row["rule"])
        if not row["holds"]:
            ElementTree.SubElement(case, "failure", message=said_of(row)).text = "\n".join(row["why"])
    ElementTree.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def benchmark(answer: BudgetsAnswer) -> str:
    """What github-action-benchmark calls `customSmallerIsBetter`: each figure once.

    It has one direction for a file, so those of which more is better are left out."""
    figures = {
        f"{name_of(row)}: {row['figure']}": _entry(row)
        for row in answer["rows"]
        if row["found"] is not None and not _more_is_better(row["figure"])
    }
    return json.dumps([{"name": name, **entry} for name, entry in figures.items()], indent=2) + "\n"


def _more_is_better(key: str) -> bool:
    figure = declared(key)
    return figure is not None and figure.better == "more"


def _entry(row: BudgetRow) -> dict[str, object]:
    unit = _UNIT.search(row["figure"])
    word = unit[1] if unit else "ratio" if "amplification" in row["figure"] else "count"
    return {"unit": word, "value": row["found"]}
