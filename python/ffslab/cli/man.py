"""Manual pages (man(7)) and reference pages (Markdown) of all verbs, from their declarations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from ffslab._native import __version__
from ffslab.cli import index
from ffslab.cli.parts import argument_name
from ffslab.cli.root import made

PROGRAM = "ffslab"


class Row(NamedTuple):
    """An argument or option: as it is written, and what it means."""

    written: str
    about: str


class Page(NamedTuple):
    """What is known of a verb. `verbs`: those below a group."""

    name: str
    about: str
    usage: str
    arguments: list[Row]
    options: list[Row]
    example: str
    verbs: list[Row]


def pages() -> list[Page]:
    """Those of all verbs, in the order of the index; a group stands before its verbs."""
    return [page for name, command in made().commands.items() for page in _pages(command, (name,))]


def _pages(command: Any, words: tuple[str, ...]) -> Iterator[Page]:
    below = getattr(command, "commands", {})
    context = command.context_class(command, info_name=" ".join((PROGRAM, *words)), **command.context_settings)
    rows: dict[str, list[Row]] = {"argument": [], "option": []}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None:
            kind = parameter.param_type_name
            rows[kind].append(Row(argument_name(parameter) if kind == "argument" else record[0], record[1]))
    usage = " ".join((PROGRAM, *words, *command.collect_usage_pieces(context)))
    example = str(command.epilog).removeprefix("Example: ")
    verbs = [Row(f"{' '.join(words)} {name}", _sentence(inner.help)) for name, inner in below.items()]
    yield Page(" ".join(words), command.help, usage, rows["argument"], rows["option"], example, verbs)
    for name, inner in below.items():
        yield from _pages(inner, (*words, name))


def _sentence(text: str) -> str:
    return text.split("\n\n")[0].split(". See ")[0].rstrip(".") + "."


# ---- man(7) -------------------------------------------------------------------------------------------------


def manuals() -> dict[str, str]:
    """Files of manual pages by name: `ffslab.1`, `ffslab-run.1` ..."""
    made = {f"{PROGRAM}.1": _manual_of_program()}
    for page in pages():
        made[f"{PROGRAM}-{page.name.replace(' ', '-')}.1"] = _manual(page)
    return made


def _manual_of_program() -> str:
    parts = [_head(PROGRAM, index.ABOUT), ".SH SYNOPSIS\n", f".B {PROGRAM}\n[OPTIONS] COMMAND [ARGS]...\n"]
    options = [Row(f"{flag} {value}".strip(), about) for flag, (value, about) in index.OPTIONS.items()]
    parts.append(_list("OPTIONS", options))
    for title, verbs in index.SECTIONS.items():
        parts.append(_list(title.upper(), [Row(name, about) for name, (_, about) in verbs.items()]))
    parts.append(f".SH EXIT STATUS\n{_roff(index.ENDINGS)}\n")
    pages_of_verbs = ",\n".join(f".BR {PROGRAM}-{_hyphen(name)} (1)" for name in index.HOMES)
    parts.append(f".SH SEE ALSO\n{pages_of_verbs.replace('(1),', '(1) ,')}\n")
    return "".join(parts)


def _manual(page: Page) -> str:
    name = f"{PROGRAM}-{page.name.replace(' ', '-')}"
    first, *rest = page.about.split("\n\n")
    parts = [_head(name, _sentence(first)), f".SH SYNOPSIS\n{_roff(page.usage)}\n"]
    parts.append(".SH DESCRIPTION\n" + "\n.PP\n".join(_roff(text) for text in (first, *rest)) + "\n")
    for title, rows in (("COMMANDS", page.verbs), ("ARGUMENTS", page.arguments), ("OPTIONS", page.options)):
        parts.append(_list(title, rows))
    parts.append(f".SH EXAMPLE\n.nf\n{_roff(page.example)}\n.fi\n.SH SEE ALSO\n.BR {PROGRAM} (1)\n")
    return "".join(parts)


def _head(name: str, about: str) -> str:
    return f'.TH {_hyphen(name).upper()} 1 "" "{PROGRAM} {__version__}"\n.SH NAME\n{_hyphen(name)} \\- {_roff(about)}\n'


def _list(title: str, rows: list[Row]) -> str:
    if not rows:
        return ""
    return f".SH {title}\n" + "".join(f".TP\n.B {_roff(row.written)}\n{_roff(row.about)}\n" for row in rows)


def _hyphen(name: str) -> str:
    return name.replace("-", "\\-")


def _roff(text: str) -> str:
    """Text of one paragraph: hyphens that can be copied, no line that begins a request."""
    flat = " ".join(text.split()).replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{flat}" if flat[:1] in (".", "'") else flat


# ---- Markdown -----------------------------------------------------------------------------------------------


def markdown(title: str, names: list[str]) -> str:
    """A reference page of these verbs, and of those below them."""
    wanted = [page for page in pages() if page.name.split()[0] in names]
    parts = [f"# {title}\n"]
    for page in wanted:
        parts.append(f"\n## ffslab {page.name} {{#{page.name.replace(' ', '-')}}}\n\n```text\n{page.usage}\n```\n")
        parts += [f"\n{_inline(' '.join(text.split()))}\n" for text in page.about.split("\n\n")]
        parts += [_table(head, rows) for head, rows in (("argument", page.arguments), ("option", page.options)) if rows]
        if page.verbs:
            parts.append("\n" + "".join(f"- `ffslab {row.written}`: {_inline(row.about)}\n" for row in page.verbs))
        parts.append(f"\nExample:\n\n```sh\n{page.example}\n```\n")
    return "".join(parts)


def _table(head: str, rows: list[Row]) -> str:
    lines = [f"| {head} | meaning |", "|---|---|"]
    lines += [f"| `{row.written.replace('|', chr(92) + '|')}` | {_inline(row.about)} |" for row in rows]
    return "\n" + "\n".join(lines) + "\n"


def _inline(text: str) -> str:
    """Text that Markdown leaves as it is: angles and bars are no markup, and `code` stays code."""
    parts = text.split("`")
    for at in range(0, len(parts), 2):
        for sign in "*_[]<>#":
            parts[at] = parts[at].replace(sign, f"\\{sign}")
    return "`".join(parts).replace("|", "\\|")
