"""The verb: lines of probes in; a class of card, its constants, how well they fit, and a profile out."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ffslab._native import InputError, __version__
from ffslab.answers.card import CardConstant, CardFacts, CardLine, CardStructure
from ffslab.files import results
from ffslab.files.inputs import read_text
from ffslab.files.os_errors import reason
from ffslab.studies.calibrate.cards import fio_output, flashbench_log, profile
from ffslab.studies.calibrate.cards.fit import CardFit, fit
from ffslab.studies.calibrate.cards.lines import Line, size_text
from ffslab.studies.calibrate.cards.models import CONSTANTS, Structure
from ffslab.text.tables import text_table


def run(paths: list[Path], title: str | None, out: Path | None, *, json: bool) -> str:
    """Reads, fits, writes the profile to `out`; what is to be printed."""
    if out is not None and out.suffix != ".toml":
        raise InputError(f"--out {out}: with --flashbench it is the file of the profile: a name that ends in .toml")
    fitted = fit([line for path in paths for line in read(path)])
    called = title or f"A card, fitted to {' and '.join(path.name for path in paths)}"
    if out is not None:
        text = profile.toml(fitted, called)
        try:
            out.write_text(text, encoding="utf-8")
        except OSError as error:
            raise InputError(f"{out}: cannot be written: {reason(error)}") from None
    facts = as_dict(fitted, called)
    return results.dump_json(facts).rstrip() if json else as_text(facts, fitted, out)


def read(path: Path) -> list[Line]:
    """The lines of a log of flashbench, or of fio's output."""
    text = read_text(path, "log")
    return fio_output.read(path, text) if text.lstrip().startswith("{") else flashbench_log.read(path, text)


def as_dict(fitted: CardFit, title: str) -> CardFacts:
    """What `--json` prints."""
    errors = fitted.errors
    return {
        "title": title,
        "ffslab": __version__,
        "classes": [
            {"card_class": name, "error": round(of.error, 6), "structure": _structure(of.structure)}
            for name, of in fitted.best_of.items()
        ],
        "constants": _constants(fitted),
        "lines": [
            _line(line, float(time_us), float(error))
            for line, time_us, error in zip(fitted.lines, fitted.best.times_us, errors, strict=True)
        ],
        "median_error": float(np.median(np.abs(errors))),
        "worst_error": float(np.abs(errors).max()),
        "remarks": fitted.remarks,
    }


def _structure(of: Structure) -> CardStructure:
    return {
        "ftl": of.ftl,
        "page_bytes": of.page_bytes,
        "segment_bytes": of.segment_bytes,
        "spare_share": of.spare_share,
        "buffer_pages": of.buffer_pages,
        "log_blocks": of.log_blocks,
        "random_segments": of.random_segments,
        "random_log_pages": of.random_log_pages,
        "slc_cache_bytes": of.slc_cache_bytes,
        "cell_bits": of.cell_bits,
    }


def _constants(fitted: CardFit) -> list[CardConstant]:
    return [
        {
            "key": key,
            "about": about,
            "value": fitted.best.constants[key],
            "unit": "us/KiB" if key.endswith("_per_KiB") else "us",
            "identified": key not in fitted.undetermined,
        }
        for key, about in CONSTANTS.items()
    ]


def _line(line: Line, fitted_us: float, error: float) -> CardLine:
    measured = {"name": line.asked.name(), "source": line.source, "measured_us": line.measured_us}
    return {**measured, "fitted_us": fitted_us, "error": error}  # type: ignore[typeddict-item]


def as_text(facts: CardFacts, fitted: CardFit, out: Path | None) -> str:
    """What the verb prints."""
    rows = [
        [line["name"], f"{line['measured_us']:.4g}", f"{line['fitted_us']:.4g}", f"{100 * line['error']:+.0f} %"]
        for line in facts["lines"]
    ]
    classes = [[of["card_class"], said(of["structure"]), f"{of['error']:.3f}"] for of in facts["classes"]]
    constants = [
        [of["key"], f"{of['value']:.4g}" if of["identified"] else f"{of['value']:.4g} (not determined)", of["about"]]
        for of in facts["constants"]
        if of["value"] > 0 or of["identified"]
    ]
    parts = [
        facts["title"],
        text_table(["line", "measured us", "fitted us", "error"], rows, "lrrr"),
        f"Median error {100 * facts['median_error']:.0f} %, worst {100 * facts['worst_error']:.0f} %",
        text_table(["class", "best structure", "error"], classes, "llr"),
        text_table(["constant", "value", ""], constants, "lrl"),
    ]
    if facts["remarks"]:
        parts.append("\n".join(["Remarks:", *(f"  {remark}" for remark in facts["remarks"])]))
    if out is not None:
        parts.append(f"Profile: {out}")
    return "\n\n".join(parts)


def said(of: CardStructure) -> str:
    """A structure in words."""
    sizes = f"segments of {size_text(of['segment_bytes'])}, pages of {size_text(of['page_bytes'])}"
    if of["ftl"] == "open-segments":
        log = of["random_log_pages"]
        logs = f" (logs of {size_text(log * of['page_bytes'])})" if log else ""
        return f"{sizes}, {of['log_blocks']} open, {of['random_segments']} of them for any order{logs}"
    if of["ftl"] == "slc-cache":
        return f"{sizes}, cache of {size_text(of['slc_cache_bytes'])} before {of['cell_bits']} bits a cell"
    if of["ftl"] == "page-map":
        return f"{sizes}, {100 * of['spare_share']:.0f} % spare"
    return f"{sizes}, {of['ftl']} with {of['log_blocks']} log blocks"
