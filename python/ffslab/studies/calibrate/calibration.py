"""What a calibration found, as data and as a table."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ffslab._native import __version__
from ffslab.answers.calibration import BootLine, CalibratedConstant, CalibrationFacts
from ffslab.studies.calibrate.board_profile import Measured
from ffslab.studies.calibrate.regression import Constant, Fit


@dataclass(frozen=True)
class Calibration:
    """What came out. `measured`: what the profile gets."""

    title: str
    base: str
    fits: list[Fit]
    measured: list[Measured]
    warnings: list[str]
    toml: str
    # Other profiles that the new one needs, by their names beside it: files of the user's own, or texts.
    files: dict[str, Path | str]
    # What the log of a boot says beside what the new profile gives.
    boot: list[BootLine] = field(default_factory=list)

    def as_dict(self) -> CalibrationFacts:
        """What `calibration.json` holds."""
        steps = {of.observations.source: of.observations.resolution for of in self.fits if of.observations.resolution}
        return {
            "title": self.title,
            "ffslab": __version__,
            "base": self.base,
            "constants": [_entry(of, constant) for of in self.fits for constant in of.constants.values()],
            "clock_step_us": steps,
            "boot": self.boot,
            "warnings": self.warnings,
        }


ALIGN = "lrlrrr"
BOOT_ALIGN = "lrrr"


def table(done: Calibration) -> tuple[list[str], list[list[str]]]:
    """The constants, for the terminal and the report."""
    rows = []
    for of in done.fits:
        for constant in of.constants.values():
            entry = _entry(of, constant)
            value = _digits(constant.value)
            interval = " to ".join(map(_digits, constant.ci95)) if constant.ci95 else "not known"
            r2 = "-" if of.r2 is None else f"{of.r2:.6f}"
            shown = value if constant.identified else "not identified"
            rows.append([constant.key, shown, entry["unit"], interval, r2, str(len(of.fitted))])
    return ["constant", "value", "unit", "95 % interval", "R2", "measurements"], rows


def boot_table(done: Calibration) -> tuple[list[str], list[list[str]]]:
    """The lines of the boot log, for the terminal and the report."""
    rows = [
        [line["what"], f"{line['measured_s']:.3f}", f"{line['simulated_s']:.3f}", f"{line['unexplained_s']:+.3f}"]
        for line in done.boot
    ]
    return ["boot log", "measured, s", "this profile, s", "not explained, s"], rows


def _digits(value: float) -> str:
    """Four digits, zeros included; more before the decimal point when there are."""
    return f"{value:,.1f}" if abs(value) >= 1e3 else f"{value:#.4g}".removesuffix(".")


def _entry(of: Fit, constant: Constant) -> CalibratedConstant:
    return {
        "key": constant.key,
        "value": constant.value if constant.identified else None,
        "unit": "ns/B" if constant.key.endswith("_ns_per_B") else constant.key.rpartition("_")[2],
        "ci95": constant.ci95,
        "identified": constant.identified,
        "note": constant.note,
        "r2": of.r2,
        "condition": of.condition,
        "measurements": len(of.fitted),
        "method": of.method.value,
        "source": of.observations.source,
    }
