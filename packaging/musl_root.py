"""Makes a root in which everything is for musl, as in Alpine: a shell, and CPython with what pip and ffslab need of it.

    python packaging/musl_root.py ROOT x86_64|aarch64

No registry that this project uses has a Python for musl, so that CPython is cross-compiled here by Zig, from the
sources that Debian has of it and of zlib, libffi and OpenSSL. musl itself and the shell, a static busybox, are Debian's
packages. The interpreter is that of an environment which has what `make dist` installs.
Left out of CPython: readline, curses, SQLite, compressions other than zlib.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

# As Debian calls its source packages: this is the oldest Python that wheels are for. It compiles for another machine
# with the help of the same version for this one.
PYTHON = "python3.11"
NEEDS = {"make": "build-essential", "dpkg-deb": "dpkg", "perl": "perl", "readelf": "binutils", PYTHON: PYTHON}
SOURCES = (PYTHON, "zlib", "libffi", "openssl")
SOURCES_SUITE = "bookworm"
# The first Debian whose musl loads numpy and pyarrow: their libraries have relocations (RELR) that musl before 1.2.4
# does not know.
MUSL_SUITE = "trixie"
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
SHELL_TOOLS = ("sh", "ls", "cat", "env", "mkdir", "rm", "cp", "uname")
# Parts of OpenSSL that no server of packages asks for: less to compile.
NO_OPENSSL = (
    "no-aria no-asm no-async no-bf no-camellia no-cast no-cmp no-cms no-comp no-ct no-dsa no-dso no-dtls no-engine "
    "no-gost no-idea no-legacy no-md4 no-mdc2 no-ocb no-rc2 no-rc4 no-rc5 no-scrypt no-seed no-shared no-sm2 no-sm3 "
    "no-sm4 no-srp no-srtp no-tests no-ts no-whirlpool"
)
# Null, zero and urandom, as makedev(3) numbers them.
DEVICES = {"null": (1, 3), "zero": (1, 5), "urandom": (1, 9)}


def missing() -> str | None:
    """Why a root cannot be made on this machine."""
    if importlib.util.find_spec("ziglang") is None:
        return f"{sys.executable} has no ziglang, which compiles for musl: use the environment of `make dist`"
    lacking = sorted({package for tool, package in NEEDS.items() if shutil.which(tool) is None})
    return f"a root for musl needs tools: apt install {' '.join(lacking)}" if lacking else None


def run(*command: object, where: Path, **environment: str) -> None:
    """Runs a step silently; when it fails the end of what it said is told."""
    ran = subprocess.run(
        [*map(str, command)], cwd=where, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    if ran.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit code {ran.returncode}\n{(ran.stdout + ran.stderr)[-2000:]}")


class Debian:
    """A suite of Debian, looked up beside the one that this machine is set up for; `get` downloads into its folder."""

    def __init__(self, work: Path, suite: str, kind: str, architecture: str) -> None:
        self.folder = work / suite
        (self.folder / "lists" / "partial").mkdir(parents=True)
        told = ["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages", "Origin: Debian"]
        known = subprocess.run(told, capture_output=True, text=True, check=True).stdout.splitlines()
        mirror = next(uri for uri in known if uri.rstrip("/").endswith("debian"))
        keys = "/usr/share/keyrings/debian-archive-keyring.gpg"
        sources = self.folder / "sources.list"
        sources.write_text(f"{kind} [signed-by={keys}] {mirror} {suite} main\n", "utf-8")
        settings = [f"Dir::Etc::SourceList={sources}", "Dir::Etc::SourceParts=/dev/null"]
        settings += [f"Dir::State::Lists={self.folder / 'lists'}", "APT::Sandbox::User=root"]
        settings += [f"APT::Architecture={architecture}", f"APT::Architectures={architecture}"]
        self.apt = ["apt-get", "--quiet", *(word for setting in settings for word in ("-o", setting))]
        run(*self.apt, "update", where=self.folder)

    def get(self, *command: str) -> None:
        run(*self.apt, *command, where=self.folder)


def unpacked_sources(work: Path) -> dict[str, Path]:
    """The sources that are compiled: the releases as Debian has them, as its patches are for its own builds."""
    debian = Debian(work, SOURCES_SUITE, "deb-src", "amd64")
    debian.get("source", "--download-only", *SOURCES)
    unpacked = {}
    for name in SOURCES:
        (archive,) = debian.folder.glob(f"{name}_*.orig.tar.*[z2]")
        place = work / name
        with tarfile.open(archive) as tar:
            tar.extractall(place, filter="data")
        (unpacked[name],) = place.iterdir()
    return unpacked


def tools(work: Path, processor: str) -> dict[str, str]:
    """Zig as the compiler and archiver of build systems that expect cc, ar and ranlib."""
    spec = importlib.util.find_spec("ziglang")
    assert spec is not None and spec.origin is not None  # missing() looked
    zig = Path(spec.origin).with_name("zig")
    calls = {"CC": f"cc -target {processor}-linux-musl -dynamic", "AR": "ar", "RANLIB": "ranlib"}
    # Zig checks for undefined behaviour and refuses the date of the build, which old sources were not written for.
    made = {"CFLAGS": "-O1 -g0 -fPIC -fno-sanitize=undefined -Wno-date-time -Wno-implicit-function-declaration"}
    for name, call in calls.items():
        script = work / name.lower()
        script.write_text(f'#!/bin/sh\nexec {zig} {call} "$@"\n', "utf-8")
        script.chmod(0o755)
        made[name] = str(script)
    return made


def compiled(work: Path, root: Path, processor: str) -> None:
    """Compiles the libraries that CPython needs into a folder, then CPython into the root."""
    libraries, cc, sources = work / "libraries", tools(work, processor), unpacked_sources(work)
    jobs, host = f"-j{os.cpu_count()}", f"--host={processor}-linux-musl"
    run("./configure", f"--prefix={libraries}", "--static", where=sources["zlib"], **cc)
    run("make", jobs, "libz.a", where=sources["zlib"])
    run("make", "install", where=sources["zlib"])
    options = ["--disable-shared", "--disable-docs", "--disable-multi-os-directory", "--disable-exec-static-tramp"]
    run("./configure", f"--prefix={libraries}", host, *options, where=sources["libffi"], **cc)
    run("make", jobs, "install", where=sources["libffi"])
    options = [f"--prefix={libraries}", "--libdir=lib", "--openssldir=/etc/ssl", *NO_OPENSSL.split()]
    run("./Configure", f"linux-{processor}", *options, where=sources["openssl"], **cc)
    run("make", jobs, "build_libs", where=sources["openssl"])
    run("make", "install_dev", where=sources["openssl"])
    options = ["--prefix=/usr", "--disable-test-modules", "--without-ensurepip", "--without-readline"]
    options += ["--with-pkg-config=no", f"--with-openssl={libraries}", f"--with-build-python={shutil.which(PYTHON)}"]
    # What configure finds out by running a program, or by looking at this machine. A readelf without its path it takes
    # for none.
    answers = ["ac_cv_file__dev_ptmx=yes", "ac_cv_file__dev_ptc=no", "ac_cv_buggy_getaddrinfo=no"]
    answers.append(f"READELF={shutil.which('readelf')}")
    paths = {"CPPFLAGS": f"-I{libraries}/include", "LDFLAGS": f"-L{libraries}/lib"}
    # CPython 3.11 names its modules after the C library of the machine that builds, so that this one is called one of
    # musl; with another vendor than the host's it still compiles for another machine.
    build = "--build=x86_64-here-linux-musl"
    run("./configure", *options, host, build, *answers, where=sources[PYTHON], **cc, **paths)
    run("make", jobs, where=sources[PYTHON])
    run("make", "install", f"DESTDIR={root}", where=sources[PYTHON])


def furnished(work: Path, root: Path, processor: str) -> None:
    """Puts musl, a shell and devices into the root."""
    for folder in ("bin", "lib", "etc", "tmp", "root", "dev", "proc"):
        (root / folder).mkdir(parents=True)
    architecture = ARCHITECTURES[processor]
    debian = Debian(work, MUSL_SUITE, "deb", architecture)
    debian.get("download", "musl", "busybox-static")
    for package in ("musl", "busybox-static"):
        (archive,) = debian.folder.glob(f"{package}_*.deb")
        run("dpkg-deb", "-x", archive, work / "packages", where=work)
    shutil.copy(work / f"packages/usr/lib/{processor}-linux-musl/libc.so", root / f"lib/ld-musl-{processor}.so.1")
    shutil.copy(work / "packages/usr/bin/busybox", root / "bin/busybox")
    for tool in SHELL_TOOLS:
        (root / "bin" / tool).symlink_to("busybox")
    for name, numbers in DEVICES.items():
        os.mknod(root / "dev" / name, stat.S_IFCHR | 0o666, os.makedev(*numbers))


def made(root: Path, processor: str) -> Path:
    """The root; it is complete or not there."""
    if root.is_dir():
        return root
    fresh = root.with_suffix(".new")
    shutil.rmtree(fresh, ignore_errors=True)
    with tempfile.TemporaryDirectory() as work:
        furnished(Path(work), fresh.resolve(), processor)
        compiled(Path(work), fresh.resolve(), processor)
    return fresh.rename(root)


if __name__ == "__main__":
    if reason := missing():
        sys.exit(reason)
    made(Path(sys.argv[1]), sys.argv[2])
