"""The verbs `ffslab policy ...`: the rules that may decide in place of the kernel."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ffslab._native import InputError, nearest_names
from ffslab.cli.needs import check_packages
from ffslab.cli.parts import argument, group, option, verb
from ffslab.cli.result_options import Json
from ffslab.terminal.printing import say

policy_app = group("List and explain the policies of [stack.policy]. See docs/policies.md.", "ffslab policy ls")


HEADS = {
    "victim": "victims of garbage collection, for [stack.policy]",
    "read_ahead": "read-ahead of Linux's page cache, for [stack.policy]",
    "write_back": "next file of Linux's write-back, for [stack.policy]",
    "free": "next free block, for [stack.policy]: UBIFS, flash translation layers",
    "stream": "stream of a write, for [stack.policy]: flash translation layers",
    "map_eviction": "cached entries of a map, for [stack.policy]: flash translation layer dftl",
    "levelling": "wear levelling, for [stack.policy]: UBIFS, flash translation layers",
}


@policy_app.callback()
def _policy(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        ls(json=False)


@verb(policy_app, "ls")
def ls(json: Json = False) -> None:
    """List the policies, by the decision that they take.

    Example: ffslab policy ls
    """
    from ffslab.api.policies import known
    from ffslab.files.results import dump_json

    if json:
        say(dump_json({"policies": known()}).rstrip())
        return
    decision = ""
    for each in known():
        if each["decision"] != decision:
            decision = each["decision"]
            say(HEADS[decision])
        say(f"  {_written(each):<24}{each['about']}")


@verb(policy_app, "show")
def show(
    name: Annotated[str, argument("NAME", "A policy of `ffslab policy ls`, or a decision: `victim`, `stream` ...")],
) -> None:
    """Explain a policy or a decision: what it does, its parameter and its paper; what scores see.

    Example: ffslab policy show cost-benefit
    """
    from ffslab.api.policies import decisions, known

    found = [each for each in known() if each["name"] == name.partition("(")[0]]
    shown = [each for each in decisions() if each["key"] == name]
    if not found and not shown:
        near = nearest_names(name, [each["name"] for each in known()] + [each["key"] for each in decisions()])
        hint = f"did you mean `{near[0]}`?" if near else "`ffslab policy ls` lists them"
        raise InputError(f"unknown policy `{name}`: {hint}")
    for each in found:
        say(f'{each["decision"]} = "{_written(each)}"')
        say(f"  {each['about']}")
        if parameter := each["parameter"]:
            bounds = f"{parameter['least']} to {parameter['most']}, {parameter['default']} if it is left out"
            say(f"  {parameter['name']}: {parameter['about']}, {bounds}")
        say(f"  {each['paper']}")
    for each in shown:
        say(HEADS[name])
        say(f"  names: {', '.join(_written(one) for one in known() if one['decision'] == name)}")
        say(f"  a score, which says: {each['score']}. Columns:")
        for column in each["columns"]:
            say(f"    {column['name']:<13}{column['about']}")
        say(f'  your own: ffslab.policy(chooser, decision="{name}") of Python, which sees the same columns')


@verb(policy_app, "amplification")
def amplification(
    blocks: Annotated[
        int,
        option("--partition-blocks --blocks BLOCKS", "Erase blocks of the partition; here of the device.", least=64),
    ] = 2048,
    out: Annotated[
        Path | None, option("--out FILE", "File to write; a picture (PNG or SVG) with the curves and the points.")
    ] = None,
    json: Json = False,
) -> None:
    """Compare write amplification of random writes with its formulas: greedy, FIFO, random and d-choices.

    The page map is simulated without bytes: contents are not kept. Exit code 1: a row lies further off than it may.

    Example: ffslab policy amplification --out amplification.png
    """
    from ffslab.files.results import dump_json
    from ffslab.studies.amplification import compared, drawn, text_of
    from ffslab.terminal.progress import progress_bar

    if out is not None and out.suffix not in (".png", ".svg"):
        message = f"--out {out}: the name of a .png or .svg is needed"
        raise InputError(message)
    if out is not None:
        check_packages("policy amplification --out")
    with progress_bar("write amplification") as show:
        rows = compared(blocks, show)
    if out is not None:
        drawn(rows, out)
    say(dump_json({"blocks": blocks, "rows": rows}).rstrip() if json else text_of(rows, blocks))
    if any(not row["is_within"] for row in rows):
        raise typer.Exit(1)


def _written(each: dict[str, object]) -> str:
    parameter = each["parameter"]
    return f"{each['name']}({parameter['name']})" if isinstance(parameter, dict) else str(each["name"])
