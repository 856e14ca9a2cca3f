"""What every verb of the command is made of: options and arguments with their help texts."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated, Any, TypeVar, get_type_hints

import typer
from typer.core import TyperCommand

from ffslab._native import InputError
from ffslab.cli.needs import check_packages
from ffslab.cli.terminal import Talk, detail, say, set_talk

Function = TypeVar("Function", bound=Callable[..., object])
# Of an option that takes a number, or several.
Amount = int | Sequence[int] | None

EXIT_NEGATIVE = 1
EXIT_INTERRUPTED = 130
# Numbers of the command are 32 bits wide below it.
NUMBER_END = 2**32


def help_without_verb(context: typer.Context) -> None:
    """What a group of verbs does when none is named."""
    if context.invoked_subcommand is None:
        say(context.get_help())


# Typer brings its own copy of click, whose types it does not publish: what click gives is `Any` here.
class VerbCommand(TyperCommand):
    """A verb whose help names its arguments as manual pages do: EXPERIMENT.toml..., [DIR]; no types, no braces."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
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
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed

    def invoke(self, ctx: Any) -> Any:
        """Runs the verb, unless packages are missing without which it would end halfway."""
        check_packages(ctx.command_path.partition(" ")[2])
        return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """OPTIONS, and the arguments in their order."""
        pieces = [self.options_metavar] if self.options_metavar else []
        for parameter in self.get_params(ctx):
            if parameter.param_type_name == "argument":
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


def argument_name(parameter: Any) -> str:
    """An argument as manual pages write it."""
    return f"{parameter.metavar}..." if parameter.nargs != 1 else str(parameter.metavar)


EXAMPLE = "\n\nExample: "


def verb(app: typer.Typer, name: str) -> Callable[[Function], Function]:
    """Makes a function the verb of this name; its docstring says what the verb does and ends with an example."""

    def register(function: Function) -> Function:
        about, example = inspect.cleandoc(function.__doc__ or "").split(EXAMPLE)
        app.command(name, cls=VerbCommand, help=about, epilog=f"Example: {example}")(_as_called(function))
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

    from ffslab import __version__

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
    return typer.Typer(help=about, epilog=f"Example: {example}", rich_markup_mode=None, invoke_without_command=True)


def option(
    flags: str, about: str, *, least: int | None = None, choices: Sequence[str] | None = None
) -> typer.models.OptionInfo:
    """An option of a verb: `flags` as people write it ("--out DIR", "--option -o OPTION"), and its help.

    It takes whole numbers from `least` on, or one of the words `choices`.
    """
    words = flags.split()
    names = [word for word in words if word.startswith("-")]
    metavar = " ".join(words[len(names) :]) or None
    made: typer.models.OptionInfo = typer.Option(
        *names,
        help=about,
        metavar=metavar or (f"<{'|'.join(choices)}>" if choices else None),
        callback=_check(names[0], least, choices),
        autocompletion=None if choices is None else lambda: list(choices),
    )
    return made


def argument(metavar: str, about: str) -> typer.models.ArgumentInfo:
    """An argument of a verb, as help and messages name it, and its help."""
    made: typer.models.ArgumentInfo = typer.Argument(help=about, metavar=metavar, show_default=False)
    return made


def check_distinct(flag: str, values: Sequence[object]) -> None:
    """Refuses values to compare of which two are the same."""
    for at, value in enumerate(values):
        if value in values[:at]:
            raise InputError(f"{flag} {value}: is given twice; give different values to compare them")


def _check(
    flag: str, least: int | None, choices: Sequence[str] | None
) -> Callable[[str | None], str | None] | Callable[[Amount], Amount] | None:
    """Checks the values of a number, or a word, before anything is done with them."""
    if choices is not None:
        return _one_of(choices, flag)
    return None if least is None else _from(least, flag)


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
