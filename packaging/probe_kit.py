"""Makes the probe kit one file: a shell script that carries the kit's folder and unpacks it where it is told to.

    python packaging/probe_kit.py OUT VERSION

A board has a shell and little else, so the folder is in the script as text, a file after another: `cat` writes what the
shell reads from the script itself. No tar, no base64, no decompressor is needed. It is run by
tests/project/test_packaging.py.
"""

from __future__ import annotations

import sys
from pathlib import Path

KIT = Path(__file__).resolve().parent.parent / "probe"
# Ends a file within the script; a line of the kit that is the same would end it too early.
END = "--- end of a file of the probe kit ---"

HEAD = """\
#!/bin/sh
# The probe kit of ffslab {version}: unpacks itself, and runs.
#
#   sh {name} ARGUMENTS...    unpacks into a folder below ${{TMPDIR:-/tmp}}, and calls ffslab-probe there
#   sh {name} --unpack DIR    unpacks into this new folder, and does no more
set -eu
unpack() {{
  mkdir -m 700 "$1"
"""
TAIL = """\
}}
case "${{1:-}}" in
  --unpack)
    [ $# -eq 2 ] || {{ echo "$0: --unpack: say the new folder" >&2; exit 2; }}
    [ ! -e "$2" ] || {{ echo "$0: --unpack $2: is there already" >&2; exit 2; }}
    unpack "$2"
    ;;
  *)
    # The same folder each time: a monitor that runs is stopped by a later call. It is root who runs what is in
    # there, so nobody else may have made it.
    place=${{FFSLAB_PROBE_KIT:-${{TMPDIR:-/tmp}}/ffslab-probe-{version}-$(id -u)}}
    if [ ! -e "$place" ]; then
      rm -rf "$place.new"
      unpack "$place.new"
      mv "$place.new" "$place"
    fi
    if [ -L "$place" ] || [ ! -O "$place" ] || [ ! -f "$place/ffslab-probe" ]; then
      echo "$0: $place: was not made by this user's kit: remove it, or name another place with FFSLAB_PROBE_KIT" >&2
      exit 2
    fi
    exec sh "$place/ffslab-probe" "$@"
    ;;
esac
"""


def script(name: str, version: str) -> str:
    """The whole script."""
    parts = [HEAD.format(name=name, version=version)]
    folders = sorted({path.relative_to(KIT).parent for path in KIT.rglob("*") if path.is_file()})
    parts += [f'  mkdir "$1/{folder.as_posix()}"\n' for folder in folders if folder.parts]
    for path in sorted(path for path in KIT.rglob("*") if path.is_file()):
        text = path.read_text(encoding="utf-8")
        if not text.endswith("\n") or END in text.splitlines():
            raise SystemExit(f"{path}: does not end with a line, or has the line that ends a file")
        place = f"$1/{path.relative_to(KIT).as_posix()}"
        parts.append(f"  cat > \"{place}\" << '{END}'\n{text}{END}\n")
        if path.stat().st_mode & 0o100:
            parts.append(f'  chmod +x "{place}"\n')
    parts.append(TAIL.format(version=version))
    return "".join(parts)


def main() -> None:
    """Writes the script."""
    out, version = Path(sys.argv[1]), sys.argv[2]
    out.write_text(script(out.name, version), encoding="utf-8")
    out.chmod(0o755)


if __name__ == "__main__":
    main()
