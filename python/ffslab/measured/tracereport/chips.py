"""The chip of logs that do not say one, and the endurance of a part: from options and part profiles."""

from __future__ import annotations

from ffslab._native import InputError
from ffslab.answers.profile import ShownConstant
from ffslab.measured.tracereport.header import Chip, read_chip
from ffslab.measured.tracereport.wear import Endurance
from ffslab.registries import profiles

ENDURANCE = "endurance_erases"


def from_options(part: str | None, chip: str | None, endurance: int | None) -> tuple[Chip | None, Endurance | None]:
    """What `--part`, `--chip` and `--endurance` say together."""
    if endurance is not None and endurance < 1:
        raise InputError(f"--endurance {endurance}: must be 1 or more")
    if part is not None and chip is not None:
        raise InputError("--chip: --part says the geometry; give one of them")
    geometry = read_chip(chip, "--chip") if chip is not None else None
    bears = Endurance(endurance, "--endurance") if endurance is not None else None
    if part is None:
        return geometry, bears
    values = _part_values(part)
    sizes = [values.get(key) for key in ("page_B", "oob_B", "pages_per_block", "blocks")]
    if None in sizes:
        raise InputError(f"--part {part}: has no pages, as logs of NAND have: name a NAND part")
    geometry = Chip(*(profiles.whole(size) for size in sizes if size is not None))
    if bears is None and ENDURANCE in values:
        said = values[ENDURANCE]
        bears = Endurance(profiles.whole(said), f"part {part}, {said['status']}: {said['source']}")
    return geometry, bears


def _part_values(name: str) -> dict[str, ShownConstant]:
    """The values of a part profile by key; of a board, those of its part."""
    shown = profiles.shown(name)
    if shown["kind"] == "board" and (part := shown.get("part")):
        shown = profiles.shown(part)
    if shown["kind"] != "part":
        raise InputError(f"--part {name}: is a {shown['kind']}; `ffslab profiles` lists the parts")
    return {value["key"]: value for value in shown["values"]}
