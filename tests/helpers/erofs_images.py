"""Images of EROFS, by the real mkfs.erofs, with the same layout whenever they are made."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from helpers.left_out import leave_out

UUID = "12345678-1234-5678-1234-567812345678"


def made(folder: Path, path: Path, *options: str) -> Path:
    """An image of what is in a folder."""
    program = shutil.which("mkfs.erofs", path="/usr/sbin:/sbin:/usr/bin:/bin:/usr/local/sbin:/usr/local/bin")
    if program is None:
        leave_out("mkfs.erofs is missing: apt-get install erofs-utils")
    always = ("-T0", "-U", UUID, "--all-root", "-x-1")
    subprocess.run([program, *always, *options, path, folder], check=True, capture_output=True)
    return path
