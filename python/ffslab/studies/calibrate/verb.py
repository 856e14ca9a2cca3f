"""The verb: measurements in; a board profile, a table, a report with residual plots out."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from ffslab._native import InputError, is_path
from ffslab.answers.calibration import BootLine
from ffslab.files import results
from ffslab.studies.calibrate import board_profile, boot_logs, boots, driver_times, loops, power_capture, probe_logs
from ffslab.studies.calibrate.board_profile import Measured
from ffslab.studies.calibrate.boots import BOARD, Draft
from ffslab.studies.calibrate.calibration import ALIGN, BOOT_ALIGN, Calibration, boot_table, table
from ffslab.studies.calibrate.observations import Observations
from ffslab.studies.calibrate.regression import Fit, Method, fit
from ffslab.text.tables import text_table

if TYPE_CHECKING:
    import pandas as pd

CALIBRATION = "calibration.json"
MEASUREMENTS = "measurements.parquet"
FILES = frozenset({BOARD, CALIBRATION, MEASUREMENTS, results.REPORT, "part.toml", "part-base.toml", "kernel.toml"})
DRIVER_TIMES = ("driver.read_us", "driver.program_us", "driver.erase_us")
IDLE_POWERS = ("idle.cpu_mW", "idle.memory_mW")
# Keys of constants that are found but belong into no profile.
HELPERS = ("loop.",)


@dataclass(frozen=True)
class Inputs:
    """What was measured. `base`: name or path of the profile that stands for what was not."""

    loops: Path | None = None
    power: Path | None = None
    probe: list[Path] = field(default_factory=list)
    traces: list[Path] = field(default_factory=list)
    record_bytes: list[int] = field(default_factory=list)
    base: str = "omap3evm"
    part: str | None = None
    title: str | None = None
    method: Method = Method.LINEAR
    # Read logs with more events than is usual.
    large: bool = False
    speedtest: Path | None = None
    boot_log: Path | None = None

    @property
    def same_board(self) -> bool:
        """A profile of the user's own is of the board that he measures, a built-in one of another."""
        return is_path(self.base)


def refuse_beside_flashbench(*others: object) -> None:
    """Errors: measurements of a board beside those of a card."""
    if any(others):
        raise InputError(
            "--flashbench: makes the profile of a card, the other measurements that of a board: give them apart"
        )


def run(inputs: Inputs, out: Path | None, *, json: bool) -> str:
    """Does all of it; what is to be printed."""
    logs = [inputs.loops, inputs.speedtest, *inputs.probe, *inputs.traces]
    measured = next((log for log in logs if log is not None), Path("nothing"))
    folder = out if out is not None else Path("results") / f"calibrate-{measured.name.partition('.')[0]}"
    results.check_free(folder, FILES, CALIBRATION)
    done = calibrate(inputs)
    save(done, folder)
    return results.dump_json(done.as_dict()).rstrip() if json else text(done, folder)


def collect(inputs: Inputs) -> tuple[list[Observations], list[str]]:
    """(observations of all measurements, what is to be said about them).

    Errors: no measurements, or files that do not go together.
    """
    if inputs.power is not None and inputs.loops is None:
        raise InputError("--power: a capture belongs to a log of loops: give --loops as well")
    if inputs.boot_log is not None and inputs.speedtest is None:
        raise InputError(
            "--bootlog: what attaching takes beside reading is known where --speedtest says what reading takes"
        )
    if inputs.loops is None and inputs.speedtest is None and not inputs.probe and not inputs.traces:
        raise InputError(
            "calibrate: nothing was measured: give --loops, --speedtest, --traces, --flashbench, or --probe with logs "
            "of flashmon and funcmon"
        )
    found: list[Observations] = []
    said: list[str] = []
    if inputs.loops is not None:
        log = loops.read(inputs.loops)
        if inputs.power is not None:
            log = power_capture.with_power(log, power_capture.read(inputs.power))
        found += loops.observations(log)
        said += loops.notes(log)
    if inputs.speedtest is not None:
        sizes, observed = boot_logs.speedtest(inputs.speedtest)
        boots.check_sizes(inputs.speedtest, sizes, inputs.part or board_profile.named_by(inputs.base, "part"))
        found.append(observed)
    if inputs.probe:
        found.append(probe_logs.observations(inputs.probe, large=inputs.large))
    if inputs.traces:
        found.append(_traces(inputs))
    return found, said


