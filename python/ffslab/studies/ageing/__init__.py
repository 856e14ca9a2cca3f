"""How a partition ages: how often it must be scrubbed, whether corrected bits are normal, what a shelf does to it."""

from ffslab.studies.ageing.study import Given, Seen, of_experiment
from ffslab.studies.ageing.text import picture, text

__all__ = ["Given", "Seen", "of_experiment", "picture", "text"]
