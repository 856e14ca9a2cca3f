"""Published measurements of other people's boards beside what ffslab simulates: `ffslab reproduce published`.

A folder of cases holds `published.jsonl`, a case a line, and the profiles and experiments that the cases name
(`boards`, `parts`, `exps`). The one that ships is `cases`; everything that is said of it holds for others as well.
"""

from ffslab.studies.reproduce.published.study import reproduce
from ffslab.studies.reproduce.published.words import text

__all__ = ["reproduce", "text"]
