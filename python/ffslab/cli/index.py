"""The verbs by purpose, and where each is declared: what the command knows without loading any of them.

A verb's sentence is the first one of its docstring, once more: `tests/cli/test_verb_table.py` compares them.
`ffslab --help` prints this table and imports nothing else, and a verb loads its own module alone.
"""

from __future__ import annotations

ABOUT = "Simulate embedded flash file systems: byte-real, in virtual time."
ENDINGS = (
    "Exit codes: 0 done, 1 negative answer (validate --max-error, damaged images, incomplete logs, failed "
    "operations of fio and postmark, variants that did not end), 2 bad input, 130 interrupted, 143 ended by SIGTERM."
)
EXAMPLE = "Example: ffslab run experiments/first-run/sqlite.toml"

# Options of the command itself: value, meaning.
OPTIONS = {
    "--version": ("", "Print the version."),
    "--show-completion": ("SHELL", "Print the script with which bash, zsh or fish completes ffslab."),
    "--install-completion": ("SHELL", "Install it for bash, zsh or fish."),
    "--help": ("", "Show this message and exit."),
}

_MAIN = "ffslab.cli.main:app"
_WORKLOADS = "ffslab.cli.workload_verbs:add_to"
_MOUNTS = "ffslab.cli.mount_verbs:add_to"
_FIELD = "ffslab.cli.field_verbs:add_to"

# By purpose: the verb, the function that declares it or the group of verbs that it is, its sentence.
SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Workloads": {
        "new": ("ffslab.cli.new_verb:add_to", "Write a commented experiment from seven questions."),
        "run": (_MAIN, "Run an experiment: a table, a results folder, a report."),
        "replay": (_WORKLOADS, "Replay a recorded application."),
        "fio": (_WORKLOADS, "Run the jobs of a fio job file."),
        "postmark": (_WORKLOADS, "Run a command file of the program postmark."),
        "sqlite": (_WORKLOADS, "Run SQL with the real SQLite on a simulated file system."),
        "uflip": (
            "ffslab.cli.uflip_verb:add_to",
            "Run the uFLIP benchmark on block devices: phases, nine micro-benchmarks, tables, plots.",
        ),
    },
    "Answers": {
        "advise": (
            "ffslab.cli.advise_verb:add_to",
            "Tell which settings to take for a day's work, within limits.",
        ),
        "lifetime": (_FIELD, "Predict how long a part bears a workload."),
        "ageing": (
            "ffslab.cli.ageing_verb:add_to",
            "Tell how often a partition must be scrubbed, and what it loses.",
        ),
        "sweep": (
            "ffslab.cli.sweep_verb:add_to",
            "Run thousands of variants: the best, the trade-offs, what matters.",
        ),
        "diff": (
            "ffslab.cli.diff_verb:add_to",
            "Compare two results: what changed, and which step, reason or file it comes from.",
        ),
        "ci": (
            "ffslab.cli.ci_verb:add_to",
            "Check budgets of flash operations, wear and time, and tell what a change comes from.",
        ),
        "crashtest": (
            "ffslab.cli.crashtest_verb:add_to",
            "Cut the power of a workload at every flash operation and judge what a mount then shows.",
        ),
        "policy": ("ffslab.cli.policy_verbs:policy_app", "List and explain the policies of [stack.policy]."),
    },
    "Images": {
        "inspect": (_FIELD, "Look into a flash image: files, space, wear, damage, costs."),
        "extract": (_MAIN, "List or extract the files of a flash image."),
    },
    "Mounts": {
        "mount": (_MOUNTS, "Mount a simulated file system for real programs."),
        "stat": (_MOUNTS, "Show what a mount has done so far."),
        "checkpoint": (_MOUNTS, "Save what the chip of a mount holds now."),
    },
    "Boards and measurements": {
        "profiles": (
            "ffslab.cli.profiles_verbs:profiles_app",
            "List chips, boards, kernels; show where numbers are from; begin your own.",
        ),
        "calibrate": (_MAIN, "Make a board profile from measurements."),
        "trace": (
            "ffslab.cli.trace_verbs:trace_app",
            "Recordings and logs of flash: convert, report, compare, draw.",
        ),
        "compare": (_MAIN, "Replay SQLite traces of a board and compare with them."),
        "reference": (
            "ffslab.cli.reference_verbs:reference_app",
            "Measure experiments on a real Linux kernel in QEMU.",
        ),
        "validate": (_MAIN, "Compare simulations with measured cases."),
        "reproduce": (_MAIN, "Do a published study again: claims and figures beside ours."),
    },
    "Your own code": {
        "foreign": (
            "ffslab.cli.foreign_verbs:foreign_app",
            "Compile C programs for simulated chips, and read their results.",
        ),
    },
    "The command": {
        "steps": (
            "ffslab.cli.vocabulary_verbs:add_to",
            "List the steps of experiments, or explain one: its keys, units, defaults, and an example.",
        ),
        "schema": (_MAIN, "Print the JSON Schema of experiment files, or of a result."),
        "store": ("ffslab.cli.store_verbs:store_app", "List, remove, merge and verify kept runs and lives."),
        "doctor": ("ffslab.cli.doctor_verb:add_to", "Tell what is installed, and what is missing for what."),
        "man": ("ffslab.cli.man_verb:add_to", "Write the manual pages of all verbs."),
    },
}

HOMES = {name: home for verbs in SECTIONS.values() for name, (home, _) in verbs.items()}


def help_text(width: int) -> str:
    """What `ffslab --help` prints, in lines of at most so many characters."""
    parts = [f"Usage: ffslab [OPTIONS] COMMAND [ARGS]...\n\n  {ABOUT}\n"]
    flags = {f"{flag} {value}".strip(): about for flag, (value, about) in OPTIONS.items()}
    parts.append(_section("Options", flags, width))
    for title, verbs in SECTIONS.items():
        parts.append(_section(title, {name: about for name, (_, about) in verbs.items()}, width))
    parts += [_wrapped(text, width, 2) for text in (ENDINGS, EXAMPLE)]
    return "\n".join(parts)


def _section(title: str, rows: dict[str, str], width: int) -> str:
    margin = 4 + max(map(len, rows))
    lines = [f"{title}:\n"]
    for name, about in rows.items():
        lines.append(f"  {name}".ljust(margin) + _wrapped(about, width, margin).lstrip())
    return "".join(lines)


def _wrapped(text: str, width: int, margin: int) -> str:
    lines = [""]
    for word in text.split():
        if lines[-1] and margin + len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "".join(" " * margin + line + "\n" for line in lines)
