"""The verbs by purpose, and where each is declared: what the command knows without loading any of them.

A verb's sentence is the first one of its docstring, once more: `tests/cli/test_verb_table.py` compares them.
`ffslab --help` prints this table (of `MORE` the names alone) and imports nothing else, and a
verb loads its own module alone.
"""

from __future__ import annotations

from collections.abc import Iterable

ABOUT = "Simulate embedded flash file systems: byte-real, in virtual time."
ENDINGS = (
    "Exit codes: 0 done, 1 negative answer (validate --max-error, damaged images, incomplete logs, failed "
    "operations of fio and postmark, variants that did not end), 2 bad input, 130 interrupted, 141 output not read "
    "to its end, 143 ended by SIGTERM."
)
USAGE = "ffslab VERB [OPTIONS] ..."
FOOT = "Exit codes: 0, 1 (negative answer), 2 (bad input). `ffslab help VERB`: more."
EXAMPLE = "Example: ffslab new my.toml, and then ffslab run my.toml"

# In it a shell's script asks what could be typed next.
COMPLETE = "_FFSLAB_COMPLETE"

# Options of the command itself: value, meaning.
OPTIONS = {
    "--version": ("", "Print the version."),
    "--show-completion": ("SHELL", "Print the script with which bash, zsh or fish completes ffslab."),
    "--install-completion": ("SHELL", "Install it for bash, zsh or fish."),
    "--help": ("", "Show the verbs, as `-h` does, and exit."),
}

_MAIN = "ffslab.cli.main:app"
_WORKLOADS = "ffslab.cli.workload_verbs:add_to"
_MOUNTS = "ffslab.cli.mount_verbs:add_to"
_FIELD = "ffslab.cli.field_verbs:add_to"

# What stands in the list of all, and not on the first screen.
MORE = "More"
# By purpose: the verb, the function that declares it or the group of verbs that it is, its sentence.
SECTIONS: dict[str, dict[str, tuple[str, str]]] = {
    "Begin": {
        "new": ("ffslab.cli.new_verb:add_to", "Write a commented experiment from seven questions."),
        "run": (_MAIN, "Run an experiment: a table, a results folder, a report."),
        "profiles": (
            "ffslab.cli.profiles_verbs:profiles_app",
            "List chips, boards, kernels; show sources; begin your own.",
        ),
        "steps": ("ffslab.cli.vocabulary_verbs:add_to", "List the steps of experiments, or explain one."),
        "doctor": ("ffslab.cli.doctor_verb:add_to", "Tell what is installed, and what is missing for what."),
    },
    "Answers": {
        "lifetime": (_FIELD, "Predict how long a part bears a workload."),
        "crashtest": (
            "ffslab.cli.crashtest_verb:add_to",
            "Cut the power at every flash operation, and judge what is left.",
        ),
        "advise": ("ffslab.cli.advise_verb:add_to", "Tell which settings to take for a day's work, within limits."),
        "sweep": (
            "ffslab.cli.sweep_verb:add_to",
            "Run thousands of variants: the best, trade-offs, what matters.",
        ),
        "diff": ("ffslab.cli.diff_verb:add_to", "Compare two results: what changed, and what it comes from."),
        "ci": ("ffslab.cli.ci_verb:add_to", "Check budgets of flash operations, wear and time."),
        "ageing": (
            "ffslab.cli.ageing_verb:add_to",
            "Tell how often a partition must be scrubbed, and what it loses.",
        ),
    },
    "Your programs": {
        "replay": (_WORKLOADS, "Replay a recorded application."),
        "fio": (_WORKLOADS, "Run the jobs of a fio job file."),
        "sqlite": (_WORKLOADS, "Run SQL with the real SQLite on a simulated file system."),
        "mount": (_MOUNTS, "Mount a simulated file system for real programs."),
        "card": ("ffslab.cli.card_verbs:card_app", "Serve simulated cards to real kernels."),
        "chip": ("ffslab.cli.chip_verbs:chip_app", "Serve simulated flash parts on their bus."),
    },
    "Images and boards": {
        "inspect": (_FIELD, "Look into a flash image: files, space, wear, damage, costs."),
        "extract": (_MAIN, "List or extract the files of a flash image."),
        "trace": ("ffslab.cli.trace_verbs:trace_app", "Recordings and logs of flash: convert, report, compare, draw."),
        "calibrate": (_MAIN, "Make a board profile from measurements."),
        "policy": ("ffslab.cli.policy_verbs:policy_app", "List and explain the policies of [stack.policy]."),
        "reproduce": (_MAIN, "Do a published study again: claims and figures beside ours."),
        "store": ("ffslab.cli.store_verbs:store_app", "List, remove, merge and verify kept runs and lives."),
    },
    MORE: {
        "foreign": (
            "ffslab.cli.foreign_verbs:foreign_app",
            "Compile C programs for simulated chips, and read their results.",
        ),
        "image": ("ffslab.cli.image_verbs:image_app", "Make the image of a chip, or print the commands that make one."),
        "man": ("ffslab.cli.man_verb:add_to", "Write the manual pages of all verbs."),
        "postmark": (_WORKLOADS, "Run a command file of the program postmark."),
        "reference": (
            "ffslab.cli.reference_verbs:reference_app",
            "Measure experiments on a real Linux kernel in QEMU.",
        ),
        "schema": (_MAIN, "Print the JSON Schema of experiment files, or of a result."),
        "uflip": ("ffslab.cli.uflip_verb:add_to", "Run the uFLIP benchmark on block devices."),
        "validate": (_MAIN, "Compare simulations with measured cases."),
    },
}

HOMES = {name: home for verbs in SECTIONS.values() for name, (home, _) in verbs.items()}


def help_text(width: int) -> str:
    """What `ffslab --help` prints, in lines of at most so many characters: what a newcomer needs, on one screen."""
    parts = [f"Usage: {USAGE}\n\n  {ABOUT}\n"]
    margin = _margin([name for title, verbs in SECTIONS.items() if title != MORE for name in verbs])
    for title, verbs in SECTIONS.items():
        if title == MORE:
            parts.append(_rows({title: f"{', '.join(verbs)}: `ffslab help more`"}, width, 0, len(title) + 2))
        else:
            parts.append(f"{title}:\n" + _rows({name: about for name, (_, about) in verbs.items()}, width, 2, margin))
    parts.append("".join(_wrapped(text, width, 0) for text in (FOOT, EXAMPLE)))
    return "\n".join(parts)


def more_text(width: int) -> str:
    """What `ffslab help more` prints: the verbs that few need, the command's own options, the exit codes."""
    verbs = {name: about for name, (_, about) in SECTIONS[MORE].items()}
    flags = {f"{flag} {value}".strip(): about for flag, (value, about) in OPTIONS.items()}
    parts = [
        f"Usage: {USAGE}\n",
        f"{MORE} verbs:\n" + _rows(verbs, width, 2, _margin(verbs)),
        "Options:\n" + _rows(flags, width, 2, _margin(flags)),
        _wrapped(ENDINGS, width, 0),
    ]
    return "\n".join(parts)


def _margin(names: Iterable[str]) -> int:
    return 4 + max(map(len, names))


def _rows(rows: dict[str, str], width: int, indent: int, margin: int) -> str:
    """A row each: its name, and what it means behind the margin."""
    return "".join(
        (" " * indent + name).ljust(margin) + _wrapped(about, width, margin).lstrip() for name, about in rows.items()
    )


def _wrapped(text: str, width: int, margin: int) -> str:
    lines = [""]
    for word in text.split():
        if lines[-1] and margin + len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return "".join(" " * margin + line + "\n" for line in lines)
