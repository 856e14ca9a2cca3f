"""Constants from observations by regression, with confidence intervals, and a plain word where the data cannot tell.

The mathematics are those of well-kept libraries: ordinary least squares and Huber's robust regression of statsmodels,
non-negative least squares of scipy. Here stands what is asked of them and how their answers are judged.
"""

from __future__ import annotations

import warnings as python_warnings
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls
from statsmodels.regression.linear_model import OLS, RegressionResultsWrapper
from statsmodels.robust.norms import HuberT
from statsmodels.robust.robust_linear_model import RLM
from statsmodels.tools.sm_exceptions import SingularMatrixWarning

from ffslab.studies.calibrate.observations import Numbers, Observations

# A direction of the design whose singular value is less than this share of the largest one is none at all.
RANK_SHARE = 1e-10
# Belsley, Kuh and Welsch, "Regression Diagnostics" (1980), chapter 3: from a condition index of 30 on, constants that
# have more than half of their variance there are hard to tell apart.
CONDITION_MAX = 30.0
VARIANCE_SHARE = 0.5
# An interval that reaches further than this from the value, relatively, leaves the constant open.
WIDE = 0.25
# A residual of the robust line beyond so many of its standard deviations is an outlier.
OUTLIER_SD = 6.0


class Method(StrEnum):
    """How the constants are found."""

    LINEAR = "linear"
    ROBUST = "robust"
    NON_NEGATIVE = "non-negative"


@dataclass(frozen=True)
class Constant:
    """One constant. `identified`: the data determine it; `ci95`: None when no measurement is left over to judge it."""

    key: str
    value: float
    ci95: tuple[float, float] | None
    identified: bool
    note: str = ""


@dataclass(frozen=True)
class Fit:
    """What regression made of observations. `r2` is None when there is nothing that could be explained."""

    observations: Observations
    method: Method
    constants: dict[str, Constant]
    fitted: Numbers
    r2: float | None
    condition: float
    warnings: list[str] = field(default_factory=list)

    @property
    def residuals(self) -> Numbers:
        """Measured minus fitted, in the unit of the observations."""
        return self.observations.measured - self.fitted


def fit(observations: Observations, method: Method = Method.LINEAR) -> Fit:
    """The constants of `observations`."""
    if observations.bounded:
        method = Method.NON_NEGATIVE
    amounts = observations.amounts.to_numpy(dtype=float)
    scatter = np.ones(len(amounts)) if observations.scatter is None else observations.scatter
    # Divided by what they are expected to scatter, all measurements scatter alike.
    design, measured = amounts / scatter[:, None], observations.measured / scatter
    keys = [str(key) for key in observations.amounts.columns]
    never, entangled, close, condition, rank = _identifiability(design, keys)
    unknown = never | set().union(*entangled)
    warnings = list(observations.warnings)
    warnings += [f"{key}: does not occur in the data" for key in sorted(never)]
    warnings += [
        f"{_names(group)} cannot be told apart: they always occur in the same proportion" for group in entangled
    ]
    warnings += [
        f"{_names(group)} are hard to tell apart (condition {condition:.0f}): measure them in other proportions"
        for group in close
    ]
    with python_warnings.catch_warnings():
        # What statsmodels would say about a design without full rank is said above, with names.
        python_warnings.simplefilter("ignore", SingularMatrixWarning)
        # A division by the measurements that are left over, when none is: there are no intervals then.
        python_warnings.simplefilter("ignore", RuntimeWarning)
        values, intervals, outliers = _solve(design, measured, method)
    spare = len(design) - rank
    if spare <= 0:
        counted = f"{len(design)} measurements for {len(keys)} constants"
        warnings.append(f"{counted}: none is left over to say how far they can be trusted")
    warnings += [f"{observations.what}: {said}" for said in outliers]
    constants = {}
    for i, key in enumerate(keys):
        ci95 = (float(intervals[i, 0]), float(intervals[i, 1])) if spare > 0 else None
        note = ""
        if method is Method.NON_NEGATIVE and values[i] == 0.0 and key not in unknown:
            note = "at the bound: the data want no positive value"
        constant = Constant(key, float(values[i]), None if key in unknown else ci95, key not in unknown, note)
        constants[key] = constant
        if constant.ci95 and constant.identified and not note and not key.startswith("loop."):
            off = (constant.ci95[1] - constant.ci95[0]) / 2
            if off > WIDE * abs(constant.value):
                warnings.append(
                    f"{key}: {constant.value:.4g} +- {off:.2g}: the data leave it open, measure more or longer"
                )
    warnings += _too_coarse(observations)
    fitted = amounts @ values
    r2 = _r2(observations.measured, fitted, amounts)
    return Fit(observations, method, constants, fitted, r2, condition, warnings)


def _scaled(design: Numbers) -> Numbers:
    """Columns of length 1: whether constants can be told apart does not depend on their units."""
    length = np.linalg.norm(design, axis=0)
    return np.asarray(design / np.where(length == 0, 1, length))