def _traces(inputs: Inputs) -> Observations:
    from ffslab.measured.compare.sessions import traced_machine
    from ffslab.measured.compare.trace_folder import recordings
    from ffslab.studies.calibrate import board_traces
    from ffslab.terminal.progress import progress_bar

    sessions = recordings(*inputs.traces, record_bytes=inputs.record_bytes)
    with progress_bar("sessions") as progress:
        return board_traces.observations(sessions, traced_machine(inputs.base), progress)


def calibrate(inputs: Inputs) -> Calibration:
    """Reads, fits, and writes the text of a profile.

    Errors: those of the readers; no constant could be found.
    """
    observed, said = collect(inputs)
    fits = [fit(of, inputs.method) for of in observed]
    for of in fits:
        said += [warning for warning in of.warnings if warning not in said]
    measured, doubts = chosen(fits)
    if not measured:
        raise InputError("calibrate: the measurements determine no constant: " + "; ".join([*said, *doubts]))
    measured, half = _whole(inputs, measured)
    doubts += half
    title = inputs.title or f"A board, calibrated from {' and '.join(sorted({_files(of) for of in fits}))}"
    named = {
        "part": board_profile.named_by(inputs.base, "part"),
        "kernel": board_profile.named_by(inputs.base, "kernel"),
    }
    named["part"] = inputs.part or named["part"]
    # What is no built-in profile goes with the new one, so that its folder can be moved.
    files: dict[str, Path | str] = {f"{kind}.toml": Path(name) for kind, name in named.items() if is_path(name)}
    if inputs.speedtest is not None:
        own = "./part-base.toml" if is_path(named["part"]) else None
        faster, lacks = driver_times.part_as_measured(measured, named["part"], own)
        doubts += lacks
        if faster is not None:
            if own is not None:
                files["part-base.toml"] = files["part.toml"]
            files["part.toml"] = faster
    part, kernel = (f"./{kind}.toml" if f"{kind}.toml" in files else name for kind, name in named.items())

    def toml_of(constants: list[Measured]) -> str:
        return board_profile.board_toml(
            inputs.base, title, constants, part=part, kernel=kernel, same_board=inputs.same_board
        )

    def draft(constants: list[Measured]) -> Draft:
        return Draft(toml_of(constants), files)

    if inputs.speedtest is not None:
        measured, lacks = driver_times.as_the_part_needs(measured, named["part"], draft)
        doubts += lacks
    boot: list[BootLine] = []
    if inputs.boot_log is not None:
        seen = boots.explained(inputs.boot_log, named["part"], measured, draft)
        measured, boot = seen.measured, seen.lines
        doubts += seen.doubts
    return Calibration(title, inputs.base, fits, measured, [*said, *doubts], toml_of(measured), files, boot)


def chosen(fits: list[Fit]) -> tuple[list[Measured], list[str]]:
    """(constants for the profile, doubts). Of two values of a constant the first one is taken."""
    measured: dict[str, Measured] = {}
    doubts = []
    for of in fits:
        for constant in of.constants.values():
            if constant.key.startswith(HELPERS) or not constant.identified:
                continue
            if constant.value < 0:
                doubts.append(f"{constant.key}: {constant.value:.4g} is less than nothing: it is not written")
                continue
            new = Measured(constant.key, constant.value, constant.ci95, _source(of))
            if constant.ci95 is not None:
                new = Measured(
                    constant.key, constant.value, (max(0.0, constant.ci95[0]), constant.ci95[1]), _source(of)
                )
            before = measured.setdefault(constant.key, new)
            if before is not new and not _overlap(before, new):
                doubts.append(
                    f"{constant.key}: {before.value:.4g} ({before.source}), but {new.value:.4g} ({new.source}): "
                    "the first one is written"
                )
    return list(measured.values()), doubts


