"""A test of many cuts that was interrupted goes on where it was: what is judged stands in a file until the end."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ffslab._native import InputError, __version__
from ffslab.files.os_errors import reason
from ffslab.files.results import write_text

if TYPE_CHECKING:
    from ffslab._native import CrashRecording
    from ffslab.studies.crashtest.file import CrashTest
    from ffslab.studies.crashtest.points import Points
    from ffslab.studies.crashtest.programs import ProgramRecording

NAME = "unfinished.json"


@dataclass(frozen=True)
class Kept:
    """What is known of a test so far, in a file of its folder.

    `key`: a hash of all that the answer depends on; what was kept of another test, version or workload is not taken.
    """

    path: Path
    key: str

    @classmethod
    def of(cls, folder: Path, test: CrashTest, recording: CrashRecording | ProgramRecording, points: Points) -> Kept:
        """That of a test whose workload did what `recording` says."""
        asked = {key: value for key, value in asdict(test).items() if key not in ("folder", "file_name")}
        parts: list[Any] = [
            __version__,
            asked,
            recording.calls(),
            recording.told(),
            [asdict(cut) for cut in points.cuts],
        ]
        digest = hashlib.sha256(json.dumps(parts, sort_keys=True, default=list).encode())
        name = str(test.judge.get("function", "")).rpartition(":")[0]
        judge = name if name.endswith(".py") else test.on_chip and test.on_chip.check[0]
        if judge and (test.folder / judge).is_file():
            digest.update((test.folder / judge).read_bytes())
        return cls(folder / NAME, digest.hexdigest())

    def read(self) -> dict[str, Any] | None:
        """What was judged before; `None`: nothing that helps."""
        try:
            held = json.loads(self.path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        if not isinstance(held, dict) or held.get("key") != self.key:
            return None
        judged: dict[str, Any] = held["judged"]
        return judged

    def write(self, judged: object) -> None:
        """Notes what is judged by now.

        Raises `ffslab.InputError` when the file cannot be written.
        """
        write_text(self.path, json.dumps({"key": self.key, "judged": judged}))

    def remove(self) -> None:
        """The test is over.

        Raises `ffslab.InputError` when the file cannot be removed.
        """
        try:
            self.path.unlink(missing_ok=True)
            if not any(self.path.parent.iterdir()):
                self.path.parent.rmdir()
        except FileNotFoundError:
            return
        except OSError as error:
            raise InputError(f"{self.path}: cannot be removed: {reason(error)}") from None
