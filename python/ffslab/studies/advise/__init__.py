"""Advice: which settings to take for a day's work, within limits.

question.py   what a question file says
taken.py      whether the workloads take the values of the axes
day.py        what a day costs at a point: the runs of all workloads together
search.py     which points are tried: a spread of them, then one change at a time
answer.py     what to take, how far from the limits, what would change it
text.py       the answer on one page
"""

from ffslab.studies.advise.question import Question

__all__ = ["Question"]
