"""Prints what pip is to install: the dependencies in `pyproject.toml`, and those of extras.

python .ci/packages.py EXTRA ...
"""

import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
# One word each, as a shell takes them: no line has a condition behind it.
chosen = [
    *project["dependencies"],
    *(line for extra in sys.argv[1:] for line in project["optional-dependencies"][extra]),
]
print(*(line.replace(" ", "") for line in chosen))
