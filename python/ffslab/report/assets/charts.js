// Charts by uPlot: dots, lines, small multiples, and any two figures of the variants against each other.
"use strict";
{
  const { make, data, colour, number, floats } = ffslab;

  // Points of all series in one order of x, which is what uPlot takes: a row has a point of each series at most, and
  // null where a series has none. `places` are the points in their order: series, index in it, row.
  function merged(series, across, heights) {
    const places = [];
    series.forEach((one, s) => { for (let i = 0; i < one.x.length; i++) if (Number.isFinite(heights[s][i])) places.push([across[s][i], s, i, 0]); });
    places.sort((a, b) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2]);
    const xs = [], starts = [], last = series.map(() => -1);
    places.forEach((place, at) => {
      if (!xs.length || xs[xs.length - 1] !== place[0] || last[place[1]] === xs.length - 1) { xs.push(place[0]); starts.push(at); }
      place[3] = last[place[1]] = xs.length - 1;
    });
    starts.push(places.length);
    const columns = series.map(() => new Array(xs.length).fill(null));
    for (const [, s, i, row] of places) columns[s][row] = heights[s][i];
    return { xs, columns, places, starts };
  }

  // How high points stand. Of a stack the first series is on top, and what does not show is left out.
  function heightsOf(spec, shown) {
    if (!spec.stacked) return spec.series.map((one) => one.y);
    const sum = new Float64Array(spec.series[0].y.length), heights = [];
    for (let s = spec.series.length - 1; s >= 0; s--) {
      if (shown[s]) spec.series[s].y.forEach((value, i) => { sum[i] += value; });
      heights[s] = sum.slice();
    }
    return heights;
  }

  // On a logarithmic axis nothing has no place: it stands at the axis' low end. Of fewer than two values there is none.
  function lowEnd(columns) {
    let [least, most] = [Infinity, 0];
    for (const values of columns) for (const value of values) if (value > 0 && value < Infinity) { least = Math.min(least, value); most = Math.max(most, value); }
    return least < most ? least / 1.3 : null;
  }
  const raised = (columns, low) => columns.map((values) => Array.from(values, (value) => value <= 0 ? low : value));

  // More marks on a line, or lines at ticks, than these hide it.
  const MARKS_MAX = 60, TICKS_MAX = 40;
  // Dots that lie on one another are seen through, of fewer each is seen.
  const DENSE = 300;
  // How wide a digit is at most; steps from one whole number to the next that an axis names.
  const DIGIT_PX = 7, WHOLE = Array.from({ length: 16 }, (_, power) => [1, 2, 5].map((one) => one * 10 ** power)).flat();
  // 0.9 stands as high as 0.99 over it: the height is the number of nines.
  const NINES = [[0, "0"], [Math.log10(2), "50"], [1, "90"], [2, "99"], [3, "99.9"], [4, "99.99"], [5, "99.999"], [6, "99.9999"]];

  function scaleOf(axis, values, isLog) {
    if (axis.ticks) return { time: false, range: [-0.4, axis.ticks.length - 0.6] };
    if (axis.nines) return { time: false, range: [0, Math.max(1, ...values) * 1.02] };
    let [low, high] = axis.span ?? [Infinity, -Infinity];
    if (isLog && low <= 0) low = Infinity;
    for (const value of values) if (Number.isFinite(value) && (!isLog || value > 0)) { low = Math.min(low, value); high = Math.max(high, value); }
    // Unless somebody has zoomed, what several charts have in common is shown whole.
    const own = values.filter((value) => Number.isFinite(value) && (!isLog || value > 0));
    const [least, most] = own.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
    const isWhole = (from, to) => from <= least && to >= most;
    if (isLog && low < high) return { time: false, distr: 3, log: 10, range: (u, from, to) => isWhole(from, to) ? [low / 1.3, high * 1.3] : [Math.max(from, low / 1.3), Math.max(to, low)] };
    // Where an axis need not begin at 0, dots at both ends have room.
    const room = axis.free && high > low ? 0.03 * (high - low) : 0;
    const whole = axis.free ? [low >= 0 ? Math.max(0, low - room) : low - room, high + room] : [Math.min(0, low), high > 0 ? high * 1.06 : 1];
    return { time: false, range: (u, from, to) => isWhole(from, to) && low <= high ? [whole[0], whole[1] === whole[0] ? whole[0] + 1 : whole[1]] : [from, to === from ? from + 1 : to] };
  }

  // Where an axis has numbers: powers of ten of many decades, 1, 2, 5 and their like of few.
  function logSplits(low, high) {
    const every = Math.max(1, Math.ceil(Math.log10(high / low) / 8)), found = [];
    for (const steps of [...(high / low < 300 ? [] : [[1]]), [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9], [1, 1.5, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9]]) {
      found.length = 0;
      for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
        if (power % every === 0 || steps.length > 1) for (const step of steps) { const at = Number((step * 10 ** power).toPrecision(3)); if (at >= low && at <= high) found.push(at); }
      }
      if (found.length > 2) break;
    }
    return found;
  }

  // Where numbers would stand in one another, some are left out; their lines stay.
  function spaced(u, at, texts) {
    let end = -Infinity;
    return texts.map((text, i) => {
      const half = text.length * DIGIT_PX / 2, place = u.valToPos(at[i], "x");
      if (place - half < end + DIGIT_PX) return "";
      end = place + half;
      return text;
    });
  }

  function axisOf(axis, isX, wide, isLog, values) {
    const common = {
      label: axis.label, stroke: colour("quiet"), font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif",
      grid: { stroke: colour("line"), width: 1 }, ticks: { stroke: colour("line"), width: 1 },
    };
    if (isX) Object.assign(common, { size: 34, labelSize: 22, space: 64 });
    else Object.assign(common, { size: (u, texts) => Math.max(46, 22 + DIGIT_PX * Math.max(0, ...(texts ?? []).map((text) => text.length))), labelSize: 22, space: 30 });
    // Between whole numbers, such as counts, there is nothing.
    if (values.every((value) => !Number.isFinite(value) || Number.isInteger(value))) common.incrs = WHOLE;
    if (axis.ticks) {
      common.size += 15 * (Math.max(...axis.ticks.map((tick) => tick.split("\n").length)) - 1);
      // What was broken into lines has less room between it and its neighbours.
      const across = (tick) => tick.includes("\n") ? Math.max(...tick.split("\n").map((line) => line.length)) + 1.5 : 1.1 * tick.length + 2;
      const every = Math.ceil(axis.ticks.reduce((sum, tick) => sum + across(tick), 0) * 7 / Math.max(wide - 90, 100));
      // Of hundreds only those with a name have a line, or the ground would be grey.
      const shown = axis.ticks.length > TICKS_MAX ? every : 1;
      return { ...common, splits: () => axis.ticks.map((_, i) => i).filter((i) => i % shown === 0), values: (u, at) => at.map((i) => i % every ? "" : axis.ticks[i]) };
    }
    if (axis.at) {
      const few = (u, which, low, high) => {
        const scale = isX ? "x" : "y", kept = [];
        for (const at of axis.at) if (at >= low && at <= high && (!kept.length || Math.abs(u.valToPos(at, scale) - u.valToPos(kept[kept.length - 1], scale)) >= 44)) kept.push(at);
        return kept;
      };
      return { ...common, splits: few, filter: (u, at) => at, values: (u, at) => at.map((value) => number(value)) };
    }
    if (axis.nines) return { ...common, splits: (u) => NINES.map(([at]) => at).filter((at) => at <= u.scales.y.max), values: (u, at) => at.map((one) => NINES.find((nine) => nine[0] === one)?.[1] ?? "") };
    const told = (u, at) => { const texts = at.map((value) => value === null ? "" : number(value)); return isX ? spaced(u, at, texts) : texts; };
    return isLog ? { ...common, splits: (u, which, low, high) => logSplits(low, high), filter: (u, at) => at, values: told } : { ...common, values: told };
  }

  const valueText = (axis, value) => axis.ticks ? axis.ticks[Math.round(value)].replaceAll("\n", " ") : axis.nines ? `${number(100 * (1 - 10 ** -value), 4)} %` : number(value);

  // Grey stretches below what is drawn; above it moments with names, as many of these as there is room for.
  function shade(u, shades) {
    u.ctx.save();
    u.ctx.fillStyle = colour("quiet") + "26";
    for (const [from, to] of shades) { const left = u.valToPos(from, "x", true); u.ctx.fillRect(left, u.bbox.top, u.valToPos(to, "x", true) - left, u.bbox.height); }
    u.ctx.restore();
  }
  function mark(u, marks) {
    const { ctx, bbox } = u, scale = devicePixelRatio || 1, ends = [-Infinity, -Infinity, -Infinity];
    ctx.save();
    ctx.font = `${11 * scale}px system-ui, sans-serif`;
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    for (const { at, text } of marks) {
      const x = u.valToPos(at, "x", true);
      if (x < bbox.left || x > bbox.left + bbox.width) continue;
      ctx.strokeStyle = ctx.fillStyle = colour("quiet");
      ctx.setLineDash([3 * scale, 3 * scale]);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      const wide = ctx.measureText(text).width + 8 * scale, left = Math.min(x + 4 * scale, bbox.left + bbox.width - wide);
      const row = ends.findIndex((end) => end <= left);
      if (row < 0 || !text) continue;
      ends[row] = left + wide;
      ctx.fillStyle = colour("paper");
      ctx.fillRect(left - 2 * scale, bbox.top + (1 + 13 * row) * scale, wide - 4 * scale, 13 * scale);
      ctx.fillStyle = colour("quiet");
      ctx.fillText(text, left, bbox.top + (2 + 13 * row) * scale);
    }
    ctx.restore();
  }

  // What others stated: areas under the lines, squares with a bar for what counts as the same over them.
  const isStated = (one) => one.kind === "squares" || one.kind === "area";
  function stated(u, spec, shown, kind) {
    const { ctx, bbox } = u, scale = devicePixelRatio || 1, foot = bbox.top + bbox.height;
    const height = (value) => value === -Infinity || (u.scales.y.distr === 3 && value <= 0) ? foot : value === Infinity ? bbox.top : Math.max(bbox.top, Math.min(foot, u.valToPos(value, "y", true)));
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    spec.series.forEach((one, s) => {
      if (one.kind !== kind || !shown[s]) return;
      ctx.strokeStyle = ctx.fillStyle = colour(one.colour);
      if (kind === "area") area(u, one, height, scale);
      else one.x.forEach((at, i) => square(ctx, u.valToPos(at, "x", true), height(one.y[i]), one.low ? [height(one.low[i]), height(one.high[i])] : null, scale));
    });
    ctx.restore();
  }
  function area(u, one, height, scale) {
    const { ctx } = u, left = u.valToPos(one.x[0], "x", true), wide = u.valToPos(one.x[one.x.length - 1], "x", true) - left;
    const edges = [height(one.y[0]), height(one.to[0])];
    ctx.globalAlpha = .16;
    ctx.fillRect(left, Math.min(...edges), wide, Math.abs(edges[1] - edges[0]));
    ctx.globalAlpha = 1;
    ctx.lineWidth = 1.6 * scale;
    ctx.setLineDash(one.dash.map((part) => part * scale));
    for (const [value, edge] of [[one.y[0], edges[0]], [one.to[0], edges[1]]]) {
      if (!Number.isFinite(value)) continue;
      ctx.beginPath();
      ctx.moveTo(left, edge);
      ctx.lineTo(left + wide, edge);
      ctx.stroke();
    }
    ctx.setLineDash([]);
  }
  function square(ctx, x, y, bar, scale) {
    const half = 4.5 * scale;
    // A dashed line before it leaves its dashes.
    ctx.setLineDash([]);
    ctx.lineWidth = 1.4 * scale;
    if (bar) {
      ctx.beginPath();
      ctx.moveTo(x, bar[0]);
      ctx.lineTo(x, bar[1]);
      for (const end of bar) { ctx.moveTo(x - half, end); ctx.lineTo(x + half, end); }
      ctx.stroke();
    }
    ctx.fillRect(x - half, y - half, 2 * half, 2 * half);
    ctx.strokeStyle = colour("paper");
    ctx.strokeRect(x - half, y - half, 2 * half, 2 * half);
    ctx.strokeStyle = ctx.fillStyle;
  }

  // A legend begins with what others stated, which is drawn last.
  const statedFirst = (series) => [...series.keys()].sort((a, b) => Number(series[b].stated ?? false) - Number(series[a].stated ?? false));
  // Before a name in the legend: what is drawn there, colour and dash.
  function sample(spec, one) {
    const isLine = ["line", "marks", "step", undefined].includes(one.kind) && one.wide !== 0 && !spec.stacked && !one.filled;
    const key = make("span", { class: isLine ? "stroke" : `dot ${one.kind}` });
    key.style.setProperty("--c", `var(--${one.colour})`);
    if (isLine && one.dash) {
      let at = 0;
      const stops = one.dash.map((long, i) => { const from = at; at += long; return `${i % 2 ? "transparent" : "var(--c)"} ${from}px ${at}px`; });
      key.style.setProperty("--dash", `repeating-linear-gradient(90deg, ${stops.join(", ")})`);
    }
    return key;
  }

  // What is drawn, a row a point; 32-bit floats have seven digits.
  function csvOf(spec) {
    const plain = (axis, value) => axis.ticks ? axis.ticks[Math.round(value)].replaceAll("\n", " ") : axis.nines ? String(Number((100 * (1 - 10 ** -value)).toPrecision(7))) : String(Number(value.toPrecision(7)));
    const rows = spec.series.flatMap((one) => Array.from(one.x, (x, i) => [one.name, plain(spec.x, x), plain(spec.y, one.y[i])]));
    return [["series", spec.x.label, spec.y.label], ...rows].map(ffslab.csv).join("\n") + "\n";
  }

  // Draws `spec` into `figure`; what it returns draws it anew.
  function chart(figure, spec, options = {}) {
    const plot = figure.querySelector(".plot"), said = figure.querySelector(".said");
    const shown = spec.series.map(() => true);
    let drawn = null, join = null;
    const logs = { x: Boolean(spec.x.log), y: Boolean(spec.y.log) };

    function draw() {
      drawn?.destroy();
      const series = spec.series;
      let across = series.map((one) => one.x), heights = heightsOf(spec, shown);
      const lows = { x: logs.x ? lowEnd(across) : null, y: logs.y ? lowEnd(heights) : null }, isLog = { x: lows.x !== null, y: lows.y !== null };
      if (isLog.x) across = raised(across, lows.x);
      if (isLog.y) heights = raised(heights, lows.y);
      join = merged(series, across, heights);
      const wide = plot.clientWidth, tall = plot.clientHeight;
      drawn = new uPlot({
        width: wide, height: tall, legend: { show: false },
        padding: [10, 22, 0, 0],
        cursor: { drag: { x: true, y: true, uni: 30 }, points: { show: false }, y: true },
        scales: { x: scaleOf(spec.x, join.xs, isLog.x), y: scaleOf(spec.y, heights.flatMap((one) => [...one]), isLog.y) },
        axes: [axisOf(spec.x, true, wide, isLog.x, join.xs), axisOf(spec.y, false, wide, isLog.y, heights.flatMap((one) => [...one]))],
        series: [{}, ...series.map((one, s) => {
          const ink = colour(one.colour), rings = one.kind === "rings", dots = one.kind === "dots" || rings, own = isStated(one);
          return {
            label: one.name, show: shown[s], stroke: ink, width: one.wide ?? 1.8, spanGaps: true, dash: one.dash,
            fill: spec.stacked ? ink : one.filled ? ink + "70" : undefined,
            paths: dots || own ? () => null : one.kind === "step" ? uPlot.paths.stepped({ align: 1 }) : undefined,
            points: { show: !own && (dots || (one.kind === "marks" && one.x.length <= MARKS_MAX)), size: one.size ?? (dots ? 4 : 6), fill: dots && !rings ? ink + (one.faint && one.x.length > DENSE ? "90" : "") : colour("paper"), stroke: ink, width: dots && !rings ? 0 : 1.6 },
          };
        })],
        bands: (spec.bands ?? []).map(([high, low, ink]) => ({ series: [high + 1, low + 1], fill: colour(ink) + "38" })),
        hooks: { setCursor: [tell], drawClear: [(u) => shade(u, spec.shades ?? []), (u) => stated(u, spec, shown, "area")], draw: [(u) => stated(u, spec, shown, "squares"), (u) => mark(u, spec.marks ?? [])] },
      }, [join.xs, ...join.columns], plot);
      figure.dispatchEvent(new Event("drawn"));
    }

    function nearest(u) {
      const { left, top, idx } = u.cursor;
      if (idx === null || idx === undefined || left < 0) return null;
      let best = null, distance = Infinity;
      for (let step = 0; step < 400; step++) for (const row of step ? [idx - step, idx + step] : [idx]) {
        if (row < 0 || row >= join.xs.length) continue;
        const across = u.valToPos(join.xs[row], "x") - left;
        if (Math.abs(across) > 60) continue;
        for (let at = join.starts[row]; at < join.starts[row + 1]; at++) {
          const s = join.places[at][1];
          if (!shown[s]) continue;
          const away = Math.hypot(across, u.valToPos(join.columns[s][row], "y") - top);
          if (away < distance) { distance = away; best = at; }
        }
      }
      return best;
    }
    function tell(u) {
      const at = nearest(u);
      if (at === null) { said.textContent = options.idle ?? ""; return; }
      const [, s, i] = join.places[at], x = spec.series[s].x[i];
      said.textContent = options.said ? options.said(s, i) : `${spec.series[s].name ? `${spec.series[s].name}: ` : ""}${spec.y.short ?? spec.y.label} ${valueText(spec.y, spec.series[s].y[i])} at ${spec.x.short ?? spec.x.label} ${valueText(spec.x, x)}`;
    }

    plot.tabIndex = 0;
    let focus = -1;
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1, PageDown: 20, PageUp: -20 }[event.key];
      if (!step || !drawn) return;
      event.preventDefault();
      let at = focus;
      do { at += step; } while (at >= 0 && at < join.places.length && !shown[join.places[at][1]]);
      focus = Math.max(0, Math.min(join.places.length - 1, at));
      const [x, s, , row] = join.places[focus];
      drawn.setCursor({ left: drawn.valToPos(x, "x"), top: drawn.valToPos(join.columns[s][row], "y") });
    });
    plot.addEventListener("click", () => {
      const at = drawn && nearest(drawn);
      if (at !== null && options.clicked) options.clicked(join.places[at][1], join.places[at][2]);
    });

    const tools = figure.querySelector(".tools");
    for (const which of ["y", "x"]) {
      if (!tools || spec[which].ticks || spec[which].nines || spec[which].linear) continue;
      const button = make("button", { type: "button", "aria-pressed": String(logs[which]) }, `Log ${which === "y" ? "upwards" : "across"}`);
      button.addEventListener("click", () => { logs[which] = !logs[which]; button.setAttribute("aria-pressed", String(logs[which])); draw(); });
      tools.append(button);
    }
    if (tools) {
      const reset = make("button", { type: "button" }, "Reset zoom");
      reset.addEventListener("click", draw);
      const copier = make("button", { type: "button" }, "Copy CSV");
      copier.addEventListener("click", () => ffslab.copy(copier, csvOf(spec)));
      tools.append(reset, copier);
    }
    const legend = figure.querySelector(".legend");
    if (legend && !options.quiet) legend.replaceChildren(...(spec.series.length > 1 ? statedFirst(spec.series).map((s) => {
      const one = spec.series[s];
      const button = make("button", { type: "button", "aria-pressed": "true" }, sample(spec, one), one.name);
      button.addEventListener("click", () => {
        shown[s] = !shown[s];
        button.setAttribute("aria-pressed", String(shown[s]));
        if (spec.stacked) again(); else drawn?.setSeries(s + 1, { show: shown[s] });
      });
      return make("li", {}, button);
    }) : []));
    const size = new ResizeObserver(() => { if (drawn && drawn.width !== plot.clientWidth) draw(); });
    size.observe(plot);
    const again = () => { if (drawn) draw(); };
    ffslab.drawers.push(again);
    addEventListener("beforeprint", () => { if (!drawn) draw(); });
    // Only what comes near the screen is drawn.
    const near = new IntersectionObserver((entries) => { if (entries.some((one) => one.isIntersecting)) { near.disconnect(); if (!drawn) draw(); } }, { rootMargin: "300px" });
    near.observe(plot);
    const stop = () => { near.disconnect(); size.disconnect(); drawn?.destroy(); ffslab.drawers.splice(ffslab.drawers.indexOf(again), 1); };
    return { draw: again, stop, u: () => drawn };
  }
  ffslab.chart = chart;

  const COLOURS = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];
  for (const figure of document.querySelectorAll("figure[data-chart]")) {
    const spec = data(figure.dataset.chart);
    spec.series.forEach((one, i) => { one.x = floats(one.x); one.y = floats(one.y); for (const end of ["low", "high", "to"]) if (one[end]) one[end] = floats(one[end]); one.colour ??= COLOURS[i % 8]; });
    figure.chart = chart(figure, spec);
  }

  // ---- any two figures of the variants ----
  for (const figure of document.querySelectorAll("figure[data-explorer]")) {
    const of = data(figure.dataset.explorer), tools = figure.querySelector(".tools");
    const columns = [...of.axes.map((one) => ({ ...one, isAxis: true })), ...of.figures];
    const choose = (label, names, first) => {
      const select = make("select", {}, ...names.map((name) => make("option", { value: name }, name)));
      select.value = first;
      tools.append(make("label", {}, label, select));
      return select;
    };
    const x = choose("Across", columns.map((one) => one.label), of.across), y = choose("Upwards", of.figures.map((one) => one.label), of.upwards);
    const by = choose("Colour", ["none", ...of.axes.map((one) => one.label)], of.colour ?? "none");
    const spec = { x: {}, y: {}, series: [] };
    let groups = [];
    const place = (one) => {
      if (one.isAxis && !one.values.every((value) => typeof value === "number")) {
        const ticks = [...new Set(one.values.map(String))];
        return [{ label: one.label, ticks }, one.values.map((value) => ticks.indexOf(String(value)))];
      }
      const values = one.values.map((value) => value === null ? NaN : value), kept = values.filter((value) => value > 0);
      return [{ label: one.label, log: kept.length === values.length && Math.max(...kept) > 20 * Math.min(...kept) }, values];
    };
    const fill = () => {
      const [xAxis, xs] = place(columns.find((one) => one.label === x.value)), [yAxis, ys] = place(of.figures.find((one) => one.label === y.value));
      const axis = of.axes.find((one) => one.label === by.value), keys = axis ? axis.values.map(String) : of.names.map(() => "");
      const names = [...new Set(keys)];
      groups = names.slice(0, 8).map((name, i) => ({ name, at: keys.flatMap((key, at) => key === name || (i === 7 && names.indexOf(key) > 7) ? [at] : []) }));
      if (names.length > 8) groups[7].name = "all others";
      const pinned = (ffslab.pinned ?? []).map((name) => of.names.indexOf(name)).filter((at) => at >= 0);
      Object.assign(spec, { x: xAxis, y: yAxis });
      spec.series = groups.map((group, i) => ({ name: axis ? `${axis.label} ${group.name}` : "", colour: COLOURS[i], kind: "dots", size: of.names.length > 300 ? 6 : 9, faint: true, x: group.at.map((at) => xs[at]), y: group.at.map((at) => ys[at]) }));
      if (pinned.length) { groups.push({ name: "pinned", at: pinned }); spec.series.push({ name: "pinned", colour: "ink", kind: "marks", wide: 0, size: 14, x: pinned.map((at) => xs[at]), y: pinned.map((at) => ys[at]) }); }
    };
    let made = null;
    const build = () => {
      fill();
      for (const button of tools.querySelectorAll("button")) button.remove();
      const fresh = make("div", { class: "plot", role: "group", "aria-label": `Chart: ${y.value} over ${x.value}` });
      figure.querySelector(".plot").replaceWith(fresh);
      const said = (s, i) => { const at = groups[s].at[i]; return `${of.names[at]}: ${y.value} ${number(spec.series[s].y[i])}, ${x.value} ${spec.x.ticks ? spec.x.ticks[spec.series[s].x[i]] : number(spec.series[s].x[i])}`; };
      made?.stop();
      made = chart(figure, spec, { said, idle: "Each dot is a row of the table below; a click pins it there.", clicked: (s, i) => ffslab.pin?.(of.names[groups[s].at[i]]) });
    };
    for (const select of [x, y, by]) select.addEventListener("change", build);
    build();
    let before = 0;
    ffslab.drawers.push(() => { const count = (ffslab.pinned ?? []).length; if (count !== before) { before = count; fill(); made.draw(); } });
  }
}
