// The film of erase blocks: state after each event, forwards and backwards, on the grid of the maps.
"use strict";
{
  const { make, data, colour, number, Grid, ramp, dotOf } = ffslab;
  const READ = 0, PROGRAM = 1, ERASE = 2, HOLDS = 3;
  const OWNERS = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];
  const FRAMES = 96, UNKNOWN = 255, SAID_EVERY_MS = 250;
  // A block is free when no more of it is written: layers mark blocks as theirs.
  const MARKS = 1 / 16;
  const ASKS = "Play, drag the slider, or go to an event. Pointing at a block tells of it.";

  async function unpacked(of) {
    const raw = Uint8Array.from(atob(of.packed), (one) => one.charCodeAt(0));
    const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
    const bytes = new Uint8Array(await new Response(stream).arrayBuffer()), n = of.events;
    const at = new Float64Array(n), block = new Uint32Array(n), second = new Uint16Array(n);
    let clock = 0, place = 0;
    for (let i = 0; i < n; i++) {
      clock += bytes[i] + bytes[n + i] * 256 + bytes[2 * n + i] * 65536 + bytes[3 * n + i] * 16777216;
      place += bytes[4 * n + i] + bytes[5 * n + i] * 256 + bytes[6 * n + i] * 65536 + bytes[7 * n + i] * 16777216 - 2147483648;
      at[i] = clock * of.unit_us;
      block[i] = place;
      second[i] = bytes[10 * n + i] + bytes[11 * n + i] * 256;
    }
    return { n, at, block, kind: bytes.subarray(8 * n, 9 * n), first: bytes.subarray(9 * n, 10 * n), second, file: bytes.subarray(12 * n, 13 * n) };
  }

  // What is known of each block; `i` events have happened.
  class State {
    constructor(of, from) {
      const n = of.blocks;
      this.i = from?.i ?? 0;
      this.valid = from ? from.valid.slice() : new Uint8Array(n);
      this.free = from ? from.free.slice() : new Uint8Array(n).fill(255);
      this.pages = from ? from.pages.slice() : new Uint16Array(n);
      this.erases = from ? from.erases.slice() : Uint32Array.from(of.erases);
      this.owner = from ? from.owner.slice() : new Uint8Array(n).fill(UNKNOWN);
      this.file = from ? from.file.slice() : new Uint8Array(n);
      this.last = from ? from.last.slice() : new Float64Array(n).fill(-1);
      this.marked = Math.max(1, Math.floor(of.pages * MARKS));
      this.free_blocks = from?.free_blocks ?? n;
    }
    apply(events, perBlock) {
      const i = this.i++, block = events.block[i], before = this.pages[block];
      switch (events.kind[i]) {
        case PROGRAM:
          if (events.second[i] >= before) this.pages[block] = events.second[i] + 1;
          this.owner[block] = events.first[i];
          this.last[block] = events.at[i];
          break;
        case ERASE:
          this.pages[block] = this.valid[block] = 0;
          this.free[block] = 255;
          this.erases[block]++;
          this.owner[block] = UNKNOWN;
          this.file[block] = 0;
          this.last[block] = events.at[i];
          break;
        case HOLDS:
          this.valid[block] = events.first[i];
          this.free[block] = Math.min(255, events.second[i]);
          this.file[block] = events.file[i];
          if (this.last[block] < 0) this.pages[block] = Math.round(perBlock * (1 - this.free[block] / 255));
      }
      this.free_blocks += (this.pages[block] <= this.marked) - (before <= this.marked);
      return block;
    }
  }

  // The numbers of the files, those first that at some time had most blocks.
  function filesByBlocks(events, count) {
    const blocks = Array.from({ length: count + 1 }, () => new Set());
    for (let i = 0; i < events.n; i++) if (events.kind[i] === HOLDS) blocks[events.file[i]].add(events.block[i]);
    return Array.from({ length: count }, (_, i) => i + 1).sort((a, b) => blocks[b].size - blocks[a].size || a - b);
  }

  // `wanted`: somebody comes near. Controls and legend stand before, so that nothing moves then.
  async function film(figure, wanted) {
    const deck = figure.querySelector(".deck"), canvas = figure.querySelector(":scope > canvas"), chart = figure.querySelector("figure[data-chart]");
    const said = figure.querySelector(":scope > .said"), keys = figure.querySelector(":scope > .keys");
    let playing = false, whole = true;

    // What belongs together stays in a line, if there is room.
    let place = deck;
    const group = () => { place = make("span", { class: "group" }); deck.append(place); };
    const button = (name, act, keys) => { const made = make("button", { type: "button", ...(keys ? { "aria-keyshortcuts": keys } : {}) }, name); made.addEventListener("click", act); place.append(made); return made; };
    const select = (label, names, change) => { const made = make("select", {}, ...names.map((name) => make("option", { value: name }, name))); place.append(make("label", { class: "choice" }, label, " ", made)); made.addEventListener("change", change); return made; };
    const play = button("Play", () => { playing = !playing; if (playing && state.i >= events.n) go(0); play.textContent = playing ? "Pause" : "Play"; if (playing) requestAnimationFrame(tick); else draw(); }, "Space");
    const bar = make("input", { type: "range", min: "0", max: figure.dataset.events, value: "0", "aria-label": "Place in the film, in events" });
    bar.addEventListener("input", () => go(Number(bar.value)));
    deck.append(bar);
    const clock = make("span", { class: "clock" });
    clock.textContent = `0.000000 s, event 0 of ${number(Number(figure.dataset.events))}, ${number(Number(figure.dataset.count))} free`;
    deck.append(clock);
    group();
    const speed = select("Speed", ["whole in 60 s", "whole in 20 s", "whole in 5 s", "1 event a second", "10 events a second", "100 events a second", "1,000 events a second"], () => {});
    speed.value = "whole in 20 s";
    const by = select("Colour", ["valid share", "state", "erases", "age", "last written because"], () => { whole = true; draw(); legend(); });
    group();
    button("Back", () => go(state.i - 1));
    button("Step", () => go(state.i + 1));
    button("Next erase", () => until((i) => events.kind[i] === ERASE));
    button("Next background operation", () => until((i) => events.kind[i] !== HOLDS && of.behind[events.first[i]]));
    group();
    const limit = make("input", { type: "number", min: "1", max: figure.dataset.count, value: "5", "aria-label": "Free blocks" });
    limit.style.width = "5rem";
    place.append(make("label", { class: "choice" }, "Free blocks below ", limit));
    button("Go there", () => until(() => state.free_blocks < Number(limit.value), true));
    // The n-th event of a kind; of a collection the first one of its operations after others.
    const ones = { erase: (i) => events.kind[i] === ERASE, collection: (i) => of.collects[events.first[i]], "background operation": (i) => of.behind[events.first[i]] };
    group();
    const which = make("input", { type: "number", min: "1", value: "1", "aria-label": "Number" });
    which.style.width = "5rem";
    place.append(make("label", { class: "choice" }, "Number ", which));
    const what = select("of", Object.keys(ones), () => {});
    what.setAttribute("aria-label", "What is counted");
    button("Go to it", () => {
      const n = Number(which.value), is = ones[what.value], once = what.value === "collection";
      let count = 0, inside = false;
      go(first);
      until((i) => {
        if (events.kind[i] === HOLDS) return false;
        const begins = is(i) && !(once && inside);
        inside = is(i);
        if (begins) count++;
        return begins && count === n;
      });
      if (count < n) said.textContent = `There are ${number(count)}, this is the end.`;
    });

    let ramped = ramp(), ink = {};
    const paints = () => { ramped = ramp(); ink = Object.fromEntries([...OWNERS, "free", "ink", "line", "further"].map((name) => [name, colour(name)])); };
    paints();
    legend();
    said.textContent = ASKS;
    deck.inert = true;

    await wanted;
    const of = data(figure.dataset.film), events = await unpacked(of);
    // States to begin from, so that going back costs little.
    const frames = [], every = Math.max(1, Math.ceil(events.n / FRAMES));
    const walker = new State(of);
    for (let i = 0; i < events.n; i++) { if (i % every === 0) frames.push(new State(of, walker)); walker.apply(events, of.pages); }
    const most = Math.max(1, ...walker.erases), grid = new Grid(canvas, of.blocks);
    // The first events tell what blocks held before.
    let first = 0;
    while (first < events.n && events.kind[first] === HOLDS) first++;
    let state = new State(of, frames[0]), ring = null, told_ms = 0, touched = new Set(), edges = [];
    [bar.min, bar.value] = [String(first), String(first)];
    if (of.files.length) by.append(make("option", { value: "file" }, "file"));
    if (of.collects.includes(true)) what.value = "collection";

    function go(i) {
      const to = Math.max(first, Math.min(events.n, i));
      const frame = frames[Math.min(frames.length - 1, Math.floor(to / every))];
      if (to < state.i || (frame && frame.i > state.i)) { state = new State(of, frame ?? new State(of)); whole = true; }
      while (state.i < to) touched.add(state.apply(events, of.pages));
      draw();
    }
    // Goes on until something has happened; what holds already must have ceased before.
    function until(happened, isState = false) {
      let ready = !isState || !happened(0);
      while (state.i < events.n) {
        const i = state.i;
        touched.add(state.apply(events, of.pages));
        if (happened(i)) { if (ready) break; } else ready = true;
      }
      draw();
    }
    let before = null;
    function tick(now) {
      if (!playing) { before = null; return; }
      const passed = before === null ? 0 : Math.min(now - before, 200) / 1000, found = /^whole in (\d+)/.exec(speed.value);
      const rate = found ? events.n / Number(found[1]) : Number(speed.value.replace(",", "").split(" ")[0]);
      tick.rest = (tick.rest ?? 0) + passed * rate;
      const steps = Math.floor(tick.rest);
      tick.rest -= steps;
      before = now;
      if (steps) go(state.i + steps);
      if (state.i >= events.n) { playing = false; play.textContent = "Play"; draw(); }
      requestAnimationFrame(tick);
    }

    const fills = {
      "valid share": (b) => isFree(b) ? ink.free : ramped[state.valid[b] >> 2],
      "state": (b) => isFree(b) ? ink.free : state.pages[b] < of.pages && state.free[b] > 8 ? ink.s2 : state.valid[b] > 127 ? ink.s0 : ink.s1,
      "erases": (b) => ramped[Math.round(63 * state.erases[b] / most)],
      "age": (b) => state.last[b] < 0 ? ink.free : ramped[63 - Math.min(63, Math.round(63 * (now() - state.last[b]) / Math.max(now(), 1)))],
      "last written because": (b) => state.owner[b] === UNKNOWN ? ink.free : ink[OWNERS[state.owner[b] % 8]],
      "file": (b) => state.file[b] === 0 ? ink.free : paintOf(state.file[b]),
    };
    // Those of which most blocks are have colours of their own, all others one.
    const ranked = filesByBlocks(events, of.files.length).slice(0, OWNERS.length);
    const paintOf = (file) => ranked.includes(file) ? ink[OWNERS[ranked.indexOf(file)]] : ink.further;
    const isFree = (b) => state.pages[b] <= state.marked;
    const now = () => state.i > first ? events.at[state.i - 1] : 0;
    function legend() {
      const key = (fill, name) => make("li", {}, dotOf(fill), name);
      const of_ramp = (low, high) => { const one = make("span", { class: "ramp" }); one.style.background = `linear-gradient(90deg, ${ramped.filter((_, i) => i % 9 === 0).join(",")})`; return make("li", {}, low, one, high); };
      keys.replaceChildren(...{
        "valid share": () => [of_ramp("nothing valid", "all valid"), key(ink.free, "free: at most a sixteenth is written")],
        "state": () => [key(ink.free, "free: at most a sixteenth is written"), key(ink.s2, "being filled"), key(ink.s0, "full, mostly valid"), key(ink.s1, "full, mostly garbage")],
        "erases": () => [of_ramp("0", `${number(most)} erases`)],
        "age": () => [of_ramp("written long ago", "just now"), key(ink.free, "not written in the film")],
        "last written because": () => [...of.causes.flatMap((name, i) => owners.has(i) ? [key(ink[OWNERS[i % 8]], name)] : []), key(ink.free, "erased, or not written in the film")],
        "file": () => [...ranked.map((file) => key(paintOf(file), of.files[file - 1])), ...(ranked.length < of.files.length ? [key(ink.further, `${number(of.files.length - ranked.length)} others`)] : []), key(ink.free, "erased")],
      }[by.value]());
    }
    const owners = new Set();
    for (let i = 0; i < events.n; i++) if (events.kind[i] === PROGRAM) owners.add(events.first[i]);

    function draw() {
      const fill = fills[by.value];
      if (whole || by.value === "age") for (let b = 0; b < of.blocks; b++) grid.cell(b, fill(b));
      else { for (const b of touched) grid.cell(b, fill(b)); for (const b of edges) grid.cell(b, fill(b)); }
      whole = false;
      touched = new Set();
      edges = [];
      if (ring !== null) { grid.ring(ring, ink.ink); edges.push(ring); }
      const i = state.i - 1;
      if (i >= 0) { const b = events.block[i]; grid.ring(b, events.kind[i] === ERASE ? ink.s1 : ink.s4); edges.push(b); }
      bar.value = String(state.i);
      clock.textContent = `${number(now() / 1e6, 6)} s, event ${number(state.i)} of ${number(events.n)}, ${number(state.free_blocks)} free`;
      // While it plays, nobody reads so fast, and the page is laid out for each new text.
      const moment = performance.now();
      if (!playing || moment - told_ms > SAID_EVERY_MS) {
        told_ms = moment;
        said.textContent = ring !== null ? block(ring) : i >= 0 ? event(i) : ASKS;
      }
      cursor();
    }
    const event = (i) => {
      const b = number(events.block[i]);
      if (events.kind[i] === HOLDS) return `Block ${b} holds ${Math.round(events.first[i] / 2.55)} % valid, ${Math.round(events.second[i] / 2.55)} % free${ownedBy(events.file[i])}`;
      return `${["Read of", "Program of", "Erase of"][events.kind[i]]} block ${b}${events.kind[i] === ERASE ? "" : `, page ${events.second[i]}`}: ${of.causes[events.first[i]]}`;
    };
    const ownedBy = (file) => file === 0 ? "" : `, written mostly for ${of.files[file - 1]}`;
    const block = (b) => `Block ${number(b)}: ${state.pages[b]} of ${of.pages} pages written, ${Math.round(state.valid[b] / 2.55)} % valid, ${number(state.erases[b])} erases${state.owner[b] === UNKNOWN ? "" : `, last written because: ${of.causes[state.owner[b]]}`}${ownedBy(state.file[b])}`;

    // A line in the chart above, where the film stands; a click there brings the film to that time.
    const line = make("div", { "aria-hidden": "true" });
    line.style.cssText = "position:absolute;top:0;bottom:0;width:2px;background:var(--s1);pointer-events:none";
    function cursor() {
      const u = chart?.chart?.u();
      if (!u) return;
      if (line.parentNode !== u.over) u.over.append(line);
      const left = u.valToPos(now() / 1e6, "x");
      line.hidden = left < 0 || left > u.over.clientWidth;
      line.style.transform = `translateX(${left}px)`;
    }
    chart?.addEventListener("drawn", cursor);
    chart?.addEventListener("click", (press) => {
      const u = chart.chart?.u();
      if (!u || !u.over.contains(press.target)) return;
      const to = u.posToVal(press.clientX - u.over.getBoundingClientRect().left, "x") * 1e6;
      let [low, high] = [0, events.n];
      while (low < high) { const middle = (low + high) >> 1; if (events.at[middle] <= to) low = middle + 1; else high = middle; }
      go(low);
    });
    grid.follow((b) => { if (ring !== null) edges.push(ring); ring = b; draw(); });
    canvas.addEventListener("pointerleave", () => { if (ring !== null) edges.push(ring); ring = null; draw(); });
    canvas.addEventListener("keydown", (press) => { if (press.key === " ") { press.preventDefault(); play.click(); } });
    const again = () => { paints(); grid.fit(); whole = true; draw(); legend(); };
    let wide = 0;
    new ResizeObserver(() => { if (wide !== canvas.clientWidth) { wide = canvas.clientWidth; again(); } }).observe(canvas);
    ffslab.drawers.push(again);
    paints();
    go(first);
    again();
    figure.film = { go, until, get at() { return state.i; }, get free() { return state.free_blocks; }, state: () => state, events };
    deck.inert = false;
    figure.dataset.ready = "true";
  }

  const figures = [...document.querySelectorAll("figure[data-film]")];
  let comes_near;
  const wanted = new Promise((resolve) => { comes_near = resolve; });
  const near = new IntersectionObserver((entries) => {
    if (!entries.some((one) => one.isIntersecting)) return;
    near.disconnect();
    comes_near();
  }, { rootMargin: "1600px" });
  for (const figure of figures) {
    // What stands below has its place before the film is there.
    new Grid(figure.querySelector(":scope > canvas"), Number(figure.dataset.count));
    film(figure, wanted);
    near.observe(figure);
  }
}
