"""The reference of steps and keys, for terminals and as a page of Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from ffslab.registries import vocabulary
from ffslab.registries.vocabulary import Entry, Key
from ffslab.text.tables import text_table

# Meanings are wrapped at this width.
_MEANING_CHARACTERS = 72


def listing() -> str:
    """All steps and tables, a line each."""
    every = [*vocabulary.steps().values(), *vocabulary.tables().values()]
    rows = [(entry.name, textwrap.shorten(_first_sentence(entry.about), 98, placeholder=" ...")) for entry in every]
    steps = len(vocabulary.steps())
    head = text_table(("step", "what it does"), rows[:steps], "ll")
    tail = text_table(("table", "what it holds"), rows[steps:], "ll")
    return f"{head}\n\n{tail}\n\n`ffslab steps NAME` shows the keys of one, and an example."


def entry_text(entry: Entry) -> str:
    """One step or table: its keys, and an example."""
    parts = [f"{entry.name}: {entry.about}"]
    if entry.keys:
        rows = [row for key in entry.keys for row in _rows(key)]
        parts.append(text_table(("key", "value", "if absent", "meaning"), rows, "llll"))
    if entry.example:
        parts.append("Example:\n\n" + "\n".join(f"    {line}" for line in (entry.head, *entry.example)))
    return "\n\n".join(parts)


def markdown() -> str:
    """The page of all steps and tables."""
    return "\n".join(_page()) + "\n"


def _page() -> Iterator[str]:
    yield from (
        "# Steps and keys",
        "",
        "Every step of an experiment, then its tables. This page is what `ffslab steps --markdown` prints;",
        "`ffslab steps` lists the steps, and `ffslab steps NAME` shows one. [experiments.md](experiments.md) explains",
        "how they go together.",
        "",
        'A *size* is a whole number of bytes or a text such as `"4 KiB"`, a *time* a whole number of microseconds or a',
        'text such as `"100 ms"`. Keys whose names end in a unit take plain numbers in it.',
    )
    for name, entries in (("Steps", vocabulary.steps()), ("Tables", vocabulary.tables())):
        yield from ("", f"## {name}")
        for entry in entries.values():
            yield from _section(entry)


def _section(entry: Entry) -> Iterator[str]:
    yield from ("", f"### {entry.name}", "", _escaped(entry.about))
    if entry.keys:
        yield from ("", "| key | value | if absent | meaning |", "|---|---|---|---|")
        for key in entry.keys:
            words = "; ".join(f"`{word.word}`: {word.about}" if word.about else f"`{word.word}`" for word in key.words)
            meaning = f"{key.about} {words}".strip()
            cells = (f"`{key.name}`", _value(key), _absent(key), meaning)
            yield f"| {' | '.join(_escaped(cell) for cell in cells)} |"
    if entry.example:
        yield from ("", "```toml", entry.head, *entry.example, "```")


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")


def _rows(key: Key) -> Iterator[tuple[str, str, str, str]]:
    """A key as rows of a table: its meaning is wrapped, and each word that may stand there has a row."""
    lines = textwrap.wrap(key.about, _MEANING_CHARACTERS) or [""]
    for word in key.words:
        lines += textwrap.wrap(
            f"{word.word}: {word.about}" if word.about else word.word,
            _MEANING_CHARACTERS,
            initial_indent="- ",
            subsequent_indent="  ",
        )
    yield key.name, _value(key), _absent(key), lines[0]
    yield from (("", "", "", line) for line in lines[1:])


def _value(key: Key) -> str:
    return f"{key.kind}, {key.unit}" if key.unit else key.kind


def _absent(key: Key) -> str:
    return "required" if key.is_required else key.default or ""


def _first_sentence(text: str) -> str:
    return text.split(". ")[0].removesuffix(".")
