"""`ffslab postmark`: an experiment with one command file of Postmark, and its report."""

from __future__ import annotations

from pathlib import Path

from ffslab.answers.summary import PostmarkReport, Summary, VariantSummary
from ffslab.api.experiment import Experiment
from ffslab.api.machine import Machine
from ffslab.files.inputs import check_is_input
from ffslab.text.summary import summary_text
from ffslab.text.tables import number
from ffslab.text.variants import typical_of


def postmark_experiment(commands: Path, machine: Machine) -> Experiment:
    """The experiment that mounts an empty partition and runs the command file on it."""
    check_is_input(commands, "command file")
    data = {
        "title": f"Postmark, {commands.name}",
        "stack": machine.keys(),
        "setup": [{"step": "mount"}],
        # What is still in memory at the end costs as much as what is not.
        "measure": [{"step": "postmark", "file": str(commands.absolute())}, {"step": "sync"}],
    }
    return Experiment.from_data(data, str(commands))


def reports(variant: VariantSummary) -> list[PostmarkReport]:
    """What each `run` of the command file did."""
    return variant["steps"][0]["postmark"]


def failures(summary: Summary) -> list[str]:
    """What went wrong in a `run`: operations that failed, files that ran out."""
    said = []
    for variant in summary["variants"]:
        which = f"{variant['name']}: " if len(summary["variants"]) > 1 else ""
        for done in reports(variant):
            if done["failed_operations"]:
                failed = number(done["failed_operations"])
                said.append(f"{which}{failed} operations of Postmark failed: the notes say in what")
            if done["ran_out_of_files"]:
                said.append(f"{which}Postmark ran out of files: give it more (set number) or fewer transactions")
    return said


def postmark_text(summary: Summary) -> str:
    """The blocks that the program prints, of each machine, then what they cost."""
    typical = typical_of(summary)["variants"]
    blocks = []
    for variant in typical:
        blocks += [f"{variant['name']}\n"] if len(typical) > 1 else []
        blocks += [done["report"] for done in reports(variant) if "report_file" not in done]
    return "\n".join([*blocks, summary_text(summary)])
