// Maps of erase blocks on a canvas: a cell each, row by row. The film uses the same grid.
"use strict";
{
  const { make, data, colour, number } = ffslab;
  const RAMPS = { light: ["#eef3f7", "#bcd6e8", "#7db2d6", "#3f86b8", "#12598c", "#06304f"], dark: ["#23303a", "#234e6b", "#2c78a6", "#4aa3df", "#93cdf5", "#e3f3ff"] };
  const parse = (hex) => [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
  // 64 colours from the lowest value to the highest.
  function ramp() {
    const isDark = getComputedStyle(document.documentElement).getPropertyValue("--paper").trim() !== "#ffffff";
    const stops = RAMPS[isDark ? "dark" : "light"].map(parse);
    return Array.from({ length: 64 }, (_, i) => {
      const at = i / 63 * (stops.length - 1), low = Math.min(Math.floor(at), stops.length - 2), part = at - low;
      return `rgb(${stops[low].map((one, c) => Math.round(one + (stops[low + 1][c] - one) * part)).join(",")})`;
    });
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
    }
    cell(block, fill) {
      const x = (block % this.columns) * this.size, y = Math.floor(block / this.columns) * this.size;
      this.context.fillStyle = fill;
      this.context.fillRect(x, y, this.size - this.gap, this.size - this.gap);
    }
    ring(block, stroke) {
      const x = (block % this.columns) * this.size, y = Math.floor(block / this.columns) * this.size;
      this.context.strokeStyle = stroke;
      this.context.lineWidth = 2;
      this.context.strokeRect(x + 0.5, y + 0.5, this.size - this.gap - 1, this.size - this.gap - 1);
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
  Object.assign(ffslab, { Grid, ramp });

  for (const figure of document.querySelectorAll("figure[data-blocks]")) {
    const of = data(figure.dataset.blocks), tools = figure.querySelector(".tools"), canvas = figure.querySelector("canvas");
    const said = figure.querySelector(".said"), scale = figure.querySelector(".scale");
    const select = (label, names) => {
      const made = make("select", {}, ...names.map((name, i) => make("option", { value: String(i) }, name)));
      tools.append(make("label", {}, label, made));
      made.addEventListener("change", () => draw());
      return made;
    };
    const variant = of.length > 1 ? select("Variant", of.map((one) => one.name)) : { value: "0" };
    const metric = select("Colour", of[0].metrics.map((one) => one.label));
    let grid = null, ring = null;
    const of_now = () => { const one = of[variant.value]; return { one, shown: one.metrics.find((other) => other.label === of[0].metrics[metric.value].label) ?? one.metrics[0] }; };
    const draw = (again = true) => {
      const { one, shown } = of_now(), count = shown.values.length;
      if (!grid || again) { if (!grid) { grid = new Grid(canvas, count); grid.follow(tell); } grid.count = count; grid.fit(); }
      const colours = ramp();
      // One scale for all variants: their maps can be compared.
      const most = shown.label.endsWith("%") ? 100 : Math.max(1, ...of.flatMap((other) => other.metrics.find((each) => each.label === shown.label)?.values ?? []));
      shown.values.forEach((value, block) => grid.cell(block, colours[Math.round(63 * value / most)]));
      for (const mark of one.marks) grid.ring(mark.block, colour("s1"));
      if (ring !== null && ring < count) grid.ring(ring, colour("ink"));
      const bar = make("span", { class: "ramp" });
      bar.style.background = `linear-gradient(90deg, ${colours.filter((_, i) => i % 9 === 0).join(",")})`;
      scale.replaceChildren("0", bar, make("span", {}, `${number(most)} ${shown.label}`));
      for (const mark of one.marks) scale.append(make("span", {}, `ring: ${mark.at} begins`));
      if (ring === null) said.textContent = `${number(count)} erase blocks, ${grid.columns} a row; at most ${number(Math.max(...shown.values))}, on average ${number(shown.values.reduce((sum, value) => sum + value, 0) / count, 2)}.`;
    };
    const tell = (block) => {
      ring = block;
      draw(false);
      said.textContent = `Block ${number(block)}: ${of_now().one.metrics.map((one) => `${one.label.replace(", %", "")} ${number(one.values[block])}${one.label.endsWith("%") ? " %" : ""}`).join(", ")}`;
    };
    new ResizeObserver(() => { if (!grid || grid.wide !== canvas.clientWidth) { draw(); grid.wide = canvas.clientWidth; } }).observe(canvas);
    ffslab.drawers.push(() => draw());
  }
}
