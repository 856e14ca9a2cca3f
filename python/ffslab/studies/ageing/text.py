"""`ffslab ageing` for a terminal, and its picture."""

from __future__ import annotations

from ffslab.answers.ageing_study import AgeingStudy
from ffslab.text.tables import text_table


def text(study: AgeingStudy) -> str:
    """Tables and sentences."""
    scrubbing, shelf = study["scrubbing"], study["shelf"]
    ecc = f"ECC corrects {study['corrected_bits']} and reports {study['threshold_bits']} or more"
    head = (
        f"{study['part']}: {study['erases']:,.0f} of {study['endurance_erases']:,} erases; "
        f"{study['partition_frames']:,} frames of {study['frame_bits']:,} bits, of which {ecc}"
    )
    scrubs = [
        [f"{one['days']:g}", f"{one['expected_losses']:.3g}", f"{one['any_loss']:.3g}"] for one in scrubbing["choices"]
    ]
    lost = [
        [
            f"{one['years']:g}",
            f"{one['rate']:.2e}",
            f"{one['frames_at_threshold']:.3g}",
            f"{one['frames_lost']:.3g}",
            f"{one['any_loss']:.3g}",
        ]
        for one in shelf
    ]
    reads = scrubbing["reads_per_block_per_day"]
    parts = [
        head,
        "\n".join(
            [
                f"Scrubs for {scrubbing['years']:g} years at {scrubbing['temperature_C']:g} C, "
                f"{reads:,.4g} reads of each block a day",
                text_table(["scrub every, days", "frames lost", "probability of a loss"], scrubs, "rrr"),
                scrubbing["said"],
            ]
        ),
        "\n".join(
            [
                f"Nobody reads, at {shelf[0]['temperature_C']:g} C",
                text_table(
                    ["years", "raw bit error rate", "frames at threshold", "frames lost", "probability of a loss"],
                    lost,
                    "rrrrr",
                ),
            ]
        ),
    ]
    if study["corrected"]:
        parts.append(study["corrected"]["said"])
    return "\n\n".join([*parts, "\n".join(study["said"])])


def picture(study: AgeingStudy) -> str:
    """The scrub-interval curve, and the losses of a shelf, as SVG."""
    from ffslab.report.drawing import colour, new_figure, svg_text

    figure = new_figure(3.4)
    left, right = figure.subplots(1, 2)
    choices, shelf = study["scrubbing"]["choices"], study["shelf"]
    for axes, xs, ys, label in (
        (
            left,
            [one["days"] for one in choices],
            [one["expected_losses"] for one in choices],
            "days between two scrubs",
        ),
        (right, [one["years"] for one in shelf], [one["frames_lost"] for one in shelf], "years on the shelf"),
    ):
        axes.loglog(xs, [max(y, 1e-30) for y in ys], marker="o", markerfacecolor="none", color=colour(0))
        axes.set_xlabel(label)
        axes.set_ylabel("frames lost")
        axes.grid(alpha=0.3)
    left.axhline(study["scrubbing"]["risk"], color=colour(1), linewidth=1, linestyle="--")
    return svg_text(figure, "ageing")
