"""Stores of a user's tree of Zephyr, compiled to libraries: what they are made of, and where that stands."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ffslab._native import InputError
from ffslab.files.os_errors import reason
from ffslab.foreign.compiling import PATHS, compile_library, demand_files, lacking, text_of

GLUE = Path(__file__).with_name("zephyr")
# Folders of a tree with stores, and with their headers: since 4.4, since 3.1, and before.
FOLDERS = ("subsys/kvss", "subsys/fs")
HEADERS = ("include/zephyr/kvss", "include/zephyr/fs", "include/fs")
# Headers that are not Zephyr's.
C_HEADERS = re.compile(r"(assert|errno|inttypes|limits|std\w+|string|sys/types)\.h")
# Entries of early versions have a byte on flash that nobody sets: so it is the same each time.
SAME_BYTES = "-ftrivial-auto-var-init=zero"


@dataclass(frozen=True)
class ZephyrStore:
    """A store of Zephyr, in the folder of its name."""

    name: str
    sources: tuple[str, ...]
    # What it cannot do without.
    mount: str
    # The file of ours that includes the sources.
    glue: str
    # How names of small functions begin that touch no flash themselves, or do so for whoever calls them.
    quiet: str

    @property
    def project(self) -> str:
        return f"Zephyr's {self.name.upper()}"

    def build(self, source: Path, config: Path | None, out: Path, compiler: str | None = None) -> str | None:
        """Compiles the store of the tree `source`, or of its folder with the sources, to the library `out`.

        `config`: the header with the settings of a build, autoconf.h; without it each setting is off, as by default.

        Returns the version of the tree, as in "4.2.0", if it says one. Raises `ffslab.InputError` when there are no
        sources or no compiler, and `CompilerError`, with what the compiler says, when it refuses them.
        """
        first = self.sources[0]
        folders = [source, *(source / place / self.name for place in FOLDERS)]
        folder = next((place for place in folders if (place / first).is_file()), source)
        sign = f"{first}, as subsys/.../{self.name} of a Zephyr tree, or that tree"
        demand_files(folder, self.sources, self.project, sign)
        trees = [folder, *folder.resolve().parents[:3]]
        header = self._header(folder, trees)
        if config is not None and not config.is_file():
            raise InputError(f"--config {config}: is not a file: name autoconf.h of your build of Zephyr")
        text = text_of(folder, self.sources) + text_of(header.parent, [header.name])
        if not re.search(rf"\b{self.mount}\s*\(", text):
            raise InputError(f"{folder}: this {self.name.upper()} has no {self.mount}(): a later Zephyr is needed")
        configured = ["-include", str(config.resolve())] if config else []
        try:
            with tempfile.TemporaryDirectory() as place:
                _stand_in(Path(place), text, header)
                # Old trees include <device.h>, and ours stands there, too.
                ours = [word for directory in (GLUE, PATHS) for word in ("-iquote", str(directory))]
                options = [*lacking(GLUE / self.glue, text), *configured, *ours, f"-I{place}", f"-I{folder}"]
                if_known = [SAME_BYTES, f"-finstrument-functions-exclude-function-list={self.quiet}"]
                compile_library(GLUE / self.glue, options, if_known, out, compiler)
        except OSError as error:
            raise InputError(f"{out}: cannot be written: {reason(error)}") from None
        return next((version for tree in trees if (version := _version(tree / "VERSION"))), None)

    def _header(self, folder: Path, trees: list[Path]) -> Path:
        name = f"{self.name}.h"
        headers = [folder / name, *(tree / place / name for tree in trees for place in HEADERS)]
        header = next((file for file in headers if file.is_file()), None)
        if header is None:
            raise InputError(
                f"{folder}: {name} of this Zephyr is missing: name the whole tree, or put it beside {self.sources[0]}"
            )
        return header


STORES = (
    ZephyrStore(
        "nvs",
        ("nvs.c", "nvs_priv.h"),
        "nvs_mount",
        "nvs_keys.c",
        "nvs_al_size,nvs_ate_c,nvs_ate_valid,nvs_close_ate_valid,nvs_flash_al_wrt,nvs_flash_ate,nvs_flash_block,"
        "nvs_flash_cmp,nvs_flash_data,nvs_flash_rd,nvs_lookup_cache,nvs_prev_ate,nvs_recover_last_ate,"
        "nvs_sector_advance",
    ),
    ZephyrStore(
        "zms",
        ("zms.c", "zms_priv.h"),
        "zms_mount",
        "zms_keys.c",
        "zms_addr_to,zms_round,zms_al_size,zms_empty_ate,zms_close_ate,zms_gc_done_ate,zms_ate_,zms_flash_al_wrt,"
        "zms_flash_ate,zms_flash_block,zms_flash_cmp,zms_flash_data,zms_flash_rd,zms_lookup_cache,zms_prev_ate,"
        "zms_compute_prev,zms_find_ate,zms_recover_last_ate,zms_sector_advance,zms_get_,zms_validate,zms_verify",
    ),
    ZephyrStore(
        "fcb",
        ("fcb.c", "fcb_append.c", "fcb_elem_info.c", "fcb_getnext.c", "fcb_rotate.c", "fcb_priv.h"),
        "fcb_init",
        "fcb_log.c",
        "fcb_get_align,fcb_flash_,fcb_len_in,fcb_put_len,fcb_get_len,fcb_elem_,fcb_getnext,fcb_new_sector,fcb_sector_hdr_read",
    ),
)
# What `ffslab foreign build` calls them, how the projects are called, and what compiles them.
ADAPTERS: dict[str, tuple[str, Callable[[Path, Path | None, Path], str | None]]] = {
    f"zephyr-{store.name}": (store.project, store.build) for store in STORES
}


def _stand_in(place: Path, text: str, own: Path) -> None:
    """Puts a file in the place of each header of Zephyr that `text` includes: its `own` one, or ours with the rest."""
    for name in set(re.findall(r"^\s*#\s*include\s*<([\w/.]+)>", text, re.MULTILINE)):
        if C_HEADERS.fullmatch(name):
            continue
        file = place / name
        file.parent.mkdir(parents=True, exist_ok=True)
        stands = own.resolve() if file.name == own.name else "port.h"
        file.write_text(f'#include "{stands}"\n', encoding="utf-8")


def _version(file: Path) -> str | None:
    """What a file VERSION says, as in "4.2.0"."""
    try:
        said = dict(re.findall(r"^(\w+)\s*=\s*(\d+)\s*$", file.read_text(encoding="utf-8"), re.MULTILINE))
    except (OSError, ValueError):
        return None
    numbers = [said.get(key) for key in ("VERSION_MAJOR", "VERSION_MINOR", "PATCHLEVEL")]
    return ".".join(number for number in numbers if number) if all(numbers) else None
