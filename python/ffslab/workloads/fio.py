"""`ffslab fio`: an experiment with one job file, and its results in the shape of fio's own."""

from __future__ import annotations

from pathlib import Path

from ffslab._native import __version__
from ffslab.answers.summary import Summary, VariantSummary
from ffslab.api.experiment import Experiment
from ffslab.api.machine import Machine
from ffslab.files.inputs import check_is_input
from ffslab.text.fio import ALIGN, job_cells, report
from ffslab.text.summary import summary_text
from ffslab.text.tables import text_table
from ffslab.text.variants import typical_of

# The release whose options, defaults and random numbers are followed.
FOLLOWED = "fio-3.33"


def fio_experiment(jobfile: Path, machine: Machine, lenient: bool) -> Experiment:
    """The experiment that mounts an empty partition and runs the jobs of `jobfile` on it."""
    check_is_input(jobfile, "job file")
    data = {
        "title": f"fio jobs of {jobfile.name}",
        "stack": machine.keys(),
        "setup": [{"step": "mount"}],
        "measure": [{"step": "fio", "file": str(jobfile.absolute()), "lenient": lenient}],
    }
    return Experiment.from_data(data, str(jobfile))


def warnings(summary: Summary) -> list[str]:
    """What was left out of the job file, and what else differs from what one might expect."""
    return list(dict.fromkeys(text for variant in summary["variants"] for text in report(variant)["warnings"]))


def failures(summary: Summary) -> list[str]:
    """Jobs that ended in an error, and in which."""
    several = len(summary["variants"]) > 1
    return [
        f"{variant['name'] + ': ' if several else ''}job [{job['jobname']}] ended with {job['error_name']}"
        for variant in summary["variants"]
        for job in report(variant)["jobs"]
        if job["error"]
    ]


def fio_json(summary: Summary) -> dict[str, object]:
    """The results as fio prints them, plus `ffslab`: flash operations, energy, wear. Several machines are a list
    `variants` of these."""
    shaped = [_shaped(summary, variant) for variant in summary["variants"]]
    if len(shaped) == 1 and not summary.get("failed"):
        return shaped[0]
    named = zip(summary["variants"], shaped, strict=True)
    rows = [{"variant": variant["name"], **shape} for variant, shape in named]
    return {"variants": rows, "failed": summary.get("failed", []), "repeats": summary.get("repeats", [])}


def _shaped(summary: Summary, variant: VariantSummary) -> dict[str, object]:
    done = report(variant)
    return {
        "fio version": f"ffslab {__version__} (as {FOLLOWED})",
        "jobs": done["jobs"],
        "ffslab": {
            "version": summary["version"],
            "generator": done["generator"],
            "content_generator": summary["generator"],
            "seed": summary["seed"],
            "warnings": done["warnings"],
            "stack": variant["stack"],
            "time_us": variant["time_us"],
            "flash_operations": variant["totals"],
            "by_cause": variant["by_cause"],
            "causes": variant["causes"],
            "energy_uJ": variant["energy_uJ"],
            "erases_per_block": variant["erases_per_block"],
            "of_setup": variant["of_setup"],
            "write_amplification": variant["write_amplification"],
            "read_amplification": variant["read_amplification"],
        },
    }


def fio_text(summary: Summary) -> str:
    """A table of the jobs of each machine, then what they cost."""
    typical = typical_of(summary)["variants"]
    parts = []
    for variant in typical:
        parts += [variant["name"]] if len(typical) > 1 else []
        parts.append(text_table(*job_cells(report(variant)), ALIGN))
    return "\n\n".join([*parts, summary_text(summary)])
