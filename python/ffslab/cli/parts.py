"""What every verb of the command is made of: options and arguments with their help texts."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from ffslab._native import InputError
from ffslab.cli.needs import check_packages
from ffslab.cli.renamed import options_now
from ffslab.cli.slips import Fits, check_values, is_whole
from ffslab.terminal.printing import Talk, detail, say, set_talk

Function = TypeVar("Function", bound=Callable[..., object])
# Of an option that takes a number, or several.
Amount = int | Sequence[int] | None

EXIT_NEGATIVE = 1
EXIT_INTERRUPTED = 130
# As shells tell of a program that SIGPIPE ended: the answer was not read to its end, and may have been a negative one.
EXIT_UNREAD = 141
# Numbers of the command are 32 bits wide below it.
NUMBER_END = 2**32


# What asks for help, of the command and of each verb.
HELP_NAMES = {"help_option_names": ["-h", "--help"]}
# By option, as an option is the same wherever it stands: the words that it takes, and what it means without a value.
_FITS: dict[str, Fits] = {}
_ALONE: dict[str, str] = {}


def help_without_verb(context: typer.Context) -> None:
    """What a group of verbs does when none is named and it has nothing to list."""
    if context.invoked_subcommand is None:
        say(context.get_help())


# Typer brings its own copy of click, whose types it does not publish: what click gives is `Any` here.
class VerbCommand(TyperCommand):
    """A verb whose help names its arguments as manual pages do: EXPERIMENT.toml..., [DIR]; no types, no braces."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        # Verbs below this one, by name.
        self.commands: dict[str, Any] = {}

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of this verb, or of the verb below it that is called."""
        if args and args[0] in self.commands:
            below = self.commands[args[0]]
            return below.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """The words as the parser takes them; slips that it would take for something else are refused."""
        if ctx.resilient_parsing:
            return list(super().parse_args(ctx, args))
        known = [flag for parameter in self.params for flag in parameter.opts]
        args = _with_values(options_now(args, known), known)
        try:
            check_values(self, args, _FITS)
            self._check_single(ctx, args)
            return list(super().parse_args(ctx, args))
        except typer.TyperException as error:
            # Some of the parser's own do not know whose help says more.
            if getattr(error, "ctx", ctx) is None:
                error.ctx = ctx  # type: ignore[attr-defined]
            raise

    def _check_single(self, ctx: Any, args: list[str]) -> None:
        """Refuses an option with one value that is given twice: only the last one would count, and nobody was told."""
        _, _, order = self.make_parser(ctx).parse_args(args=list(args))
        seen = set()
        for parameter in order:
            is_option = parameter.param_type_name == "option"
            single = is_option and not parameter.multiple and not getattr(parameter, "is_flag", False)
            if single and parameter.name in seen:
                flag = max(parameter.opts, key=len)
                raise InputError(f"{flag}: is given more than once, and {ctx.command_path} takes one value")
            seen.add(parameter.name)

    def invoke(self, ctx: Any) -> Any:
        """Runs the verb, unless packages are missing without which it would end halfway."""
        check_packages(ctx.command_path.partition(" ")[2])
        return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """OPTIONS, and the arguments in their order."""
        pieces = [self.options_metavar] if self.options_metavar else []
        for parameter in self.get_params(ctx):
            if parameter.param_type_name == "argument" and not getattr(parameter, "hidden", False):
                name = argument_name(parameter)
                pieces.append(name if parameter.required else f"[{name}]")
        return pieces

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The sections of arguments and options."""
        for title, kind in (("Arguments", "argument"), ("Options", "option")):
            rows = []
            for parameter in self.get_params(ctx):
                record = parameter.get_help_record(ctx) if parameter.param_type_name == kind else None
                if record is not None:
                    rows.append((argument_name(parameter), record[1]) if kind == "argument" else record)
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)
        if self.commands:
            with formatter.section("Verbs"):
                formatter.write_dl([(name, below.get_short_help_str(100)) for name, below in self.commands.items()])


