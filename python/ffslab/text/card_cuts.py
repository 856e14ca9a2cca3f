"""What `ffslab card cuts` prints."""

from __future__ import annotations

from ffslab.answers.card_cuts import CardCuts
from ffslab.text.tables import counted, number, text_table


def cuts_text(answer: CardCuts) -> str:
    """The verdicts, each with how often it was given and where it came first."""
    session = f"{answer['device']}: {counted(answer['writes'], 'write')}"
    if answer["unit"] != "write":
        session += f", {counted(answer['total'], answer['unit'], 'programs and erases')}"
    if not answer["cuts"]:
        return session
    rows = [
        [row["verdict"], number(row["cuts"]), " ".join(filter(None, (str(row["first_at"]), row["first_torn"])))]
        for row in answer["verdicts"]
    ]
    cut = f"{counted(len(answer['cuts']), 'power cut')}, {counted(answer['asked'], 'state')} looked at"
    return f"{session}; {cut}\n\n{text_table(['verdict', 'cuts', 'first at'], rows, 'lrl')}"
