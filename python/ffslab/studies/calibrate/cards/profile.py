"""The profile of a fitted card: a block device with a table [ftl]."""

from __future__ import annotations

from ffslab import _native
from ffslab.studies.calibrate.cards.fit import CardFit
from ffslab.studies.calibrate.cards.models import ERASE_US, Structure

ASSUMED_SEGMENTS = 128
# Blocks that layers keep back beside log blocks and the cache: reserves, streams, checkpoints.
KEPT_BACK_BLOCKS = 12
# What no line of these probes tells, and where it comes from.
REQUEST_US = (50.0, "two context switches to the driver's task and back; not measured")
READ_NS_PER_B = (46.5, "not measured on this card; of sd-card: reads of 4 MiB in TI's guide")


def toml(fitted: CardFit, title: str) -> str:
    """The text of the profile."""
    best, structure = fitted.best, fitted.best.structure
    of = best.constants
    source = f"fitted to {len(fitted.lines)} lines of a probe by `ffslab calibrate --flashbench`"

    def measured(value: object, *keys: str) -> dict[str, object]:
        missing = [key for key in keys if key in fitted.undetermined]
        said = f"{source}; these lines do not determine it" if missing else source
        number = float(f"{value:.6g}") if isinstance(value, float) else value
        return {"value": number, "source": said, "status": "unverified" if missing else "measured"}

    def assumed(value: object, why: str) -> dict[str, object]:
        return {"value": value, "source": why, "status": "unverified"}

    command_us = min(of["read_call_us"], of["write_call_us"])
    layer = {
        "ftl": measured(structure.ftl),
        "page_B": measured(structure.page_bytes),
        "segment_KiB": measured(structure.segment_bytes // 1024),
        "segments": assumed(ASSUMED_SEGMENTS, "as many as a simulation needs; the card has more"),
        "spare": assumed(_spare_share(structure), "what the layer needs, at least; not measured"),
        "buffer_pages": assumed(structure.buffer_pages, "a card puts writes of parts of a page together; not measured"),
        "page_read_us": measured(of["page_read_us"], "page_read_us"),
        "page_program_us": measured(of["page_program_us"], "page_program_us"),
        "erase_us": assumed(ERASE_US, "data sheets of MLC say 2 to 3 ms; not measured"),
        "read_segment_us": measured(of["read_segment_us"], "read_segment_us"),
        "write_segment_us": measured(of["write_segment_us"], "write_segment_us"),
    }
    if structure.ftl in ("open-segments", "bast", "fast"):
        layer["log_blocks"] = measured(structure.log_blocks)
    if structure.ftl == "open-segments":
        layer["random_segments"] = measured(structure.random_segments)
        if structure.random_log_pages is not None:
            layer["random_log_pages"] = measured(structure.random_log_pages)
    if structure.slc_cache_blocks is not None:
        layer["slc_cache_blocks"] = measured(structure.slc_cache_blocks)
        layer["cell_bits"] = measured(structure.cell_bits)
        layer["several_bits_read_us"] = measured(of["several_bits_read_us"], "several_bits_read_us")
        layer["several_bits_program_us"] = measured(of["several_bits_program_us"], "several_bits_program_us")
    file = {
        "title": title,
        "request_us": assumed(*REQUEST_US),
        "command_us": measured(command_us, "read_call_us"),
        "read_access_us": measured(of["read_call_us"] - command_us, "read_call_us"),
        "write_busy_us": measured(of["write_call_us"] - command_us, "write_call_us"),
        "read_ns_per_B": assumed(*READ_NS_PER_B),
        "write_ns_per_B": measured(of["write_us_per_KiB"] / 1.024, "write_us_per_KiB"),
        "occupies_cpu": assumed(False, "the requester waits for the driver's task"),
        "consecutive_blocks": assumed(True, "as rtems-libbsd's drivers of cards and sticks"),
        "ftl": layer,
    }
    return _native.profile_toml_of(file)


def _spare_share(structure: Structure) -> float:
    """A share of which the layer finds its own blocks."""
    own_blocks = structure.log_blocks + (structure.slc_cache_blocks or 0) + KEPT_BACK_BLOCKS
    return round(max(structure.spare_share, own_blocks / ASSUMED_SEGMENTS), 4)
