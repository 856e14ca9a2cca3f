// Maps of erase blocks on a canvas, a cell each, row by row, and planes of two axes. The film uses the same grid.
"use strict";
{
  const { make, data, colour, number } = ffslab;
  const RAMPS = { light: ["#dce8f1", "#b4d1e6", "#7db2d6", "#3f86b8", "#12598c", "#06304f"], dark: ["#26384a", "#24506f", "#2c78a6", "#4aa3df", "#93cdf5", "#e3f3ff"] };
  const parse = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  // Below nothing and above it, for differences.
  const SIGNED = { light: ["#b35806", "#f1a340", "#f4ece2", "#eef1f6", "#7db2d6", "#12598c"].reverse(), dark: ["#ffb668", "#a8651f", "#3a3026", "#26313a", "#2c78a6", "#93cdf5"].reverse() };
  const isDarkNow = () => getComputedStyle(document.documentElement).getPropertyValue("--paper").trim() !== "#ffffff";
  function rampOf(stops) {
    const parsed = stops.map(parse);
    return Array.from({ length: 64 }, (_, i) => {
      const at = i / 63 * (parsed.length - 1), low = Math.min(Math.floor(at), parsed.length - 2), part = at - low;
      return `rgb(${parsed[low].map((one, c) => Math.round(one + (parsed[low + 1][c] - one) * part)).join(",")})`;
    });
  }
  // 64 colours from the lowest value to the highest; of differences from the most below nothing to the most above.
  const ramp = (isSigned = false) => rampOf((isSigned ? SIGNED : RAMPS)[isDarkNow() ? "dark" : "light"]);
  // The place of a value among the 64 colours.
  function shadeOf(value, most, isLog, isSigned) {
    const share = isLog ? Math.log1p(Math.abs(value)) / Math.log1p(most) : Math.abs(value) / most;
    return isSigned ? Math.round(31.5 + 31.5 * Math.sign(value) * share) : Math.round(63 * share);
  }

  class Grid {
    constructor(canvas, count) {
      Object.assign(this, { canvas, count, context: canvas.getContext("2d") });
      this.fit();
    }
    fit() {
      const wide = this.canvas.clientWidth || 600;
      const most = wide < 500 ? 32 : 64;
      this.columns = this.count <= most ? this.count : this.count > 1024 && wide > 700 ? 128 : most;
      this.size = Math.min(Math.floor(wide / this.columns * 10) / 10, 22);
      this.rows = Math.ceil(this.count / this.columns);
      const scale = devicePixelRatio || 1;
      this.canvas.style.height = `${this.rows * this.size}px`;
      this.canvas.width = Math.round(wide * scale);
      this.canvas.height = Math.round(this.rows * this.size * scale);
      this.context.setTransform(scale, 0, 0, scale, 0, 0);
      this.gap = this.size > 7 ? 1 : 0.5;
      this.empty = colour("free");
      this.paper = colour("paper");
      // What stands there is not drawn again: of thousands of blocks few change from one look to the next.
      this.fills = new Array(this.count).fill(null);
    }
    clear() {
      this.context.clearRect(0, 0, this.canvas.width, this.canvas.height);
      this.fills.fill(null);
    }
    // What is free is a frame with nothing in it, which no shade of a filled one is taken for.
    cell(block, fill) {
      if (this.fills[block] === fill) return;
      this.fills[block] = fill;
      const x = (block % this.columns) * this.size, y = Math.floor(block / this.columns) * this.size, wide = this.size - this.gap;
      this.context.fillStyle = fill;
      this.context.fillRect(x, y, wide, wide);
      if (fill !== this.empty || wide < 4) return;
      this.context.fillStyle = this.paper;
      this.context.fillRect(x + 1, y + 1, wide - 2, wide - 2);
    }
    ring(block, stroke) {
      this.fills[block] = null;
      const x = (block % this.columns) * this.size, y = Math.floor(block / this.columns) * this.size;
      this.context.strokeStyle = stroke;
      this.context.lineWidth = 2;
      this.context.strokeRect(x + 1, y + 1, this.size - this.gap - 2, this.size - this.gap - 2);
    }
    at(event) {
      const box = this.canvas.getBoundingClientRect();
      const column = Math.floor((event.clientX - box.left) / this.size), row = Math.floor((event.clientY - box.top) / this.size);
      const block = row * this.columns + column;
      return column >= 0 && column < this.columns && block >= 0 && block < this.count ? block : null;
    }
    // Tells of the block under the pointer, or that arrow keys have come to.
    follow(tell) {
      let focus = 0;
      this.canvas.addEventListener("pointermove", (event) => { const block = this.at(event); if (block !== null) tell(block); });
      this.canvas.addEventListener("keydown", (event) => {
        const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: this.columns, ArrowUp: -this.columns }[event.key];
        if (!step) return;
        event.preventDefault();
        focus = Math.max(0, Math.min(this.count - 1, focus + step));
        tell(focus);
      });
    }
  }
  // Before the name in a legend: the colour of a cell.
  const dotOf = (fill) => { const dot = make("span", { class: [colour("free"), "var(--free)"].includes(fill) ? "dot empty" : "dot" }); dot.style.setProperty("--c", fill); return dot; };
  Object.assign(ffslab, { Grid, ramp, shadeOf, dotOf });

  const scaleOf = (ramped, low, high) => {
    const bar = make("span", { class: "ramp" });
    bar.style.background = `linear-gradient(90deg, ${ramped.filter((_, i) => i % 9 === 0).join(",")})`;
    return [low, bar, make("span", {}, high)];
  };
  const keyOf = (name, ink) => make("span", {}, dotOf(`var(--${ink})`), " ", name);
  ffslab.scaleOf = scaleOf;

  for (const figure of document.querySelectorAll("figure[data-blocks]")) {
    const of = data(figure.dataset.blocks), tools = figure.querySelector(".tools"), canvas = figure.querySelector("canvas");
    const said = figure.querySelector(".said"), scale = figure.querySelector(".scale");
    const select = (label, names) => {
      const made = make("select", {}, ...names.map((name, i) => make("option", { value: String(i) }, name)));
      tools.append(make("label", {}, label, made));
      made.addEventListener("change", () => draw());
      return made;
    };
    const variant = of.length > 1 ? select(figure.dataset.choice, of.map((one) => one.name)) : { value: "0" };
    const metric = of[0].metrics.length > 1 ? select("Colour", of[0].metrics.map((one) => one.label)) : { value: "0" };
    const log = make("button", { type: "button", "aria-pressed": String(Boolean(of[0].metrics[0].log)) }, "Log colours");
    let isLog = Boolean(of[0].metrics[0].log);
    log.addEventListener("click", () => { isLog = !isLog; log.setAttribute("aria-pressed", String(isLog)); draw(); });
    const copier = make("button", { type: "button" }, "Copy CSV");
    tools.append(log, copier);
    let grid = null, ring = null;
    const of_now = () => { const one = of[variant.value]; return { one, shown: one.metrics.find((other) => other.label === of[0].metrics[metric.value].label) ?? one.metrics[0] }; };
    const valueText = (metric, value) => value === null ? "-" : metric.kinds ? metric.kinds[value][0] : `${metric.signed && value > 0 ? "+" : ""}${number(value)}${metric.label.endsWith("%") ? " %" : ""}`;
    copier.addEventListener("click", () => {
      const { one } = of_now(), first = one.first ?? 0;
      const rows = one.metrics[0].values.map((_, block) => [String(first + block), ...one.metrics.map((each) => each.values[block] === null ? "" : each.kinds ? each.kinds[each.values[block]][0] : String(each.values[block]))]);
      ffslab.copy(copier, [["block", ...one.metrics.map((each) => each.label)], ...rows].map(ffslab.csv).join("\n") + "\n");
    });
    const draw = (again = true) => {
      const { one, shown } = of_now(), count = shown.values.length, first = one.first ?? 0;
      if (!grid || again) { if (!grid) { grid = new Grid(canvas, count); grid.follow(tell); } grid.count = count; grid.fit(); }
      const known = shown.values.filter((value) => value !== null);
      // One scale for all variants: their maps can be compared.
      const every = of.flatMap((other) => other.metrics.find((each) => each.label === shown.label)?.values ?? []);
      const most = shown.label.endsWith("%") ? 100 : every.reduce((high, value) => Math.max(high, Math.abs(value ?? 0)), 1);
      const inks = shown.kinds ? shown.kinds.map(([, ink]) => colour(ink)) : ramp(shown.signed), none = colour("free");
      shown.values.forEach((value, block) => grid.cell(block, value === null ? none : shown.kinds ? inks[value] : inks[shadeOf(value, most, isLog, shown.signed)]));
      for (const mark of one.marks ?? []) grid.ring(mark.block, colour("s1"));
      if (ring !== null && ring < count) grid.ring(ring, colour("ink"));
      log.hidden = Boolean(shown.kinds);
      if (shown.kinds) scale.replaceChildren(...shown.kinds.flatMap(([name, ink], kind) => known.includes(kind) ? [keyOf(name, ink)] : []));
      else scale.replaceChildren(...scaleOf(inks, shown.signed ? `-${number(most)}` : "0", `${shown.signed ? "+" : ""}${number(most)} ${shown.label}`));
      for (const mark of one.marks ?? []) scale.append(make("span", {}, `ring: ${mark.at} begins`));
      if (ring !== null) return;
      const blocks = `${number(count)} erase blocks${first ? ` from ${number(first)} on` : ""}, ${grid.columns} a row`;
      if (shown.kinds) said.textContent = `${blocks}: ${shown.kinds.flatMap(([name], kind) => { const n = known.filter((value) => value === kind).length; return n ? [`${number(n)} ${name}`] : []; }).join(", ")}.`;
      else said.textContent = `${blocks}; at most ${number(known.reduce((high, value) => Math.max(high, value), -Infinity))}, on average ${known.length < count ? "(of those with any) " : ""}${number(known.reduce((sum, value) => sum + value, 0) / known.length, 2)}.`;
    };
    const tell = (block) => {
      ring = block;
      draw(false);
      const { one } = of_now();
      said.textContent = `Block ${number((one.first ?? 0) + block)}: ${one.metrics.map((each) => `${each.kinds ? "" : `${each.label.replace(", %", "")} `}${valueText(each, each.values[block])}`).join(", ")}`;
    };
    // At once, so that what stands below has its place before anything is painted.
    draw();
    grid.wide = canvas.clientWidth;
    new ResizeObserver(() => { if (grid.wide !== canvas.clientWidth) { draw(); grid.wide = canvas.clientWidth; } }).observe(canvas);
    ffslab.drawers.push(() => draw());
  }
}
