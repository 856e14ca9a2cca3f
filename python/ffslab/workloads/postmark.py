"""`ffslab postmark`: an experiment with one command file of Postmark, and its report."""

from __future__ import annotations

from pathlib import Path

from ffslab.answers.summary import PostmarkReport, Summary
from ffslab.api.experiment import Experiment
from ffslab.api.machine import Machine
from ffslab.files.inputs import check_is_input
from ffslab.text.summary import summary_text
from ffslab.text.tables import number


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


def reports(summary: Summary) -> list[PostmarkReport]:
    """What each `run` of the command file did."""
    found: list[PostmarkReport] = summary["variants"][0]["steps"][0]["postmark"]
    return found


def failures(summary: Summary) -> list[str]:
    """What went wrong in a `run`: operations that failed, files that ran out."""
    said = []
    for done in reports(summary):
        if done["failed_operations"]:
            said.append(f"{number(done['failed_operations'])} operations of Postmark failed: the notes say in what")
        if done["ran_out_of_files"]:
            said.append("Postmark ran out of files: give it more (set number) or fewer transactions")
    return said


def postmark_text(summary: Summary) -> str:
    """The blocks that the program prints, then what they cost."""
    blocks = [done["report"] for done in reports(summary) if "report_file" not in done]
    return "\n".join([*blocks, summary_text(summary)])
