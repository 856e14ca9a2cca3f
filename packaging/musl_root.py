"""Makes a root in which everything is for musl, as in Alpine: a shell, and CPython with what pip and ffslab need of it.

    python packaging/musl_root.py ROOT

No registry that this project uses has a Python for musl, so that CPython is compiled here, by musl-gcc, from the
sources that Debian has of it; the shell is Debian's static busybox. Debian packages: build-essential, busybox-static,
musl-tools. Left out: TLS, readline, curses, compressions other than zlib. Without TLS pip gets its packages from a
folder, and pyarrow, which imports `ssl`, does not load: ffslab runs in such a root only when that is added.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

NEEDS = {"musl-gcc": "musl-tools", "make": "build-essential", "busybox": "busybox-static"}
PYTHON = "python3.11"  # As Debian calls its source package; the oldest that wheels are for.
LOADER = "ld-musl-x86_64.so.1"
# The headers of Linux know nothing of a C library; musl-gcc leaves them out with all others of the machine. CPython's
# build adds the folders of the machine's own libraries, which are for glibc.
COMPILER = """\
#!/bin/sh
[ "$*" = --print-multiarch ] && {{ echo x86_64-linux-musl; exit; }}
for word do
  shift
  case $word in -I/usr/* | -L/usr/*) ;; *) set -- "$@" "$word" ;; esac
done
exec musl-gcc "$@" -idirafter {headers}
"""
OLDEST_MUSL = (1, 2, 4)
SHELL_TOOLS = ("sh", "ls", "cat", "env", "mkdir", "rm", "cp", "uname")


def too_old() -> str | None:
    """Why this machine's musl is none for today's packages: their libraries have relocations (RELR) of musl 1.2.4."""
    loader = Path("/lib") / LOADER
    if not loader.exists():
        return "musl is missing: apt install musl-tools"
    told = subprocess.run([loader], capture_output=True, text=True, check=False).stderr
    version = told.partition("Version ")[2].split()[0]
    if tuple(map(int, version.split("."))) >= OLDEST_MUSL:
        return None
    return f"musl here is {version}; numpy and pyarrow for musl crash before 1.2.4"


def run(*command: object, where: Path, **environment: str) -> None:
    """Runs a step silently; when it fails the end of what it said is told."""
    ran = subprocess.run(
        [*map(str, command)], cwd=where, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if ran.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {ran.returncode}\n{(ran.stdout + ran.stderr)[-2000:]}")


def fetched(work: Path) -> dict[str, Path]:
    """The sources that are compiled, unpacked: those of the Debian that this machine is set up for."""
    told = "deb-src $(REPO_URI) $(RELEASE) $(COMPONENT)"
    command = ["apt-get", "indextargets", "--format", told, "Created-By: Packages", "Origin: Debian"]
    known = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    # The release itself has all sources that its later patches are for, and only those are compiled here.
    lines = [line for line in known if "-" not in line.split()[2]]
    sources = work / "sources.list"
    sources.write_text("\n".join(sorted(set(lines))) + "\n", "utf-8")
    lists = work / "lists"
    (lists / "partial").mkdir(parents=True)
    places = [f"Dir::Etc::SourceList={sources}", "Dir::Etc::SourceParts=/dev/null", f"Dir::State::Lists={lists}"]
    apt = ["apt-get", "--quiet", *(word for place in [*places, "APT::Sandbox::User=root"] for word in ("-o", place))]
    run(*apt, "update", where=work)
    run(*apt, "source", "--download-only", PYTHON, "zlib", "libffi", where=work)
    unpacked = {}
    for name in (PYTHON, "zlib", "libffi"):
        (archive,) = work.glob(f"{name}_*.orig.tar.*[z2]")
        place = work / name
        with tarfile.open(archive) as tar:
            tar.extractall(place, filter="data")
        (unpacked[name],) = place.iterdir()
    return unpacked


def compiled(work: Path, root: Path) -> None:
    """Compiles the libraries that CPython needs into a folder, then CPython into the root."""
    headers, libraries = work / "headers", work / "libraries"
    headers.mkdir()
    for name, place in (("linux", "linux"), ("asm-generic", "asm-generic"), ("asm", "x86_64-linux-gnu/asm")):
        (headers / name).symlink_to(Path("/usr/include") / place)
    compiler = work / "cc"
    compiler.write_text(COMPILER.format(headers=headers), encoding="utf-8")
    compiler.chmod(0o755)
    cc = {"CC": str(compiler), "CFLAGS": "-O1 -fPIC"}
    sources = fetched(work)
    jobs = f"-j{os.cpu_count()}"
    run("./configure", f"--prefix={libraries}", "--static", where=sources["zlib"], **cc)
    run("make", jobs, "libz.a", where=sources["zlib"])
    run("make", "install", where=sources["zlib"])
    options = ["--disable-shared", "--disable-docs", "--disable-multi-os-directory", "--host=x86_64-linux-musl"]
    run("./configure", f"--prefix={libraries}", *options, where=sources["libffi"], **cc)
    run("make", jobs, "install", where=sources["libffi"])
    options = ["--prefix=/usr", "--disable-test-modules", "--without-ensurepip", "--with-pkg-config=no"]
    paths = {"CPPFLAGS": f"-I{libraries}/include", "LDFLAGS": f"-L{libraries}/lib"}
    run("./configure", *options, "--build=x86_64-linux-musl", where=sources[PYTHON], **cc, **paths)
    run("make", jobs, where=sources[PYTHON])
    run("make", "install", f"DESTDIR={root}", where=sources[PYTHON])


def made(root: Path) -> Path:
    """The root; it is complete or not there."""
    if root.is_dir():
        return root
    if missing := sorted({package for tool, package in NEEDS.items() if shutil.which(tool) is None}):
        sys.exit(f"{root}: cannot be made here: apt install {' '.join(missing)}")
    fresh = root.with_suffix(".new")
    shutil.rmtree(fresh, ignore_errors=True)
    for folder in ("bin", "lib", "etc", "tmp", "root", "dev", "proc"):
        (fresh / folder).mkdir(parents=True)
    with tempfile.TemporaryDirectory() as work:
        compiled(Path(work), fresh.resolve())
    shutil.copy(Path("/lib") / LOADER, fresh / "lib" / LOADER)
    shutil.copy(str(shutil.which("busybox")), fresh / "bin" / "busybox")
    for tool in SHELL_TOOLS:
        (fresh / "bin" / tool).symlink_to("busybox")
    return fresh.rename(root)


if __name__ == "__main__":
    made(Path(sys.argv[1]))
