"""A user's littlefs, SPIFFS, FatFs, Dhara, NVS of Zephyr or FlashDB, compiled to a library that experiments name."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from ffslab._native import InputError
from ffslab.files.os_errors import reason

GLUE = Path(__file__).with_name("littlefs")
GLUE_SPIFFS = Path(__file__).with_name("spiffs")
GLUE_FATFS = Path(__file__).with_name("fatfs")
GLUE_DHARA = Path(__file__).with_name("dhara")
GLUE_ZEPHYR = Path(__file__).with_name("zephyr")
GLUE_FLASHDB = Path(__file__).with_name("flashdb")
PATHS = Path(__file__).with_name("paths")
# `littlefs.c` says what flash operations are for by these functions of lfs.c. Earlier versions: other names, or none.
LABELS = re.compile(r"^    \{\(const void \*\)(\w+),", re.MULTILINE)
EARLIER = {
    "lfs_alloc_scan": ["lfs_alloc"],
    "lfs_dir_relocatingcommit": ["lfs_dir_commit"],
    "lfs_dir_splittingcompact": ["lfs_dir_compact"],
    "lfs_file_flushedread": ["lfs_file_read"],
    "lfs_file_flushedwrite": ["lfs_file_write"],
}
NO_FUNCTION = "ffslab_no_function"
OLDEST = (2, 2)
FLAGS = ["-std=gnu11", "-O2", "-g1", "-fPIC", "-shared", "-Wl,-Bsymbolic", "-w", "-finstrument-functions"]
DEFINES = ["-DLFS_NO_DEBUG", "-DLFS_NO_WARN", "-DLFS_NO_ERROR"]
# Compilers that know them get faster code: small functions that touch no flash do not report.
IF_KNOWN = [
    "-finstrument-functions-exclude-file-list=lfs_util",
    "-finstrument-functions-exclude-function-list=lfs_tag_,lfs_pair_,lfs_gstate_,lfs_cache_,lfs_ctz_index,lfs_bd_,"
    "lfs_dir_traverse,lfs_dir_commit_,lfs_dir_commitattr,lfs_dir_commitprog,lfs_dir_get,lfs_dir_fetch,lfs_mlist_,"
    "lfs_dir_find_match,lfs_fs_parent_match,fromle32,tole32",
]


class CompilerError(InputError):
    """The compiler refuses the sources. `said`: its own words."""

    def __init__(self, command: Sequence[str], said: str) -> None:
        super().__init__(f"{command[0]}: does not compile the sources; what it says stands above")
        self.said = said


def version_of(source: Path) -> tuple[int, int]:
    """Major and minor number of the littlefs in a folder.

    Raises `ffslab.InputError` when there is none, or one that is too old.
    """
    _demand_files(source, ("lfs.c", "lfs.h", "lfs_util.c"), "littlefs", "lfs.c")
    try:
        found = re.search(r"#define LFS_VERSION 0x(\w{4})(\w{4})\b", (source / "lfs.h").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{source / 'lfs.h'}: cannot be read: {error}") from None
    version = (int(found[1], 16), int(found[2], 16)) if found else (0, 0)
    if version < OLDEST or version[0] != OLDEST[0]:
        is_now = f"{version[0]}.{version[1]}" if found else "of an unknown version"
        raise InputError(f"{source}: littlefs is {is_now}: 2.2 and later ones of 2 can be built")
    return version


def renamed(lfs_c: str, labels: Sequence[str]) -> dict[str, str]:
    """How functions are called in this version, of those that are not called as `littlefs.c` does."""
    here = set(re.findall(r"^(?:static )?[\w *]*?\b(lfs_\w+)\(", lfs_c, re.MULTILINE))

    def earlier(label: str) -> list[str]:
        plain = label.removesuffix("_")
        # lfs_file_opencfg_ was lfs_file_rawopencfg, and before that lfs_file_opencfg.
        raw = re.sub(r"^(lfs_(?:file_|dir_|fs_)?)", r"\1raw", plain)
        return [*EARLIER.get(label, []), raw, plain]

    other = {}
    for label in labels:
        if label not in here:
            other[label] = next((name for name in earlier(label) if name in here), NO_FUNCTION)
    return other


def littlefs(source: Path, config: Path | None, out: Path, compiler: str | None = None) -> str:
    """Compiles the littlefs in the folder `source` to the library `out`, and returns its version, as in "2.9".

    `config`: the header that LFS_CONFIG names.

    Raises `ffslab.InputError` when there are no sources or no compiler, and `CompilerError`, with what the compiler
    says, when it refuses them.
    """
    version = version_of(source)
    if config is not None and not config.is_file():
        raise InputError(f"--config {config}: is not a file: name the header that your build gives as LFS_CONFIG")
    labels = LABELS.findall((GLUE / "littlefs.c").read_text(encoding="utf-8"))
    names = renamed((source / "lfs.c").read_text(encoding="utf-8", errors="replace"), labels)
    define = [*DEFINES, *(f"-D{label}={name}" for label, name in names.items())]
    if version >= (2, 7):
        define.append("-DLFS_MULTIVERSION")
    if config is not None:
        define.append(f"-DLFS_CONFIG={config.name}")
    include = [f"-I{folder}" for folder in ([config.parent] if config else []) + [source, GLUE, PATHS]]
    _compile(GLUE / "littlefs.c", [*define, *include], IF_KNOWN, out, compiler)
    return f"{version[0]}.{version[1]}"


SPIFFS_SOURCES = (
    "spiffs.h",
    "spiffs_nucleus.h",
    "spiffs_cache.c",
    "spiffs_check.c",
    "spiffs_gc.c",
    "spiffs_hydrogen.c",
    "spiffs_nucleus.c",
)
SPIFFS_CONFIG = "spiffs_config.h"
# Small functions that touch no flash themselves.
SPIFFS_IF_KNOWN = [
    "-finstrument-functions-exclude-function-list=spiffs_phys_,spiffs_cache_,spiffs_fd_,spiffs_hash,spiffs_strncpy"
]


def spiffs(source: Path, config: Path | None, out: Path, compiler: str | None = None) -> None:
    """Compiles the SPIFFS in the folder `source` (that of spiffs.h) to the library `out`.

    `config`: the header that SPIFFS includes as spiffs_config.h; without it one with the values of ESP-IDF.

    Raises `ffslab.InputError` when there are no sources or no compiler, and `CompilerError`, with what the compiler
    says, when it refuses them.
    """
    _demand_files(source, SPIFFS_SOURCES, "SPIFFS", "spiffs.h")
    config = config or GLUE_SPIFFS / SPIFFS_CONFIG
    if not config.is_file():
        raise InputError(f"--config {config}: is not a file: name the header that your build has as {SPIFFS_CONFIG}")
    text = _text(source, SPIFFS_SOURCES)
    define = _lacking(GLUE_SPIFFS / "spiffs.c", text)
    if re.search(r"\bSPIFFS_ftruncate\(", text):
        define.append("-DFFSLAB_HAS_FTRUNCATE")
    try:
        with tempfile.TemporaryDirectory() as place:
            # Whatever the file is called, and whatever else stands beside it.
            (Path(place) / SPIFFS_CONFIG).write_text(f'#include "{config.resolve()}"\n', encoding="utf-8")
            include = [f"-I{folder}" for folder in (place, source, config.resolve().parent, PATHS)]
            _compile(GLUE_SPIFFS / "spiffs.c", [*define, *include], SPIFFS_IF_KNOWN, out, compiler)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {reason(error)}") from None


FATFS_SOURCES = ("ff.c", "ff.h", "diskio.h")
FATFS_UNICODE = "ffunicode.c"
FATFS_CONFIG = "ffconf.h"
FATFS_OLDEST = 14
# Small functions that touch no flash themselves.
FATFS_IF_KNOWN = [
    "-finstrument-functions-exclude-function-list=ld_16,ld_32,ld_clust,st_16,st_32,st_clust,clst2sect,tchar2uni,put_utf,"
    "sum_sfn,cmp_lfn,pick_lfn,put_lfn,get_achar,ff_wtoupper,ff_uni2oem,ff_oem2uni"
]


def fatfs(source: Path, config: Path | None, out: Path, compiler: str | None = None) -> str:
    """Compiles the FatFs in the folder `source` (that of ff.c) to the library `out`; its version, as in "R0.16".

    `config`: the header in the place of ffconf.h; without it one with the values of ESP-IDF and long names.

    Raises `ffslab.InputError` when there are no sources or no compiler, and `CompilerError`, with what the compiler
    says, when it refuses them.
    """
    _demand_files(source, FATFS_SOURCES, "FatFs", "ff.c")
    text = _text(source, FATFS_SOURCES)
    found = re.search(r"\bR0\.(\d+)([a-z]?)", text)
    if not found or int(found[1]) < FATFS_OLDEST:
        is_now = found[0] if found else "of an unknown version"
        raise InputError(f"{source}: FatFs is {is_now}: R0.{FATFS_OLDEST} and later ones can be built")
    if config is not None and not config.is_file():
        raise InputError(f"--config {config}: is not a file: name the header that your build has as {FATFS_CONFIG}")
    # ff.h takes the configuration that stands beside it, unless there is one already.
    if re.search(r"#\s*if(ndef\s+|\s+!\s*defined\W+)FFCONF_DEF\b", text):
        config = (config or GLUE_FATFS / FATFS_CONFIG).resolve()
        configured = ["-include", str(config), f"-I{config.parent}"]
    elif config is None:
        configured = []
    else:
        raise InputError(
            f"--config {config}: {found[0]} takes only the {FATFS_CONFIG} beside its ff.h: change that one"
        )
    # ESP-IDF calls the type of a directory otherwise.
    directory = "FF_DIR" if re.search(r"}\s*FF_DIR;", text) else "DIR"
    define = [f"-DFFSLAB_FATFS_DIR={directory}", *_lacking(GLUE_FATFS / "fatfs.c", text)]
    if (source / FATFS_UNICODE).is_file():
        define.append("-DFFSLAB_HAS_UNICODE")
    options = [*define, *configured, f"-I{source}", f"-I{PATHS}"]
    _compile(GLUE_FATFS / "fatfs.c", options, FATFS_IF_KNOWN, out, compiler)
    return found[0]


DHARA_SOURCES = ("map.h", "map.c", "journal.h", "journal.c", "nand.h", "error.h", "bytes.h")


def dhara(source: Path, config: Path | None, out: Path, compiler: str | None = None) -> None:
    """Compiles the Dhara in the folder `source` (that of map.h, or the one above it) to the library `out`.

    `config`: none is known.

    Raises `ffslab.InputError` when there are no sources or no compiler, and `CompilerError`, with what the compiler
    says, when it refuses them.
    """
    if config is not None:
        raise InputError(f"--config {config}: Dhara has no configuration: leave it out")
    folder = source / "dhara" if (source / "dhara" / "map.h").is_file() else source
    _demand_files(folder, DHARA_SOURCES, "Dhara", "map.h")
    define = _lacking(GLUE_DHARA / "dhara.c", _text(folder, DHARA_SOURCES))
    _compile(GLUE_DHARA / "dhara.c", [*define, f"-I{folder}", f"-I{PATHS}"], [], out, compiler)


ZEPHYR_NVS_SOURCES = ("nvs.c", "nvs_priv.h")
# Where they are in a tree of Zephyr: since 4.4, and before.
ZEPHYR_NVS_FOLDERS = ("subsys/kvss/nvs", "subsys/fs/nvs")
ZEPHYR_NVS_HEADERS = ("include/zephyr/kvss/nvs.h", "include/zephyr/fs/nvs.h", "include/fs/nvs.h")
# Small functions that touch no flash themselves, or for whoever calls them. Marks of early versions have a byte
# on flash that nobody sets: with the first option it is the same each time.
ZEPHYR_NVS_IF_KNOWN = [
    "-ftrivial-auto-var-init=zero",
    "-finstrument-functions-exclude-function-list=nvs_al_size,nvs_ate_c,nvs_ate_valid,nvs_close_ate_valid,"
    "nvs_flash_al_wrt,nvs_flash_ate,nvs_flash_block,nvs_flash_cmp,nvs_flash_data,nvs_flash_rd,nvs_lookup_cache,"
    "nvs_prev_ate,nvs_recover_last_ate,nvs_sector_advance",
]
# Headers that are not Zephyr's.
C_HEADERS = re.compile(r"(assert|errno|inttypes|limits|std\w+|string|sys/types)\.h")


def zephyr_nvs(source: Path, config: Path | None, out: Path, compiler: str | None = None) -> str | None:
    """Compiles the NVS of the Zephyr tree `source`, or of its folder with nvs.c, to the library `out`.

    `config`: the header with the settings of a build, autoconf.h; without it each setting of NVS is off, as by default.

    Returns the version of the tree, as in "4.2.0", if it says one. Raises `ffslab.InputError` when there are no sources
    or no compiler, and `CompilerError`, with what the compiler says, when it refuses them.
    """
    folders = [source, *(source / name for name in ZEPHYR_NVS_FOLDERS)]
    folder = next((place for place in folders if (place / "nvs.c").is_file()), source)
    project, sign = "Zephyr's NVS", f"nvs.c, as {ZEPHYR_NVS_FOLDERS[0]} of a Zephyr tree, or that tree"
    _demand_files(folder, ZEPHYR_NVS_SOURCES, project, sign)
    trees = [folder, *folder.resolve().parents[:3]]
    headers = [folder / "nvs.h", *(tree / name for tree in trees for name in ZEPHYR_NVS_HEADERS)]
    header = next((file for file in headers if file.is_file()), None)
    if header is None:
        raise InputError(f"{folder}: nvs.h of this Zephyr is missing: name the whole tree, or put it beside nvs.c")
    if config is not None and not config.is_file():
        raise InputError(f"--config {config}: is not a file: name autoconf.h of your build of Zephyr")
    text = _text(folder, ZEPHYR_NVS_SOURCES) + _text(header.parent, [header.name])
    if not re.search(r"\bnvs_mount\s*\(", text):
        raise InputError(f"{folder}: this NVS has no nvs_mount(): a later Zephyr is needed")
    define = _lacking(GLUE_ZEPHYR / "nvs_keys.c", text)
    configured = ["-include", str(config.resolve())] if config else []
    try:
        with tempfile.TemporaryDirectory() as place:
            _stand_in(Path(place), text, header)
            # Old trees include <device.h>, and ours stands there, too.
            ours = [word for directory in (GLUE_ZEPHYR, PATHS) for word in ("-iquote", str(directory))]
            options = [*define, *configured, *ours, f"-I{place}", f"-I{folder}"]
            _compile(GLUE_ZEPHYR / "nvs_keys.c", options, ZEPHYR_NVS_IF_KNOWN, out, compiler)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {reason(error)}") from None
    return next((version for tree in trees if (version := _zephyr_version(tree / "VERSION"))), None)


def _stand_in(place: Path, text: str, own: Path) -> None:
    """Puts a file in the place of each header of Zephyr that `text` includes: its `own` one, or ours with the rest."""
    for name in set(re.findall(r"^\s*#\s*include\s*<([\w/.]+)>", text, re.MULTILINE)):
        if C_HEADERS.fullmatch(name):
            continue
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        stands = own.resolve() if file.name == own.name else "port.h"
        file.write_text(f'#include "{stands}"\n', encoding="utf-8")


def _zephyr_version(file: Path) -> str | None:
    """What a file VERSION says, as in "4.2.0"."""
    try:
        said = dict(re.findall(r"^(\w+)\s*=\s*(\d+)\s*$", file.read_text(encoding="utf-8"), re.MULTILINE))
    except (OSError, ValueError):
        return None
    numbers = [said.get(key) for key in ("VERSION_MAJOR", "VERSION_MINOR", "PATCHLEVEL")]
    return ".".join(number for number in numbers if number) if all(numbers) else None


FLASHDB_SOURCES = (
    "src/fdb_kvdb.c",
    "src/fdb.c",
    "src/fdb_utils.c",
    "inc/flashdb.h",
    "inc/fdb_def.h",
    "inc/fdb_low_lvl.h",
)
FLASHDB_OLDEST = 2
# Small functions that touch no flash themselves, or for whoever calls them.
FLASHDB_IF_KNOWN = [
    "-ftrivial-auto-var-init=zero",
    "-finstrument-functions-exclude-function-list=fdb_calc_crc32,_fdb_,update_kv_cache,update_sector_,get_sector_from,"
    "get_kv_from,read_kv,read_sector_info,find_next_kv,get_next_,find_kv_cb,alloc_kv_cb,sector_statistics",
]


def flashdb(source: Path, config: Path | None, out: Path, compiler: str | None = None) -> str:
    """Compiles the FlashDB of the tree `source`, or of its folder src, to the library `out`; its version, as in "2.1".

    `config`: the header that is fdb_cfg.h in a build; without it FlashDB has its own values, with FDB_WRITE_GRAN 1.

    Raises `ffslab.InputError` when there are no sources or no compiler, and `CompilerError`, with what the compiler
    says, when it refuses them.
    """
    tree = source.resolve().parent if (source / "fdb_kvdb.c").is_file() else source
    _demand_files(tree, FLASHDB_SOURCES, "FlashDB", "src/fdb_kvdb.c")
    found = re.search(r'#define\s+FDB_SW_VERSION\s+"((\d+)[\d.]*)"', _text(tree, ["inc/fdb_def.h"]))
    if not found or int(found[2]) < FLASHDB_OLDEST:
        is_now = found[1] if found else "of an unknown version"
        raise InputError(f"{source}: FlashDB is {is_now}: {FLASHDB_OLDEST}.0 and later ones can be built")
    if config is not None and not config.is_file():
        raise InputError(f"--config {config}: is not a file: name the header that your build has as fdb_cfg.h")
    define = _lacking(GLUE_FLASHDB / "flashdb.c", _text(tree, FLASHDB_SOURCES))
    if config is not None:
        define.append(f'-DFFSLAB_CONFIG="{config.resolve()}"')
    # A tree may have an fdb_cfg.h of its own: ours, which includes what was named, comes before it.
    include = [f"-I{folder}" for folder in (GLUE_FLASHDB, PATHS, tree / "src", tree / "inc")]
    if config is not None:
        include.append(f"-I{config.resolve().parent}")
    _compile(GLUE_FLASHDB / "flashdb.c", [*define, *include], FLASHDB_IF_KNOWN, out, compiler)
    return found[1]


# What `ffslab foreign build` knows: how the project is called, and what compiles it and may return its version.
ADAPTERS: dict[str, tuple[str, Callable[[Path, Path | None, Path], str | None]]] = {
    "littlefs": ("littlefs", littlefs),
    "spiffs": ("SPIFFS", spiffs),
    "fatfs": ("FatFs", fatfs),
    "dhara": ("Dhara", dhara),
    "zephyr-nvs": ("Zephyr's NVS", zephyr_nvs),
    "flashdb": ("FlashDB", flashdb),
}


def _demand_files(source: Path, names: Sequence[str], project: str, sign: str) -> None:
    """Raises `ffslab.InputError` when a folder lacks one of the files."""
    missing = [name for name in names if not (source / name).is_file()]
    if missing:
        raise InputError(f"{source}: no sources of {project} ({missing[0]} is missing): name the folder with {sign}")


def _text(source: Path, names: Sequence[str]) -> str:
    """All of these files."""
    try:
        return "".join((source / name).read_text(encoding="utf-8", errors="replace") for name in names)
    except OSError as error:
        raise InputError(f"{source}: cannot be read: {reason(error)}") from None


def _lacking(glue: Path, text: str) -> list[str]:
    """Another name for each function of the table in `glue` that the sources `text` do not have."""
    labels = LABELS.findall(glue.read_text(encoding="utf-8"))
    # A call also counts as sign of a function: whatever is called is there.
    return [f"-D{label}={NO_FUNCTION}" for label in labels if not re.search(rf"\b{label}\s*\(", text)]


def _compile(glue: Path, options: Sequence[str], if_known: Sequence[str], out: Path, compiler: str | None) -> None:
    """Compiles a file of ours, which includes the user's, to the library `out`.

    Raises `ffslab.InputError` without a compiler or a folder to write into, and `CompilerError` when it refuses the
    sources.
    """
    named = compiler or os.environ.get("CC") or "cc"
    try:
        cc = shlex.split(named)
    except ValueError as error:
        raise InputError(f"CC={named}: is no command of a shell: {str(error).lower()}") from None
    if not out.parent.is_dir():
        raise InputError(f"--out {out}: there is no folder {out.parent}: make it, or name another file")
    if out.is_dir():
        raise InputError(f"--out {out}: is a folder: name a file in it, such as {out / 'own.so'}")
    try:
        with tempfile.TemporaryDirectory(dir=out.parent) as place:
            fresh = Path(place) / out.name
            command = [*cc, *FLAGS, *_known(cc, if_known, place), *options, str(glue), "-o", str(fresh)]
            done = _ran(command)
            if done.returncode != 0:
                raise CompilerError(command, done.stderr)
            # A process that has loaded the library of this name keeps the old one.
            fresh.replace(out)
    except OSError as error:
        raise InputError(f"{out}: cannot be written: {reason(error)}") from None


def _ran(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    except FileNotFoundError:
        raise InputError(f"{command[0]}: there is no such C compiler: install one, or name it with CC") from None
    except OSError as error:
        raise InputError(f"{command[0]}: cannot be run as the C compiler: {reason(error)}") from None


def _known(cc: Sequence[str], wanted: Sequence[str], place: str) -> Sequence[str]:
    """The options `wanted`, or none if the compiler does not know them."""
    empty = Path(place) / "empty.c"
    empty.write_text("int empty;\n", encoding="utf-8")
    tried = [*cc, "-Werror", "-finstrument-functions", *wanted, "-c", str(empty), "-o", f"{place}/empty.o"]
    return wanted if _ran(tried).returncode == 0 else []