def _whole(inputs: Inputs, measured: list[Measured]) -> tuple[list[Measured], list[str]]:
    """(what can stand in a profile, doubts): times of the driver and idle powers of the rails come all or not at all.

    Errors: times of operations that neither were measured nor stand in the base.
    """
    times = board_profile.missing(inputs.base, measured, DRIVER_TIMES)
    if times:
        absent = " and ".join(key.removeprefix("driver.").removesuffix("_us") for key in times)
        raise InputError(
            f"--base {inputs.base}: has no times of {absent} ({', '.join(times)}), and they were not measured: measure "
            "them as well (`ffslab-probe bench loops` with --confirm), or name a base that has them, such as omap3evm"
        )
    rails = board_profile.missing(inputs.base, measured, IDLE_POWERS)
    if not rails:
        return measured, []
    doubt = f"{rails[0]}: not measured, nor in {inputs.base}: the profile has no idle power, which needs both rails"
    return [constant for constant in measured if constant.key not in IDLE_POWERS], [doubt]


def save(done: Calibration, folder: Path) -> Path:
    """Writes the results folder.

    Errors: a profile that no simulation could load, such as one with a time that is less than the chip's own.
    """
    from ffslab.studies.calibrate import report

    def write(fresh: Path) -> None:
        place = Draft(done.toml, done.files).write(fresh)
        try:
            board_profile.check(place)
        except InputError as error:
            raise InputError(
                f"the profile cannot be used: {str(error).removeprefix(str(place)).lstrip(': ')}"
            ) from None
        (fresh / CALIBRATION).write_text(results.dump_json(done.as_dict()), encoding="utf-8")
        measurements(done.fits).to_parquet(fresh / MEASUREMENTS, index=False)
        (fresh / results.REPORT).write_text(report.html(done), encoding="utf-8")

    return results.replace(folder, write)


def measurements(fits: list[Fit]) -> pd.DataFrame:
    """A row for each measurement: the regression, its unit, what was measured, what the line says."""
    import pandas as pd

    frames = [
        pd.DataFrame({
            "regression": of.observations.what,
            "unit": of.observations.unit,
            "measured": of.observations.measured,
            "fitted": of.fitted,
        })
        for of in fits
    ]  # fmt: skip
    return pd.concat(frames, ignore_index=True)


def text(done: Calibration, folder: Path) -> str:
    """What the verb prints."""
    parts = [done.title, text_table(*table(done), ALIGN)]
    if done.boot:
        parts.append(text_table(*boot_table(done), BOOT_ALIGN))
    steps = done.as_dict()["clock_step_us"]
    if steps:
        parts.append("\n".join(f"Clock: steps of {step:.4g} us, found in {source}" for source, step in steps.items()))
    if done.warnings:
        parts.append("\n".join(["Warnings:", *(f"  {warning}" for warning in done.warnings)]))
    parts.append(f"Profile: {folder / BOARD}\nReport: {folder / results.REPORT}")
    return "\n\n".join(parts)


def _source(of: Fit) -> str:
    """For the profile: no folders, which mean nothing on other machines."""
    r2 = "" if of.r2 is None else f", R2 {of.r2:.5f}"
    how = "mean" if of.r2 is None else f"{of.method.value} regression"
    return f"{_files(of)}: {of.observations.what}: {how} over {len(of.fitted)} measurements{r2}"


def _files(of: Fit) -> str:
    return " with ".join(Path(name).name for name in of.observations.source.split(" with "))


def _overlap(a: Measured, b: Measured) -> bool:
    if a.ci95 is None or b.ci95 is None:
        return True
    return a.ci95[0] <= b.ci95[1] and b.ci95[0] <= a.ci95[1]
