"""A user's littlefs, SPIFFS, FatFs, Dhara, store of Zephyr or FlashDB, compiled to a library that experiments name."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from ffslab._native import InputError
from ffslab.files.os_errors import reason
from ffslab.foreign import zephyr_tree
from ffslab.foreign.compiling import LABELS, NO_FUNCTION, PATHS, compile_library, demand_files, lacking, text_of

GLUE = Path(__file__).with_name("littlefs")
GLUE_SPIFFS = Path(__file__).with_name("spiffs")
GLUE_FATFS = Path(__file__).with_name("fatfs")
GLUE_DHARA = Path(__file__).with_name("dhara")
GLUE_FLASHDB = Path(__file__).with_name("flashdb")
# How functions of lfs.c that `littlefs.c` knows were called in earlier versions.
EARLIER = {
    "lfs_alloc_scan": ["lfs_alloc"],
    "lfs_dir_relocatingcommit": ["lfs_dir_commit"],
    "lfs_dir_splittingcompact": ["lfs_dir_compact"],
    "lfs_file_flushedread": ["lfs_file_read"],
    "lfs_file_flushedwrite": ["lfs_file_write"],
}
OLDEST = (2, 2)
DEFINES = ["-DLFS_NO_DEBUG", "-DLFS_NO_WARN", "-DLFS_NO_ERROR"]
# Compilers that know them get faster code: small functions that touch no flash do not report.
IF_KNOWN = [
    "-finstrument-functions-exclude-file-list=lfs_util",
    "-finstrument-functions-exclude-function-list=lfs_tag_,lfs_pair_,lfs_gstate_,lfs_cache_,lfs_ctz_index,lfs_bd_,"
    "lfs_dir_traverse,lfs_dir_commit_,lfs_dir_commitattr,lfs_dir_commitprog,lfs_dir_get,lfs_dir_fetch,lfs_mlist_,"
    "lfs_dir_find_match,lfs_fs_parent_match,fromle32,tole32",
]


def version_of(source: Path) -> tuple[int, int]:
    """Major and minor number of the littlefs in a folder.

    Raises `ffslab.InputError` when there is none, or one that is too old.
    """
    demand_files(source, ("lfs.c", "lfs.h", "lfs_util.c"), "littlefs", "lfs.c")
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
    compile_library(GLUE / "littlefs.c", [*define, *include], IF_KNOWN, out, compiler)
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
    demand_files(source, SPIFFS_SOURCES, "SPIFFS", "spiffs.h")
    config = config or GLUE_SPIFFS / SPIFFS_CONFIG
    if not config.is_file():
        raise InputError(f"--config {config}: is not a file: name the header that your build has as {SPIFFS_CONFIG}")
    text = text_of(source, SPIFFS_SOURCES)
    define = lacking(GLUE_SPIFFS / "spiffs.c", text)
    if re.search(r"\bSPIFFS_ftruncate\(", text):
        define.append("-DFFSLAB_HAS_FTRUNCATE")
    try:
        with tempfile.TemporaryDirectory() as place:
            # Whatever the file is called, and whatever else stands beside it.
            (Path(place) / SPIFFS_CONFIG).write_text(f'#include "{config.resolve()}"\n', encoding="utf-8")
            include = [f"-I{folder}" for folder in (place, source, config.resolve().parent, PATHS)]
            compile_library(GLUE_SPIFFS / "spiffs.c", [*define, *include], SPIFFS_IF_KNOWN, out, compiler)
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
    demand_files(source, FATFS_SOURCES, "FatFs", "ff.c")
    text = text_of(source, FATFS_SOURCES)
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
    define = [f"-DFFSLAB_FATFS_DIR={directory}", *lacking(GLUE_FATFS / "fatfs.c", text)]
    if (source / FATFS_UNICODE).is_file():
        define.append("-DFFSLAB_HAS_UNICODE")
    options = [*define, *configured, f"-I{source}", f"-I{PATHS}"]
    compile_library(GLUE_FATFS / "fatfs.c", options, FATFS_IF_KNOWN, out, compiler)
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
    demand_files(folder, DHARA_SOURCES, "Dhara", "map.h")
    define = lacking(GLUE_DHARA / "dhara.c", text_of(folder, DHARA_SOURCES))
    compile_library(GLUE_DHARA / "dhara.c", [*define, f"-I{folder}", f"-I{PATHS}"], [], out, compiler)


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
    demand_files(tree, FLASHDB_SOURCES, "FlashDB", "src/fdb_kvdb.c")
    found = re.search(r'#define\s+FDB_SW_VERSION\s+"((\d+)[\d.]*)"', text_of(tree, ["inc/fdb_def.h"]))
    if not found or int(found[2]) < FLASHDB_OLDEST:
        is_now = found[1] if found else "of an unknown version"
        raise InputError(f"{source}: FlashDB is {is_now}: {FLASHDB_OLDEST}.0 and later ones can be built")
    if config is not None and not config.is_file():
        raise InputError(f"--config {config}: is not a file: name the header that your build has as fdb_cfg.h")
    define = lacking(GLUE_FLASHDB / "flashdb.c", text_of(tree, FLASHDB_SOURCES))
    if config is not None:
        define.append(f'-DFFSLAB_CONFIG="{config.resolve()}"')
    # A tree may have an fdb_cfg.h of its own: ours, which includes what was named, comes before it.
    include = [f"-I{folder}" for folder in (GLUE_FLASHDB, PATHS, tree / "src", tree / "inc")]
    if config is not None:
        include.append(f"-I{config.resolve().parent}")
    compile_library(GLUE_FLASHDB / "flashdb.c", [*define, *include], FLASHDB_IF_KNOWN, out, compiler)
    return found[1]


# What `ffslab foreign build` knows: how the project is called, and what compiles it and may return its version.
ADAPTERS: dict[str, tuple[str, Callable[[Path, Path | None, Path], str | None]]] = {
    "littlefs": ("littlefs", littlefs),
    "spiffs": ("SPIFFS", spiffs),
    "fatfs": ("FatFs", fatfs),
    "dhara": ("Dhara", dhara),
    **zephyr_tree.ADAPTERS,
    "flashdb": ("FlashDB", flashdb),
}
