// A mount that goes on: asks its server for what is new, and draws it. Nothing else is asked for.
"use strict";
{
  const { make, data, colour, number, Grid, ramp, dotOf, chart } = ffslab;
  const KINDS = [["page_reads", "reads", "s5"], ["page_programs", "programs", "s0"], ["erases", "erases", "s1"]];
  // As `ffslab mount stat --watch` tells them: what a block holds.
  const STATES = [["free", "free: at most a sixteenth is written"], ["s2", "being filled"], ["s0", "full, mostly valid"], ["s4", "full, mostly garbage"]];
  const FREE_SHARE = 15 / 16, FULL_SHARE = 8 / 255, LOOKS_MAX = 600;
  const by = (id) => document.getElementById(id);
  const key = (at) => [...document.querySelectorAll(".key")][at];
  const pause = by("live-pause"), every = by("live-every"), status = by("live-said"), answer = document.querySelector(".answer");
  let first = null, before = null, now = null, timer = null, paused = false, asking = false;

  // ---- the map ----
  const figure = by("live-map"), canvas = figure?.querySelector("canvas"), said = figure?.querySelector(".said");
  const facts = figure ? make("select", {}, ...["state", "valid share", "erases", "erases since this page was opened"].map((name) => make("option", { value: name }, name))) : null;
  let grid = null, ring = null;
  const state = (b) => {
    const held = now.stat.blocks, block = now.stat.block_B;
    if (held.free_B[b] >= FREE_SHARE * block) return 0;
    return held.free_B[b] > FULL_SHARE * block ? 1 : 2 * held.valid_B[b] > block ? 2 : 3;
  };
  const values = () => facts.value === "erases" ? now.stat.blocks.erases : now.stat.blocks.erases.map((one, b) => one - first.stat.blocks.erases[b]);
  function map() {
    if (!figure || !now) return;
    const held = now.stat.blocks, n = held.erases.length, old = before?.stat.blocks, ramped = ramp();
    if (!grid) { grid = new Grid(canvas, n); grid.follow((b) => { ring = b; map(); }); }
    if (grid.wide !== canvas.clientWidth) { grid.fit(); grid.wide = canvas.clientWidth; }
    grid.clear();
    const kind = held.free_B.length ? facts.value : facts.value.startsWith("erases") ? facts.value : "erases";
    const counts = kind.startsWith("erases") ? values() : [], most = Math.max(1, ...counts);
    const inks = STATES.map(([name]) => colour(name)), mark = colour("ink");
    for (let b = 0; b < n; b++) {
      grid.cell(b, kind === "state" ? inks[state(b)] : ramped[Math.round(63 * (kind === "valid share" ? held.valid_B[b] / now.stat.block_B : counts[b] / most))]);
    }
    let changed = 0;
    for (let b = 0; old && b < n; b++) if (held.erases[b] !== old.erases[b] || held.valid_B[b] !== old.valid_B[b] || held.free_B[b] !== old.free_B[b]) { changed++; grid.ring(b, mark); }
    if (ring !== null) grid.ring(ring, colour("s1"));
    said.textContent = ring === null ? `${number(n)} erase blocks; ${number(changed)} changed since the last look, with a ring`
      : `Block ${number(ring)}: ${held.free_B.length ? `${STATES[state(ring)][1].split(":")[0]}, ${number(100 * held.valid_B[ring] / now.stat.block_B, 0)} % valid, ${number(100 * held.free_B[ring] / now.stat.block_B, 0)} % free, ` : ""}${number(held.erases[ring])} erases`;
    const dot = (fill, name) => make("li", {}, dotOf(fill), name);
    const scale = (low, high) => { const one = make("span", { class: "ramp" }); one.style.background = `linear-gradient(90deg, ${ramped.filter((_, i) => i % 9 === 0).join(",")})`; return make("li", {}, low, one, high); };
    figure.querySelector(".keys").replaceChildren(...(kind === "state" ? STATES.map(([name, text]) => dot(colour(name), text)) : [kind === "valid share" ? scale("nothing valid", "all valid") : scale("0", `${number(most)} erases`)]));
  }
  if (figure) {
    figure.querySelector(".tools").append(make("label", {}, "Colour ", facts));
    facts.addEventListener("change", map);
    canvas.addEventListener("pointerleave", () => { ring = null; map(); });
    new ResizeObserver(() => { if (grid && grid.wide !== canvas.clientWidth) map(); }).observe(canvas);
  }

  // ---- operations between two looks ----
  const spec = { x: { label: "s of this computer since the page was opened", short: "s", linear: true }, y: { label: "operations", short: "operations" }, series: KINDS.map(([, name, ink]) => ({ name, colour: ink, kind: "line", x: [], y: [] })) };
  const plotted = chart(by("live-chart"), spec);
  function plot() {
    const at = now.stat.host_s - first.stat.host_s;
    KINDS.forEach(([name], s) => {
      const { x, y } = spec.series[s];
      x.push(at);
      y.push(now.stat.totals[name] - before.stat.totals[name]);
      if (x.length > LOOKS_MAX) { x.shift(); y.shift(); }
    });
    plotted.draw();
  }

  // ---- tables ----
  const cell = (tag, words, isText) => make(tag, isText ? { class: words.length > 60 ? "text wraps" : "text" } : {}, words);
  function table(id, head, rows, texts) {
    const found = by(`live-${id}`);
    found.querySelector("thead").replaceChildren(make("tr", {}, ...head.map((words, i) => cell("th", words, texts.includes(i)))));
    found.querySelector("tbody").replaceChildren(...rows.map((row) => make("tr", {}, ...row.map((words, i) => cell("td", words, texts.includes(i))))));
  }
  function causes() {
    const earlier = new Map((before ?? now).stat.by_cause.map((one) => [`${one.task} ${one.reason}`, one]));
    const rows = now.stat.by_cause.filter((one) => KINDS.some(([name]) => one[name])).sort((a, b) => b.busy_us - a.busy_us).map((one) => {
      const then = earlier.get(`${one.task} ${one.reason}`);
      return [one.reason, now.titles[one.task] ?? one.task, ...KINDS.map(([name]) => number(one[name] - (then?.[name] ?? 0))), ...KINDS.map(([name]) => number(one[name])), number(one.busy_us / 1000)];
    });
    table("causes", ["why", "who", ...KINDS.map(([, name]) => `new ${name}`), ...KINDS.map(([, name]) => `${name} in all`), "busy, ms"], rows, [0, 1]);
  }

  // ---- the first screen ----
  function told() {
    const totals = now.stat.totals, passed = now.stat.host_s - before.stat.host_s;
    const operations = (one) => KINDS.reduce((sum, [name]) => sum + one.stat.totals[name], 0);
    const since = operations(now) - operations(before);
    const seconds = totals.time_us / 1e6;
    key(0).querySelector(".value").textContent = `${number(seconds, seconds < 100 ? 2 : 0)} s`;
    key(0).querySelector(".beside").textContent = `in ${number(now.stat.host_s, 0)} s of this computer, ${number(now.stat.fuse_requests)} requests`;
    key(1).querySelector(".value").textContent = number(operations(now));
    key(1).querySelector(".beside").textContent = KINDS.map(([name, said]) => `${number(totals[name])} ${said}`).join(", ");
    key(2).querySelector(".value").textContent = now.stat.free_B === null ? "-" : `${number(now.stat.free_B / 1048576, 1)} MiB`;
    key(2).querySelector(".beside").textContent = now.stat.free_B === null ? "not known: it is not mounted" : `${number(100 * now.stat.free_B / now.stat.partition_B, 0)} % of the partition`;
    const most = now.stat.by_cause.map((one) => {
      const then = before.stat.by_cause.find((other) => other.task === one.task && other.reason === one.reason);
      return [KINDS.reduce((sum, [name]) => sum + one[name] - (then?.[name] ?? 0), 0), one];
    }).sort((a, b) => b[0] - a[0])[0];
    answer.textContent = !now.stat.powered ? "The power is cut: every call fails." : since === 0 ? "Nothing, at this moment."
      : `${number(since)} flash operations in the last ${number(passed, 1)} s, ${number(100 * most[0] / since, 0)} % of them for "${most[1].reason}" of ${now.titles[most[1].task] ?? most[1].task}.`;
  }

  async function look() {
    clearTimeout(timer);
    timer = null;
    if (asking) return;
    asking = true;
    let found = null;
    try {
      const reply = await fetch("stat.json", { cache: "no-store" });
      if (reply.ok) found = await reply.json();
    } catch { /* the server has ended with the mount */ }
    asking = false;
    if (!found) {
      status.textContent = "The mount has ended; this is what was seen last.";
      pause.disabled = every.disabled = true;
      document.body.dataset.live = "ended";
      return;
    }
    before = now ?? found;
    now = found;
    first ??= found;
    told();
    map();
    if (now !== before) plot();
    causes();
    table("slowest", found.slowest[0], found.slowest.slice(1), [0, 3]);
    status.textContent = paused ? "Paused" : "Live";
    document.body.dataset.live = String(spec.series[0].x.length);
    if (!paused) timer = setTimeout(look, Number(every.value));
  }
  pause.addEventListener("click", () => {
    paused = !paused;
    pause.setAttribute("aria-pressed", String(paused));
    pause.textContent = paused ? "Go on" : "Pause";
    if (paused) { clearTimeout(timer); status.textContent = "Paused"; } else look();
  });
  every.addEventListener("change", () => { if (!paused) look(); });
  ffslab.drawers.push(map);
  look();
}
