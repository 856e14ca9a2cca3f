"""Licences of everything that ffslab is built from and needs, and the list of it (SBOM).

    python .ci/dependencies.py            says which licences there are; exit code 1 when one is not allowed
    python .ci/dependencies.py FILE.json  writes the list as CycloneDX 1.6

Rust: all crates of Cargo.lock, those of tests, too. Python: what `pip install ffslab` with its extras brings; what only
developers install (`dev`, `docs`) is not passed on. `cargo deny` would say the same of the first half, after minutes of
being built, and nothing of the second.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
# Licences of others' work that may be passed on with ours (MIT or Apache-2.0), by their SPDX names.
ALLOWED = frozenset(
    [
        *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "ISC"),
        *("MIT", "MIT-CMU", "PSF-2.0", "Unicode-3.0", "Unlicense", "Zlib"),
    ]
)
# How packages of Python without an SPDX name write theirs.
WRITTEN = {
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD 3-Clause": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
}
# Packages whose licence is known although they do not say it in these words, with the reason.
KNOWN = {"apsw": "MIT"}  # "any-OSI": any licence that the Open Source Initiative has approved.
OF_DEVELOPERS = ("dev", "docs")
TOKEN = re.compile(r"\(|\)|[^\s()]+")


class Package(NamedTuple):
    """Somebody's work. `ecosystem`: "cargo" or "pypi"."""

    ecosystem: str
    name: str
    version: str
    licence: str


def is_allowed(expression: str) -> bool:
    """Whether a licence expression (SPDX) leaves a choice that is allowed; of "a AND b" both must be."""
    tokens = TOKEN.findall(expression.replace("/", " OR "))

    def any_of() -> bool:
        found = [all_of()]
        while tokens[:1] == ["OR"]:
            tokens.pop(0)
            found.append(all_of())
        return any(found)

    def all_of() -> bool:
        found = [one()]
        while tokens[:1] == ["AND"]:
            tokens.pop(0)
            found.append(one())
        return all(found)

    def one() -> bool:
        word = tokens.pop(0) if tokens else ")"
        if word == "(":
            found = any_of()
            return tokens.pop(0) == ")" and found if tokens else False
        # An exception only permits more.
        if tokens[:1] == ["WITH"]:
            del tokens[:2]
        return word in ALLOWED

    return any_of() and not tokens


def crates() -> list[Package]:
    """Those of Cargo.lock that are not our own."""
    command = ["cargo", "metadata", "--format-version", "1", "--locked"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    packages = [each for each in json.loads(ran.stdout)["packages"] if each["source"] is not None]
    return [Package("cargo", each["name"], each["version"], each["license"] or "none") for each in packages]


def packages() -> list[Package]:
    """What `ffslab` and its extras bring, as far as it is installed here."""
    found: dict[str, Package] = {}

    def walk(name: str) -> None:
        key = re.sub(r"[-_.]+", "-", name).lower()
        if key in found:
            return
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            return  # Of another system, by its marker.
        found[key] = Package("pypi", key, distribution.version, _licence(key, distribution.metadata))
        for line in distribution.requires or []:
            if "extra ==" not in line:
                walk(_name(line))

    for line in metadata.requires("ffslab") or []:
        if not any(f"'{extra}'" in line for extra in OF_DEVELOPERS):
            walk(_name(line))
    return sorted(found.values())


def _name(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0]


def _licence(key: str, about: Any) -> str:
    if key in KNOWN:
        return KNOWN[key]
    if expression := about.get("License-Expression"):
        return str(expression)
    heads = [line.rpartition(":: ")[2] for line in about.get_all("Classifier", []) if line.startswith("License ::")]
    said = [each for each in heads if each != "OSI Approved"] or [
        str(about.get("License") or "none").strip().splitlines()[0]
    ]
    return " AND ".join(WRITTEN.get(each, each) for each in said)


def bill(found: list[Package], version: str) -> dict[str, object]:
    """The list as CycloneDX 1.6 has it: components with package URLs; no time of making, so that it can be repeated."""
    components = [
        {
            "type": "library",
            "name": each.name,
            "version": each.version,
            "purl": f"pkg:{each.ecosystem}/{each.name}@{each.version}",
            "bom-ref": f"pkg:{each.ecosystem}/{each.name}@{each.version}",
            "licenses": [{"expression": each.licence.replace("/", " OR ")}],
        }
        for each in found
    ]
    own = {"type": "application", "name": "ffslab", "version": version, "bom-ref": "ffslab"}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": own},
        "components": components,
        "dependencies": [{"ref": "ffslab", "dependsOn": [str(each["bom-ref"]) for each in components]}],
    }


def main() -> int:
    """Says or writes it; the exit code."""
    found = [*crates(), *packages()]
    if len(sys.argv) > 1:
        text = json.dumps(bill(found, metadata.version("ffslab")), indent=2) + "\n"
        Path(sys.argv[1]).write_text(text, encoding="utf-8")
        print(f"{sys.argv[1]}: {len(found)} packages")
        return 0
    by_licence: dict[str, list[str]] = defaultdict(list)
    for each in found:
        by_licence[each.licence].append(each.name)
    refused = [each for each in found if not is_allowed(each.licence)]
    for each in refused:
        print(f"licences: {each.name} {each.version} ({each.ecosystem}): {each.licence}", file=sys.stderr)
    if not refused:
        print(f"licences: {len(found)} packages, {len(by_licence)} ways to say it, all allowed")
    return 1 if refused else 0


if __name__ == "__main__":
    sys.exit(main())
