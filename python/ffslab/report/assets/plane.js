// A figure over two axes, such as the erases of each block over the years: a cell each on a canvas.
"use strict";
{
  const { make, data, colour, number, ramp, shadeOf, scaleOf } = ffslab;
  const LEFT = 64, BOTTOM = 38, TOP = 6, RIGHT = 10;

  async function valuesOf(of) {
    const raw = Uint8Array.from(atob(of.packed), (one) => one.charCodeAt(0));
    const stream = new Blob([raw]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Float32Array(await new Response(stream).arrayBuffer());
  }
  // Round numbers between two others, some `count` of them.
  function ticks(low, high, count) {
    const rough = (high - low) / Math.max(count, 1), power = 10 ** Math.floor(Math.log10(rough || 1));
    const step = [1, 2, 5, 10].map((one) => one * power).find((one) => one >= rough) ?? power, found = [];
    for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) found.push(Number(at.toPrecision(10)));
    return found;
  }

  async function plane(figure) {
    const of = data(figure.dataset.plane), values = await valuesOf(of), edges = ffslab.floats(of.x.edges);
    const columns = edges.length - 1, rows = of.rows, canvas = figure.querySelector("canvas"), context = canvas.getContext("2d");
    const said = figure.querySelector(".said"), scale = figure.querySelector(".scale"), tools = figure.querySelector(".tools");
    const most = values.reduce((high, value) => value > high ? value : high, 0) || 1;
    let isLog = Boolean(of.log), place = null;
    const log = make("button", { type: "button", "aria-pressed": String(isLog) }, "Log colours");
    log.addEventListener("click", () => { isLog = !isLog; log.setAttribute("aria-pressed", String(isLog)); draw(); });
    const copier = make("button", { type: "button" }, "Copy CSV");
    const rowText = (row) => of.step > 1 ? `${number(of.first + row * of.step)} to ${number(of.first + (row + 1) * of.step - 1)}` : number(of.first + row);
    copier.addEventListener("click", () => {
      const lines = [[`${of.x.label} from`, `${of.x.label} to`, of.y, of.value]];
      for (let row = 0; row < rows; row++) for (let column = 0; column < columns; column++) {
        const value = values[row * columns + column];
        if (!Number.isNaN(value)) lines.push([edges[column], edges[column + 1]].map((at) => String(Number(at.toPrecision(7)))).concat(String(of.first + row * of.step), String(Number(value.toPrecision(7)))));
      }
      ffslab.copy(copier, lines.map(ffslab.csv).join("\n") + "\n");
    });
    tools.append(log, copier);

    const inside = () => ({ wide: canvas.clientWidth - LEFT - RIGHT, tall: canvas.clientHeight - TOP - BOTTOM });
    const xOf = (at) => LEFT + inside().wide * (at - edges[0]) / (edges[columns] - edges[0]);
    const yOf = (row) => TOP + inside().tall * row / rows;
    function draw() {
      const dense = devicePixelRatio || 1, { wide, tall } = inside(), colours = ramp();
      canvas.width = Math.round(canvas.clientWidth * dense);
      canvas.height = Math.round(canvas.clientHeight * dense);
      context.setTransform(dense, 0, 0, dense, 0, 0);
      context.fillStyle = colour("free");
      context.fillRect(LEFT, TOP, wide, tall);
      // Of several rows in a line of pixels the highest shows.
      const lines = Math.min(rows, Math.ceil(tall * dense));
      for (let column = 0; column < columns; column++) {
        const left = xOf(edges[column]), across = xOf(edges[column + 1]) - left + 0.5;
        for (let line = 0; line < lines; line++) {
          const from = Math.floor(line * rows / lines), to = Math.max(from + 1, Math.floor((line + 1) * rows / lines));
          let value = NaN;
          for (let row = from; row < to; row++) { const one = values[row * columns + column]; if (!(value >= one) && !Number.isNaN(one)) value = one; }
          if (Number.isNaN(value)) continue;
          context.fillStyle = colours[shadeOf(value, most, isLog, false)];
          context.fillRect(left, TOP + tall * line / lines, Math.min(across, LEFT + wide - left), tall / lines + 0.5);
        }
      }
      context.font = "12px system-ui, sans-serif";
      context.fillStyle = colour("quiet");
      context.strokeStyle = colour("line");
      context.textAlign = "center";
      context.textBaseline = "top";
      for (const at of ticks(edges[0], edges[columns], wide / 90)) context.fillText(number(at), xOf(at), TOP + tall + 5);
      context.fillText(of.x.label, LEFT + wide / 2, TOP + tall + 21);
      context.textAlign = "right";
      context.textBaseline = "middle";
      for (const at of ticks(of.first, of.first + rows * of.step - 1, tall / 40)) context.fillText(number(at), LEFT - 6, Math.min(yOf((at - of.first) / of.step + 0.5), TOP + tall - 4));
      context.save();
      context.translate(10, TOP + tall / 2);
      context.rotate(-Math.PI / 2);
      context.textAlign = "center";
      context.fillText(of.y, 0, 0);
      context.restore();
      for (const { at, text } of of.marks) {
        context.strokeStyle = context.fillStyle = colour("s1");
        context.setLineDash([3, 3]);
        context.beginPath();
        context.moveTo(xOf(at), TOP);
        context.lineTo(xOf(at), TOP + tall);
        context.stroke();
        context.setLineDash([]);
        context.textAlign = xOf(at) > LEFT + 0.8 * wide ? "right" : "left";
        context.fillText(text, xOf(at) + (context.textAlign === "left" ? 4 : -4), TOP + 9);
      }
      if (place) {
        context.strokeStyle = colour("ink");
        context.lineWidth = 2;
        context.strokeRect(xOf(edges[place.column]), yOf(place.row), Math.max(3, xOf(edges[place.column + 1]) - xOf(edges[place.column])), Math.max(3, tall / rows));
        context.lineWidth = 1;
      }
      scale.replaceChildren(...scaleOf(colours, "0", `${number(most)} ${of.value}`));
      tell();
    }
    function tell() {
      if (!place) { said.textContent = `${number(rows * of.step)} by ${number(columns)}; point at a place, or go there with the arrow keys.`; return; }
      const value = values[place.row * columns + place.column];
      said.textContent = `${of.y} ${rowText(place.row)}, ${of.x.label} ${number(edges[place.column])} to ${number(edges[place.column + 1])}: ${Number.isNaN(value) ? "none" : `${number(value)} ${of.value}`}`;
    }
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect(), at = edges[0] + (event.clientX - box.left - LEFT) / inside().wide * (edges[columns] - edges[0]);
      const row = Math.floor((event.clientY - box.top - TOP) / inside().tall * rows);
      let column = -1;
      while (column + 1 < columns && edges[column + 1] <= at) column++;
      if (at >= edges[0] && at < edges[columns] && row >= 0 && row < rows) { place = { row, column: column + 1 < columns && at >= edges[column + 1] ? column + 1 : Math.max(0, column) }; tell(); }
    });
    canvas.addEventListener("keydown", (event) => {
      const [down, across] = { ArrowRight: [0, 1], ArrowLeft: [0, -1], ArrowDown: [1, 0], ArrowUp: [-1, 0], PageDown: [20, 0], PageUp: [-20, 0] }[event.key] ?? [0, 0];
      if (!down && !across) return;
      event.preventDefault();
      place = place ? { row: Math.max(0, Math.min(rows - 1, place.row + down)), column: Math.max(0, Math.min(columns - 1, place.column + across)) } : { row: 0, column: 0 };
      draw();
    });
    let wide = 0;
    new ResizeObserver(() => { if (wide !== canvas.clientWidth) { wide = canvas.clientWidth; draw(); } }).observe(canvas);
    ffslab.drawers.push(draw);
    draw();
    figure.dataset.ready = "true";
  }
  for (const figure of document.querySelectorAll("figure[data-plane]")) plane(figure);
}