def _identifiability(design: Numbers, keys: list[str]) -> tuple[set[str], list[list[str]], list[list[str]], float, int]:
    """(constants that never occur, groups that cannot be told apart, groups that hardly can, condition, rank)."""
    occurs = (design != 0).any(axis=0)
    never = {key for key, there in zip(keys, occurs, strict=True) if not there}
    names = [key for key in keys if key not in never]
    if not names:
        return never, [], [], 1.0, 0
    # The triangle has the directions of the design, and not its length.
    triangle = np.linalg.qr(_scaled(design[:, occurs]), mode="r")
    _, singular, directions = np.linalg.svd(triangle, full_matrices=True)
    singular = np.concatenate([singular, np.zeros(len(directions) - len(singular))])
    void = singular <= RANK_SHARE * singular[0]
    # Of the directions that the data say nothing about, those constants that have a part in them.
    entangled = _groups(np.abs(directions[void]) > 1e-6, names)
    found = singular[~void]
    condition = float(found[0] / found[-1])
    shares = directions[~void] ** 2 / found[:, None] ** 2
    shares = shares / shares.sum(axis=0)
    weak = (found[0] / found > CONDITION_MAX)[:, None] & (shares > VARIANCE_SHARE)
    close = [group for group in _groups(weak, names) if len(group) > 1 and not set(group) & set().union(*entangled)]
    return never, entangled, close, condition, len(found)


def _groups(members: NDArray[np.bool_], names: list[str]) -> list[list[str]]:
    """Sets of names by row, those that overlap put together."""
    groups: list[set[str]] = []
    for row in members:
        group = {name for name, member in zip(names, row, strict=True) if member}
        apart = [other for other in groups if not other & group]
        groups = [*apart, group.union(*(other for other in groups if other & group))] if group else groups
    return [[name for name in names if name in group] for group in groups]


def _solve(design: Numbers, measured: Numbers, method: Method) -> tuple[Numbers, Numbers, list[str]]:
    """(values, 95 % intervals, what is to be said about outliers)."""
    straight = _least_squares(design, measured)
    # Without scatter there is no scale, and nothing to be robust against.
    scatters = np.abs(straight.resid).max(initial=0.0) > 1e-9 * np.abs(measured).max(initial=0.0)
    robust = RLM(measured, design, M=HuberT()).fit() if scatters else None
    far = int((np.abs(robust.resid) > OUTLIER_SD * robust.scale).sum()) if robust is not None else 0
    counted = f"{far} of {len(measured)} measurements are far from the line"
    if method is Method.ROBUST and robust is not None:
        # Least squares on Huber's pseudo-values have the same solution, and intervals as those of all other methods.
        norm, scaled = robust.model.M, robust.resid / robust.scale
        pseudo = robust.fittedvalues + robust.scale * norm.psi(scaled) / norm.psi_deriv(scaled).mean()
        intervals = _least_squares(design, pseudo).conf_int()
        return robust.params, intervals, [f"{counted} and count less"] if far else []
    said = [f"{counted}: look at the residuals, or try --method robust"] if far else []
    if method is Method.NON_NEGATIVE:
        values, _ = nnls(design, measured)
        positive = values > 0
        # What is positive is what least squares find without the others; an upper bound of those is that of least
        # squares with them.
        intervals = np.maximum(straight.conf_int(), 0.0)
        if positive.any():
            intervals[positive] = np.maximum(_least_squares(design[:, positive], measured).conf_int(), 0.0)
        intervals[~positive, 0] = 0.0
        return values, intervals, said
    return straight.params, straight.conf_int(), said


def _least_squares(design: Numbers, measured: Numbers) -> RegressionResultsWrapper:
    """Ordinary least squares. Measurements need not scatter as they are expected to, so the intervals are those that
    allow for it (HC3: MacKinnon and White 1985), unless a single measurement decides a constant by itself."""
    plain = OLS(measured, design).fit()
    leverage = np.einsum("ij,ji->i", design, np.linalg.pinv(design))
    return plain if leverage.max(initial=0.0) > 1 - 1e-6 else plain.get_robustcov_results("HC3", use_t=True)


def _r2(measured: Numbers, fitted: Numbers, design: Numbers) -> float | None:
    """Share of the variance that is explained; around 0 where no combination of amounts is constant.

    None: all measurements are of the same amounts, so there is only their mean.
    """
    if (design == design[0]).all():
        return None
    ones = np.ones(len(measured))
    constant = np.linalg.lstsq(design, ones, rcond=None)[0]
    around = measured.mean() if np.allclose(design @ constant, ones) else 0.0
    total = float(((measured - around) ** 2).sum())
    return 1 - float(((measured - fitted) ** 2).sum()) / total if total > 1e-18 * float((measured**2).sum()) else None


def _too_coarse(observations: Observations) -> list[str]:
    """Measurements that are but a few steps of their instrument."""
    step = observations.resolution
    if not step:
        return []
    few = int((np.abs(observations.measured) < 100 * step).sum())
    if not few:
        return []
    return [
        f"{few} of {len(observations.measured)} measurements are less than 100 steps of the clock "
        f"({step:.4g} {observations.unit}): longer loops say more"
    ]


def _names(group: list[str]) -> str:
    return " and ".join([", ".join(group[:-1]), group[-1]] if len(group) > 1 else group)
