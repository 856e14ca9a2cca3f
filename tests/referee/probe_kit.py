"""The on-target kit (`probe/`) in the guest: how jobs get it, and what its logs hold."""

from __future__ import annotations

import io
import tarfile
from dataclasses import dataclass
from pathlib import Path

from helpers.command import ROOT

PROBE = ROOT / "probe"
# Behind these lines a job calls `ffslab-probe`.
UNPACK = "tar -C /tmp -xf probe.tar; export PATH=$PATH:/tmp/probe"


def archive() -> bytes:
    """The kit as it is copied to a board."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        tar.add(PROBE, arcname="probe")
    return data.getvalue()


@dataclass(frozen=True)
class Log:
    """A log of the kit: header and footer as they are, rows as texts by column."""

    header: dict[str, str]
    rows: list[dict[str, str]]
    end: dict[str, str]

    def of_type(self, types: str) -> list[dict[str, str]]:
        return [row for row in self.rows if row["type"] in types]


def read_log(path: Path) -> Log:
    """Reads a complete log."""
    header: dict[str, str] = {}
    rows: list[dict[str, str]] = []
    end: dict[str, str] = {}
    columns: list[str] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("# end: "):
            end = dict(pair.split("=", 1) for pair in line.removeprefix("# end: ").split())
        elif line.startswith("#"):
            key, _, value = line.removeprefix("# ").partition(": ")
            header[key] = value
            columns = value.split(";") if key == "columns" else columns
        elif line.split(";")[1] != "M":
            rows.append(dict(zip(columns, line.split(";"), strict=True)))
        else:
            rows.append({"t_s": line.split(";")[0], "type": "M", "function": "M", "text": line.split(";", 3)[3]})
    assert end, f"{path}: the footer is missing"
    return Log(header, rows, end)
