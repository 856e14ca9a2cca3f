"""The verbs `ffslab store ...`: runs that are kept, so that nothing is run twice."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ffslab._native import InputError
from ffslab.cli.needs import check_packages
from ffslab.cli.parts import EXIT_NEGATIVE, argument, group, option, verb
from ffslab.cli.result_options import Json
from ffslab.terminal.printing import say, tell
from ffslab.text.tables import counted

if TYPE_CHECKING:
    from ffslab.store import Store

store_app = group("List, remove, merge and verify kept runs and lives. See docs/store.md.", "ffslab store ls")

Folder = Annotated[
    Path | None,
    option("--store DIR", "The store. [default: $FFSLAB_STORE, or ffslab/store in the user's cache folder]"),
]
# Of a list that nobody would read to its end.
ROWS_MAX = 40


@store_app.callback()
def _store(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        check_packages("store ls")
        ls(every=False, json=False)


@verb(store_app, "ls")
def ls(
    store: Folder = None,
    every: Annotated[bool, option("--all", f"All runs; not only the first {ROWS_MAX} are listed.")] = False,
    json: Json = False,
) -> None:
    """List the runs of a store.

    Example: ffslab store ls --json
    """
    from ffslab.files.results import dump_json
    from ffslab.text.store import listing

    here = _opened(store)
    table = here.table()
    if json:
        kept = {"runs": _plain(table), "lives": _plain(here.lives.table())}
        say(dump_json({"folder": str(here.folder), "bytes": here.bytes(), **kept}).rstrip())
    else:
        say(listing(table, here.lives.table(), here.folder, here.bytes(), None if every else ROWS_MAX))


@verb(store_app, "show")
def show(
    key: Annotated[str, argument("KEY", "Key of a run, or how it begins, as `ffslab store ls` shows it.")],
    store: Folder = None,
    json: Annotated[bool, option("--json", "Print JSON in place of text: what summary.json says of the run.")] = False,
) -> None:
    """Show what is kept of a run: its machine and its figures.

    Example: ffslab store show 3f2a
    """
    from ffslab.text.store import shown

    here = _opened(store)
    found = here.rows(key)
    if len(found) != 1:
        count = counted(len(found), "run") if found else "no run"
        raise InputError(f"{here.folder}: {count} has a key that begins with {key}: `ffslab store ls` lists them")
    say(str(found[0]["summary"]) if json else shown(found[0]))


@verb(store_app, "rm")
def rm(
    keys: Annotated[
        list[str] | None, argument("KEY", "Keys of runs, or how they begin, as `ffslab store ls` shows them.")
    ] = None,
    store: Folder = None,
    every: Annotated[bool, option("--all", "All runs; nothing is left.")] = False,
) -> None:
    """Remove runs from a store.

    Example: ffslab store rm --all
    """
    if bool(keys) == every:
        raise InputError("store rm: name the runs by their keys, or all of them with --all")
    if keys and not all(keys):
        # Every key begins with nothing: a variable of a script that is not set would remove all.
        raise InputError("store rm: a KEY is empty: name the runs by their keys, or all of them with --all")
    here = _opened(store)
    if unknown := here.unknown(keys or []):
        raise InputError(f"{here.folder}: no run has a key that begins with {unknown[0]}: `ffslab store ls` lists them")
    gone = here.remove(keys)
    say(f"{counted(gone, 'run')} removed from {here.folder}")


@verb(store_app, "merge")
def merge(
    others: Annotated[list[Path], argument("STORE", "Stores whose runs are added: those of other machines, say.")],
    store: Folder = None,
) -> None:
    """Add the runs of other stores to one.

    Example: ffslab store merge half-1 half-2 --store both
    """
    from ffslab.store import Store

    named = _named(store)
    for other in others:
        if not other.exists():
            raise InputError(f"{other}: not a store of runs: there is no such folder")
    sources = [Store(other) for other in others]
    came = sum(named.merge(source) for source in sources)
    say(f"{counted(came, 'run')} added to {named.folder}")


@verb(store_app, "verify")
def verify(store: Folder = None) -> None:
    """Check that each file of a store is what was written.

    Example: ffslab store verify --store results/store
    """
    here = _opened(store)
    wrong = here.verify()
    for line in wrong:
        tell(line)
    if wrong:
        tell("`ffslab store rm` removes runs; what is damaged is not used, and runs again")
        raise typer.Exit(EXIT_NEGATIVE)
    say(f"{counted(len(here.table()), 'run')} in {here.folder}: whole")


def _named(folder: Path | None) -> Store:
    """The store that is meant.

    Raises `ffslab.InputError` when nothing is to be kept.
    """
    from ffslab.store import VARIABLE, Store

    found = Store(folder) if folder is not None else Store.usual()
    if found is None:
        raise InputError(f"{VARIABLE} is empty, so that nothing is kept: name a store with --store")
    return found


def _opened(folder: Path | None) -> Store:
    """The same; it is there already."""
    found = _named(folder)
    if folder is not None and not folder.exists():
        raise InputError(f"{folder}: not a store of runs: there is no such folder")
    return found


def _plain(table: object) -> object:
    import json
    from typing import cast

    import pandas as pd

    return json.loads(cast("pd.DataFrame", table).to_json(orient="records"))
