"""The command's verbs, each loaded when it is called: one verb takes the start-up time of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, MutableMapping
from difflib import SequenceMatcher, get_close_matches
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from ffslab._native import InputError, __version__
from ffslab.cli import index
from ffslab.cli.completion import INSTALL, PROGRAM, SHOW, answer
from ffslab.cli.endings import end_with
from ffslab.cli.parts import EXIT_INTERRUPTED, EXIT_UNREAD, HELP_NAMES
from ffslab.cli.renamed import called_now
from ffslab.file_systems import listed
from ffslab.files.interruption import has_come
from ffslab.terminal.printing import close_quietly, say
from ffslab.text.quoting import quoted


class Verbs(MutableMapping[str, Any]):
    """The verbs of the table by their names; what is asked for is loaded."""

    def __init__(self) -> None:
        self._loaded: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._loaded:
            self._loaded[name] = _loaded(name, index.HOMES[name])
        return self._loaded[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._loaded[name] = command

    def __delitem__(self, name: str) -> None:
        raise TypeError(f"{name}: verbs stay")

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*index.HOMES, *self._loaded]))

    def __len__(self) -> int:
        return len(list(iter(self)))


def _loaded(name: str, home: str) -> Any:
    """The verb that a module declares, or the group of verbs that it is."""
    module, _, attribute = home.partition(":")
    found = getattr(import_module(module), attribute)
    if isinstance(found, typer.Typer) and found.registered_callback is not None:
        group = typer.main.get_group(found)
        group.name = name
        return group
    if not isinstance(found, typer.Typer):
        declared, found = found, typer.Typer()
        declared(found)
    verbs = {
        str(info.name): typer.main.get_command_from_info(info, pretty_exceptions_short=False, rich_markup_mode=None)
        for info in found.registered_commands
        if f"{info.name} ".startswith(f"{name} ")
    }
    command: Any = verbs.pop(name)
    # Those below a verb that is called without one of them, too, such as `mount stat`.
    command.commands = {word.partition(" ")[2]: below for word, below in verbs.items()}
    return command


# A name that is by so much less like a word than the nearest one was not meant.
NEARLY = 0.1


# Typer brings its own copy of click, whose types it does not publish: what click gives is `Any` here.
class Root(TyperGroup):
    """The command itself."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = Verbs()

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The table of verbs."""
        formatter.write(index.help_text(formatter.width))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb that is called; of a word that is none what else it may have been."""
        if args[0] not in index.HOMES and (hint := _meant(args)):
            raise InputError(f"no verb is called {quoted(args[0])}: {hint}")
        if not args[0].startswith("-") and args[0] not in self.commands and (near := _near(args[0], self.commands)):
            raise InputError(f"No such command {args[0]!r}. Did you mean {near}? (see ffslab --help)")
        return super().resolve_command(ctx, args)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """The verbs that begin so, without loading them, and options."""
        from typer._click.shell_completion import CompletionItem

        abouts = {name: about for verbs in index.SECTIONS.values() for name, (_, about) in verbs.items()}
        if incomplete.startswith("-"):
            abouts = {flag: about for flag, (_, about) in index.OPTIONS.items()}
        return [CompletionItem(name, help=about) for name, about in abouts.items() if name.startswith(incomplete)]


def _near(word: str, known: Iterable[str]) -> str:
    """The verbs that are about as near to a word as the nearest one, each in quotes."""
    likes = {name: SequenceMatcher(None, name, word).ratio() for name in get_close_matches(word, list(known))}
    return ", ".join(repr(name) for name, like in likes.items() if like >= max(likes.values()) - NEARLY)


def _meant(args: list[str]) -> str | None:
    """What a word that is no verb may have been: a file, or a verb of a group."""
    first, *rest = args
    if first == "version":
        return "did you mean `ffslab --version`?"
    if first in ("ls", "show"):
        groups = [name for name, verb in made().commands.items() if first in getattr(verb, "commands", {})]
        return "did you mean " + listed([f"`ffslab {' '.join([name, first, *rest])}`" for name in groups]) + "?"
    if first.endswith(".toml"):
        return f"did you mean `ffslab run {first}`?"
    return None


_app = typer.Typer(
    cls=Root,
    help=index.ABOUT,
    epilog=index.ENDINGS,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings=HELP_NAMES,
    # Typer's own options guess the shell from the process above, which need not be one.
    add_completion=False,
    # Of `run`, below, as are the others: typer loads what it checks values with for each option that it knows here,
    # which takes as long as all the rest.
    add_help_option=False,
)


@_app.callback()
def _program() -> None:
    pass


@cache
def made() -> Root:
    """The command, made once."""
    group = typer.main.get_group(_app)
    assert isinstance(group, Root)
    return group


def run(arguments: list[str]) -> int:
    """Runs the command with these arguments; its exit code. Ctrl-C is a `KeyboardInterrupt`."""
    try:
        if arguments[0] == "--version":
            say(f"ffslab {__version__}")
            return 0
        if arguments[0] in (SHOW, INSTALL):
            answer(arguments[0], arguments[1:])
            return 0
        words = arguments
        if words[0] == "help":
            words = [*words[1:], "--help"]
        code = made()(args=called_now(words), prog_name=PROGRAM, standalone_mode=False)
        if code == EXIT_INTERRUPTED:
            raise KeyboardInterrupt
        return code if isinstance(code, int) else 0
    except SystemExit as ended:
        # Without standalone mode typer ends like this when it has completed a word, and by 1 when the reader of our
        # output (head, less) has gone.
        return EXIT_UNREAD if ended.code == 1 else 0
    except BrokenPipeError:
        close_quietly()
        return EXIT_UNREAD
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:
        if has_come():
            raise KeyboardInterrupt from None
        return end_with(error)
