"""Budgets as build servers read them: JUnit's XML, and the list that github-action-benchmark takes."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree

from ffslab.answers.budgets import BudgetRow, BudgetsAnswer
from ffslab.studies.budgets.text import name_of, said_of

# Ends of names of figures that are units; other figures are counts, or have none.
_UNIT = re.compile(r"_(us|B|uJ)$")
# More of them is better: github-action-benchmark has one direction for a file.
_MORE_IS_BETTER = ("years", "years_until_worn_out")


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
    """What github-action-benchmark calls `customSmallerIsBetter`: each figure once."""
    figures = {
        f"{name_of(row)}: {row['figure']}": _entry(row)
        for row in answer["rows"]
        if row["found"] is not None and row["figure"] not in _MORE_IS_BETTER
    }
    return json.dumps([{"name": name, **entry} for name, entry in figures.items()], indent=2) + "\n"


def _entry(row: BudgetRow) -> dict[str, object]:
    unit = _UNIT.search(row["figure"])
    word = unit[1] if unit else "ratio" if "amplification" in row["figure"] else "count"
    return {"unit": word, "value": row["found"]}
