"""What an image is, in a line."""

from __future__ import annotations

from ffslab.answers.inspection import Layout
from ffslab.file_systems import VOLUMES, title
from ffslab.text.tables import size


def layout_text(layout: Layout) -> str:
    """Format and sizes in a line."""
    order = f", {layout['endian']}-endian" if layout.get("endian") else ""
    if layout["fs"] in VOLUMES:
        return f"{title(layout['fs'])}, {_many(layout['blocks'], 'area')} of {size(layout['block_B'])}"
    oob = f" + {layout['oob_B']} B OOB" if layout["oob_B"] else ""
    name = "UBI with UBIFS" if "vid_hdr_and_data_at_B" in layout else title(layout["fs"])
    if layout.get("lacks_ubi"):
        return f"UBIFS without UBI: {layout['blocks']} LEBs of {layout['block_B']} B"
    if fits := layout.get("block_sizes_that_fit_B"):
        kib = ", ".join(str(bytes // 1024) for bytes in fits)
        return (
            f"{name}{order}: pages of {layout['page_B']} B{oob}, erase blocks of {kib} KiB fit and cannot be told apart"
        )
    blocks = f"{_many(layout['blocks'], 'erase block')} of {size(layout['block_B'])}"
    return f"{name}{order}: {blocks}, pages of {layout['page_B']} B{oob}"


def _many(count: int, what: str) -> str:
    """As the program for boards writes it, without separators."""
    return f"{count} {what}{'s' if count != 1 else ''}"


def layout_notes(layout: Layout) -> list[str]:
    """What was done to the bytes before they were read, and what the format cannot show, a line each."""
    unchecked = layout.get("unchecked")
    return [f"note: {text}" for text in [*layout.get("undone", []), *([unchecked] if unchecked else [])]]
