"""The page of a mount that goes on, which `ffslab mount stat --web` serves: `assets/live.js` asks for what is new."""

from __future__ import annotations

from ffslab.answers.mount import MountStat
from ffslab.report.charts import SCRIPTS
from ffslab.report.page import Drawn, KeyFigure, Opening, page, section
from ffslab.text.quoting import escape
from ffslab.text.tables import number

NOTE = "Served by ffslab {version} on this computer alone: the page asks nobody else."


def html(now: MountStat) -> str:
    """The page, without what changes."""
    setting = f"{now['board']}{', ' + now['part'] if now['part'] else ''}, {now['system']}; "
    setting += f"a partition of {number(now['partition_B'] / 2**20, 1)} MiB. Looking changes nothing about the mount."
    figures = [
        KeyFigure("Virtual time", "-", "since the mount began"),
        KeyFigure("Flash operations", "-", "reads, programs, erases"),
        KeyFigure("Free", "-", "of the file system"),
    ]
    title = f"{now['fs']} on {now['board']}, live"
    opening = Opening("What is the flash doing now?", setting, "Connecting", figures, _controls(now))
    parts = [
        section("Erase blocks", Drawn(MAP if now["blocks"]["erases"] else "", {}, ("blocks.js",))),
        section("Flash operations between two looks", Drawn(CHART, {"live-chart": {}}, SCRIPTS)),
        section("Operations by cause", _table("causes", "Operations by cause")),
        section("Slowest calls", _table("slowest", "Slowest calls")),
        section("The timeline so far", Drawn(_timeline(now), {}, ("live.js",))),
    ]
    return page(title, parts, opening, note=NOTE, asks="'self'")


def _controls(now: MountStat) -> Drawn:
    html = (
        '<div class="tools" id="live"><button type="button" id="live-pause" aria-pressed="false">Pause</button>'
        '<label>Look every <select id="live-every"><option value="250">250 ms</option>'
        '<option value="1000" selected>1 s</option><option value="5000">5 s</option></select></label>'
        '<span class="said" id="live-said" role="status"></span></div>'
    )
    return Drawn(html, {"live": {"blocks": len(now["blocks"]["erases"])}}, ())


MAP = (
    '<figure class="map" id="live-map"><div class="tools"></div>'
    '<canvas tabindex="0" role="img" aria-label="Map of erase blocks; arrow keys go through it"></canvas>'
    '<p class="said" role="status"></p><ul class="keys"></ul></figure>'
)
CHART = (
    '<figure class="chart" id="live-chart" style="--tall:13rem"><div class="tools"></div>'
    '<div class="plot" role="group" aria-label="Chart: flash operations over time; arrow keys go through it"></div>'
    '<p class="said" role="status"></p><ul class="legend"></ul></figure>'
)


def _table(name: str, label: str) -> str:
    return (
        f'<div class="table" tabindex="0" role="group" aria-label="{label}" id="live-{name}">'
        "<table><thead></thead><tbody></tbody></table></div>"
    )


def _timeline(now: MountStat) -> str:
    if not now["timeline"]:
        return f"<p>None is written: mount with <code>{escape('--timeline FILE')}</code> to have one.</p>"
    return (
        '<p><a href="timeline.pftrace" download>Save the timeline so far</a>, and open it in '
        "https://ui.perfetto.dev, which keeps it on your computer. What goes on now has no end in it yet.</p>"
    )
