"""Pages that are made while the site is built (a hook of MkDocs): the reference, and what pages link to beside docs.

The reference comes from the declarations themselves: verbs from the parser, JSON from the schemas, fields of profiles
from the template that `ffslab profiles new` writes, Python from the docstrings. What a page links to elsewhere in the
repository (a README, an experiment, a source file) becomes a page under `repository/`, so that no link leaves the site.
"""

from __future__ import annotations

import inspect
import json
import logging
import posixpath
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\((?!\w+:|#)([^)#\s]*)(#[^)\s]*)?\)")
CITATION = re.compile(r"\[@\w+(?:; @\w+)*\]")
FIELD = re.compile(r"^\s*(\w+)\s*= \{(.*)\},?$", re.MULTILINE)
# Where a page that is made here links to, seen from the root of the repository.
REPOSITORY = "repository"
LANGUAGES = {".rs": "rust", ".py": "python", ".toml": "toml", ".yml": "yaml", ".c": "c", ".sh": "sh", ".ipynb": "json"}
LINES_MAX = 600
log = logging.getLogger("mkdocs.plugins.ffslab")


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages that are made."""
    made = {
        "reference/verbs.md": _verbs,
        "reference/schemas.md": _schemas,
        "reference/profiles.md": _profiles,
        "reference/python.md": _python,
    }
    for name, make in made.items():
        files.append(File.generated(config, name, content=make()))
    for path in _linked():
        files.append(File.generated(config, _page_of(path), content=_shown(path)))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Turns links that leave docs/ into links to the pages that stand for what they name."""
    name = page.file.src_uri
    at = ROOT / (name.removeprefix(f"{REPOSITORY}/") if name.startswith(f"{REPOSITORY}/") else f"docs/{name}")
    is_ours = name.startswith("reference/")
    if (list_of_works := at.with_suffix(".bib")).is_file():
        markdown = _cited(markdown, list_of_works.read_text(encoding="utf-8"))
    return markdown if is_ours else LINK.sub(lambda found: _redirected(found, at.parent, name), markdown)


# ---- what stands elsewhere in the repository ----------------------------------------------------------------


def _redirected(found: re.Match[str], folder: Path, page: str) -> str:
    text, target, anchor = found.groups()
    path = (folder / target).resolve()
    if not path.is_relative_to(ROOT) or not path.exists():
        return found[0]  # MkDocs complains.
    if path.is_relative_to(ROOT / "docs") and path.is_file():
        goal = path.relative_to(ROOT / "docs").as_posix()
    else:
        goal = _page_of(path)
    return f"[{text}]({posixpath.relpath(goal, posixpath.dirname(page) or '.')}{anchor or ''})"


def _cited(markdown: str, works: str) -> str:
    """A paper whose citations (`[@name; @other]`) are those of a reader, and whose list of works is written out."""
    entries = {
        name: {key: value.replace("{", "").replace("}", "") for key, value in FIELD.findall(fields)}
        for name, fields in re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", works, re.MULTILINE | re.DOTALL)
    }

    def shown(found: re.Match[str]) -> str:
        named = (entries[name] for name in re.findall(r"@(\w+)", found[0]))
        cited = (f"{each['author'].partition(',')[0]} {each['year']}" for each in named)
        return f"({'; '.join(cited)})"

    listed = [
        f"- {each['author'].replace(' and ', '; ')}: {each['title']}. "
        f"{each.get('booktitle') or each.get('howpublished')}, {each['year']}."
        for each in sorted(entries.values(), key=lambda each: (each["author"], each["year"]))
    ]
    return CITATION.sub(shown, markdown) + "\n" + "\n".join(listed) + "\n"


def _page_of(path: Path) -> str:
    """The page that shows a file or folder of the repository."""
    shown = path / "README.md" if path.is_dir() and (path / "README.md").exists() else path
    name = shown.relative_to(ROOT).as_posix()
    return f"{REPOSITORY}/{name}" if name.endswith(".md") else f"{REPOSITORY}/{name}.md"


def _linked() -> list[Path]:
    """Everything outside docs/ to which a page leads, in one step or several."""
    first = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "DESIGN.md", ROOT / "CHANGELOG.md"]
    found: dict[str, Path] = {}
    waiting = list(first)
    while waiting:
        page = waiting.pop()
        if not page.is_relative_to(ROOT / "docs"):
            if _page_of(page) in found:
                continue
            found[_page_of(page)] = page
        if page.suffix != ".md" and not (page / "README.md").exists():
            continue
        text = (page / "README.md" if page.is_dir() else page).read_text(encoding="utf-8")
        folder = page if page.is_dir() else page.parent
        for _, target, _ in LINK.findall(text):
            path = (folder / target).resolve()
            if path.is_relative_to(ROOT) and path.exists() and not path.is_relative_to(ROOT / "docs"):
                waiting.append(path)
    return [found[name] for name in sorted(found)]


def _shown(path: Path) -> str:
    if path.is_dir() and not (path / "README.md").exists():
        names = sorted(each.name + "/" * each.is_dir() for each in path.iterdir() if not each.name.startswith("."))
        return f"# {path.relative_to(ROOT)}\n\n" + "".join(f"- `{name}`\n" for name in names)
    path = path / "README.md" if path.is_dir() else path
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return f"# {path.relative_to(ROOT)}\n\nA file of {path.stat().st_size:,} bytes.\n"
    if path.suffix == ".md":
        return text
    lines = text.splitlines()
    rest = f"\n{len(lines) - LINES_MAX} more lines stand in the repository.\n" if len(lines) > LINES_MAX else ""
    shown = "\n".join(lines[:LINES_MAX])
    fence = "`" * 4
    return f"# {path.relative_to(ROOT)}\n\n{fence}{LANGUAGES.get(path.suffix, 'text')}\n{shown}\n{fence}\n{rest}"


# ---- reference ----------------------------------------------------------------------------------------------


def _verbs() -> str:
    from ffslab.cli import index, man

    parts = ["# Verbs\n\n", f"{index.ABOUT} All verbs take `--quiet` and `--verbose`.\n\n{index.ENDINGS}\n"]
    for title, verbs in index.SECTIONS.items():
        page = man.markdown(title, list(verbs)).split("\n", 1)[1]
        parts.append(f"\n## {title}\n" + re.sub(r"^## ", "### ", page, flags=re.MULTILINE))
    return "".join(parts)


def _schemas() -> str:
    from ffslab.api import schemas

    parts = ["# JSON\n\nWhat verbs print with `--json`, and files of results. `ffslab schema NAME` prints a schema.\n"]
    for name, about in schemas.names().items():
        schema = json.loads(schemas.text(name))
        parts.append(f"\n## {name}\n\n{about[:1].upper()}{about[1:]}.\n")
        if name in ("experiment", "stack"):
            parts.append("\nIts keys are those of [experiments](../experiments.md) and [steps](../steps.md).\n")
            continue
        parts.append(_fields(schema))
        for inner, part in schema.get("$defs", {}).items():
            if part.get("properties"):
                parts.append(f"\n### {inner} {{#{name}-{inner.lower()}}}\n{_fields(part)}")
    return "".join(parts)


def _fields(schema: dict[str, Any]) -> str:
    about = f"\n{_inline(schema['description'])}\n" if schema.get("description") else ""
    rows = [
        f"| `{key}` | {_kind(part)} | {_inline(part.get('description', '')) if isinstance(part, dict) else ''} |"
        for key, part in schema.get("properties", {}).items()
    ]
    return about + ("\n| field | kind | meaning |\n|---|---|---|\n" + "\n".join(rows) + "\n" if rows else "")


def _kind(part: Any) -> str:
    if not isinstance(part, dict):
        return "anything"
    if "$ref" in part:
        return f"`{part['$ref'].rpartition('/')[2]}`"
    for way in ("anyOf", "oneOf", "allOf"):
        if way in part:
            return " or ".join(dict.fromkeys(_kind(each) for each in part[way]))
    if "enum" in part or "const" in part:
        return ", ".join(f"`{each}`" for each in part.get("enum", [part.get("const")]))
    kind = part.get("type", "anything")
    if kind == "array":
        return f"list of {_kind(part.get('items', True))}"
    return " or ".join(kind) if isinstance(kind, list) else str(kind)


def _profiles() -> str:
    from ffslab import _native

    parts = [
        "# Fields of profiles\n\nEvery key of a profile, with its unit, its meaning and the value of a built-in one: "
        "what `ffslab profiles new` writes. How a profile is made: [profiles](../profiles.md).\n"
    ]
    bases = {"Boards": "omap3evm", "Kernels": "6.1", "Block devices": "sd-card"}
    bases |= {f"Parts: {kind}": base for kind, base in _native.part_kinds()}
    for title, base in bases.items():
        parts.append(f"\n## {title}\n\n```toml\n{_native.profile_template(base, base).rstrip()}\n```\n")
    return "".join(parts)


def _python() -> str:
    import ffslab
    from ffslab import images, inspection, steps

    parts = ["# Python\n\n" + _doc(ffslab)]
    for name in ffslab.__all__:
        found = getattr(ffslab, name)
        if not inspect.ismodule(found) and not isinstance(found, str):
            parts += _object(f"ffslab.{name}", found)
    for module in (ffslab.sqlite, images, inspection):
        parts.append(f"\n## {module.__name__}\n\n{_doc(module)}")
        for name, found in _public(module):
            parts += _object(f"{module.__name__}.{name}", found, "###")
    names = ", ".join(f"`{name}`" for name, found in _public(steps) if inspect.isfunction(found))
    parts.append(f"\n## ffslab.steps\n\n{_doc(steps)}\nThe keywords are the keys of [steps](../steps.md): {names}.\n")
    return "".join(parts)


def _public(module: Any) -> Iterator[tuple[str, Any]]:
    for name, found in vars(module).items():
        if not name.startswith("_") and getattr(found, "__module__", None) == module.__name__:
            yield name, found


def _object(name: str, found: Any, head: str = "##") -> Iterator[str]:
    is_kind = inspect.isclass(found)
    yield f"\n{head} {name} {{#{name.replace('.', '-').lower()}}}\n\n{_signature(name, found)}{_doc(found)}"
    if not is_kind or issubclass(found, BaseException):
        return
    for inner, member in vars(found).items():
        if inner.startswith("_"):
            continue
        member = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        if inspect.isfunction(member):
            yield f"\n{head}# {found.__name__}.{inner} {{#{name}-{inner}}}\n\n".replace(
                f"{{#{name}", "{#" + name.replace(".", "-").lower()
            )
            yield _signature(f"{found.__name__}.{inner}", member) + _doc(member)
        elif isinstance(member, property) and member.fget is not None:
            yield f"\n{head}# {found.__name__}.{inner}\n\n{_doc(member.fget)}"


def _signature(name: str, found: Callable[..., object]) -> str:
    try:
        text = str(inspect.signature(found))
    except (TypeError, ValueError):
        return ""
    text = text.replace("'", "").replace("(self, ", "(").replace("(self)", "()").replace("(cls, ", "(")
    if len(name + text) > 100:
        text = re.sub(
            r"^\((.*)\)( -> .*)?$", lambda m: "(\n    " + ",\n    ".join(_arguments(m[1])) + f",\n){m[2] or ''}", text
        )
    return f"```python\n{name}{text}\n```\n\n"


def _arguments(text: str) -> list[str]:
    """Splits at the commas that stand in no brackets."""
    found, depth = [""], 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0:
            found.append("")
        else:
            found[-1] += sign
    return [each.strip() for each in found]


def _doc(found: object) -> str:
    """A docstring, whose examples (`>>>`) become blocks of Python, as do indented lines behind a colon."""
    lines: list[str] = []
    in_example = False
    for line in (inspect.getdoc(found) or "").splitlines():
        begins = line.lstrip().startswith((">>>", "..."))
        if begins and not in_example:
            lines += ["", "```python"]
        if in_example and not line.strip():
            lines.append("```")
        in_example = (in_example or begins) and bool(line.strip())
        lines.append(line.strip() if in_example else line)
    if in_example:
        lines.append("```")
    return "\n".join(lines) + "\n"


def _inline(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
