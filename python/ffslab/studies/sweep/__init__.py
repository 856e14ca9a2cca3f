"""Studies of many runs: which points of a space of settings are run, by whom, and what they say together.

study.py      what a study file says
axes.py       lists of values, and ranges of which values are drawn
design.py     the points: grid, samples, conditions between keys
workers.py    local processes, or a dask cluster
tasks.py      what a worker does: look at points, run them
running.py    what is not in the store is run; what is lost is tried again
results.py    the tables of runs and points
answers.py    best points, trade-offs, what matters
"""

from ffslab.studies.sweep.results import StudyResult
from ffslab.studies.sweep.study import Study

__all__ = ["Study", "StudyResult"]
