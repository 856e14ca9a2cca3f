"""From measurements of a board to its profile: `ffslab calibrate`.

Every kind of measurement has a reader that makes `Observations` of it: what was measured, as sums of constants times
known amounts. `regression.fit` finds the constants; `board_profile` writes them.
"""

from ffslab.studies.calibrate.observations import Observations
from ffslab.studies.calibrate.regression import Constant, Fit, Method, fit

__all__ = ["Constant", "Fit", "Method", "Observations", "fit"]