class VerbGroup(TyperGroup):
    """Verbs below a common word."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The section of verbs."""
        with formatter.section("Verbs"):
            formatter.write_dl([(name, below.get_short_help_str(100)) for name, below in self.commands.items()])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The verb that is called; a word that is none is answered with those that there are."""
        if args[0] not in self.commands and not args[0].startswith("-"):
            words = [*get_close_matches(args[0], self.commands, 1), *args[1:]]
            if len(args) == 1 and not words and "show" in self.commands:
                words = ["show", *args]
            hint = f"did you mean `{ctx.command_path} {' '.join(words)}`? " if words else ""
            raise InputError(f"{ctx.command_path} {args[0]}: no such verb: {hint}known: {', '.join(self.commands)}")
        return super().resolve_command(ctx, args)


def argument_name(parameter: Any) -> str:
    """An argument as manual pages write it."""
    return f"{parameter.metavar}..." if parameter.nargs != 1 else str(parameter.metavar)


def _with_values(words: list[str], known: list[str]) -> list[str]:
    """The words with the value of each option that stands alone and may."""
    end = words.index("--") if "--" in words else len(words)
    found = []
    for at, word in enumerate(words):
        found.append(word)
        if at < end and word in _ALONE and word in known:
            after = words[at + 1] if at + 1 < end else "-"
            # A file cannot be the folder that is to be written: it is what the verb reads.
            if after.startswith("-") or Path(after).is_file():
                found.append(_ALONE[word])
    return found


EXAMPLE = "\n\nExample: "


def verb(app: typer.Typer, name: str) -> Callable[[Function], Function]:
    """Makes a function the verb of this name; its docstring says what the verb does and ends with an example."""

    def register(function: Function) -> Function:
        about, example = inspect.cleandoc(function.__doc__ or "").split(EXAMPLE)
        app.command(name, cls=VerbCommand, help=about, epilog=f"Example: {example}", context_settings=HELP_NAMES)(
            _as_called(function)
        )
        return function

    return register


def _as_called(function: Callable[..., object]) -> Callable[..., object]:
    """The function with the options of its groups as parameters of its own, and those that every verb has.

    A group is a dataclass whose fields are options that several verbs share: the verb names it once as a parameter and
    gets an instance.
    """
    hints = get_type_hints(function, include_extras=True)
    groups: dict[str, Any] = {}
    parameters: list[inspect.Parameter] = []
    for parameter in inspect.signature(function).parameters.values():
        kind = hints[parameter.name]
        if not dataclasses.is_dataclass(kind):
            parameters.append(parameter.replace(annotation=kind))
            continue
        groups[parameter.name] = kind
        fields = get_type_hints(kind, include_extras=True)
        parameters += [
            inspect.Parameter(each.name, parameter.kind, default=each.default, annotation=fields[each.name])
            for each in dataclasses.fields(kind)
        ]
    parameters += [
        inspect.Parameter(word, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=annotation)
        for word, annotation in _of_every_verb().items()
    ]

    def called(quiet: bool, verbose: bool, **given: object) -> object:
        for name, kind in groups.items():
            given[name] = kind(**{each.name: given.pop(each.name) for each in dataclasses.fields(kind)})
        if quiet and verbose:
            raise InputError("--quiet and --verbose: ask for one of them")
        set_talk(Talk.QUIET if quiet else Talk.VERBOSE if verbose else Talk.USUAL)
        if not verbose:
            return function(**given)
        with _told_what_it_took():
            return function(**given)

    called.__wrapped__ = function  # type: ignore[attr-defined]
    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return called


def _of_every_verb() -> dict[str, Any]:
    return {
        "quiet": Annotated[
            bool, option("--quiet -q", "No progress bar and no remarks: the answer, and what is wrong.")
        ],
        "verbose": Annotated[bool, option("--verbose -v", "Tell on stderr what is done, and what time it takes.")],
    }


@contextmanager
def _told_what_it_took() -> Iterator[None]:
    import platform
    from resource import RUSAGE_CHILDREN, RUSAGE_SELF, getrusage
    from time import monotonic

    from ffslab._native import __version__

    detail(f"version {__version__}, Python {platform.python_version()}, {platform.system()} {platform.machine()}")
    begun_s = monotonic()
    try:
        yield
    finally:
        used = [getrusage(who) for who in (RUSAGE_SELF, RUSAGE_CHILDREN)]
        cpu_s = sum(each.ru_utime + each.ru_stime for each in used)
        peak_mib = max(each.ru_maxrss for each in used) / (1024 * 1024 if sys.platform == "darwin" else 1024)
        took_s = monotonic() - begun_s
        detail(f"took {took_s:.2f} s, {cpu_s:.2f} s of CPU with the start, at most {peak_mib:.0f} MiB of memory")


def group(about: str, example: str) -> typer.Typer:
    """Verbs below a common word, such as `ffslab trace ...`."""
    return typer.Typer(
        cls=VerbGroup,
        help=about,
        epilog=f"Example: {example}",
        context_settings=HELP_NAMES,
        subcommand_metavar="VERB ...",
        rich_markup_mode=None,
        invoke_without_command=True,
    )


def option(
    flags: str,
    about: str,
    *,
    least: int | None = None,
    choices: Sequence[str] | None = None,
    check: Callable[[str, str], None] | None = None,
    fits: Fits | None = None,
    alone: str | None = None,
) -> typer.models.OptionInfo:
    """An option of a verb: `flags` as people write it ("--out DIR", "--option -o OPTION"), and its help.

    It takes whole numbers from `least` on, or one of the words `choices`, or what `check` (the flag, a value) lets
    pass. `fits`: whether a word behind its value is another one. `alone`: its value where none is given.
    """
    words = flags.split()
    names = [word for word in words if word.startswith("-")]
    metavar = " ".join(words[len(names) :]) or None
    fits = fits or (None if least is None else is_whole)
    for name in names:
        if fits is not None:
            _FITS[name] = fits
        if alone is not None:
            _ALONE[name] = alone
    made: typer.models.OptionInfo = typer.Option(
        *names,
        help=about,
        metavar=metavar or (f"<{'|'.join(choices)}>" if choices else None),
        callback=_check(names[0], least, choices, check),
        autocompletion=None if choices is None else lambda: list(choices),
    )
    return made


def argument(metavar: str, about: str) -> typer.models.ArgumentInfo:
    """An argument of a verb, as help and messages name it, and its help."""
    made: typer.models.ArgumentInfo = typer.Argument(help=about, metavar=metavar, show_default=False)
    return made


def check_positive(flags: Mapping[str, float | None]) -> None:
    """Refuses numbers with a fraction that are no amount, by the flags that gave them."""
    for flag, value in flags.items():
        if value is not None and not 0 < value < 1e9:
            raise InputError(f"{flag} {value:g}: must be more than 0 and less than 1e9")


def check_distinct(flag: str, values: Sequence[object]) -> None:
    """Refuses values to compare of which two are the same."""
    for at, value in enumerate(values):
        if value in values[:at]:
            raise InputError(f"{flag} {value}: is given twice; give different values to compare them")


def _check(
    flag: str, least: int | None, choices: Sequence[str] | None, check: Callable[[str, str], None] | None
) -> Callable[[Any], Any] | None:
    """Checks the values of a number, or a word, before anything is done with them."""
    if check is not None:
        return _each(flag, check)
    if choices is not None:
        return _one_of(choices, flag)
    return None if least is None else _from(least, flag)


def _each(flag: str, check: Callable[[str, str], None]) -> Callable[[Any], Any]:
    def checked(given: str | Sequence[str] | None) -> str | Sequence[str] | None:
        for value in [given] if given is None or isinstance(given, str) else given:
            if value is not None:
                check(flag, value)
        return given

    return checked


def _one_of(choices: Sequence[str], flag: str) -> Callable[[str | None], str | None]:
    def check(given: str | None) -> str | None:
        if given is not None and given not in choices:
            known = ", ".join(choices)
            raise InputError(f"{flag} {given}: must be one of {known}")
        return given

    return check


def _from(least: int, flag: str) -> Callable[[Amount], Amount]:
    """Checks the values of a number, before anything is done with them."""

    def check(given: Amount) -> Amount:
        for value in [given] if given is None or isinstance(given, int) else given:
            if value is not None and value < least:
                raise InputError(f"{flag} {value}: must be {least} or more")
            if value is not None and value >= NUMBER_END:
                raise InputError(f"{flag} {value}: must be less than {NUMBER_END}")
        return given

    return check
