// What every page can do: themes, contents, tables (sort, filter, pin, compare, copy), unfolding for print.
"use strict";
const ffslab = (window.ffslab = { drawers: [], redraw() { for (const draw of ffslab.drawers) draw(); } });
{
  const root = document.documentElement;
  const make = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name in made && typeof value !== "string") made[name] = value; else made.setAttribute(name, value);
    }
    made.append(...children);
    return made;
  };
  const data = (id) => JSON.parse(document.getElementById(`data-${id}`).textContent);
  const colour = (name) => getComputedStyle(root).getPropertyValue(name.startsWith("--") ? name : `--${name}`).trim();
  const number = (value, digits) => {
    if (value === null || value === undefined || Number.isNaN(value)) return "-";
    if (digits === undefined) {
      const size = Math.abs(value);
      digits = Number.isInteger(value) || size >= 1000 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : size ? Math.min(9, 2 - Math.floor(Math.log10(size))) : 0;
    }
    return value.toLocaleString("en-US", { minimumFractionDigits: 0, maximumFractionDigits: digits });
  };
  // Numbers as they come from Python: 32-bit floats, little-endian, in base64.
  const floats = (text) => {
    const raw = atob(text), bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return new Float32Array(bytes.buffer);
  };
  Object.assign(ffslab, { make, data, colour, number, floats });

  // ---- theme ----
  const theme = document.getElementById("theme"), dark = matchMedia("(prefers-color-scheme: dark)");
  const isDark = () => root.dataset.theme ? root.dataset.theme === "dark" : dark.matches;
  const say = () => { theme.textContent = isDark() ? "Light" : "Dark"; theme.setAttribute("aria-label", `Use ${isDark() ? "light" : "dark"} colours`); };
  try { const kept = localStorage.getItem("ffslab-theme"); if (kept) root.dataset.theme = kept; } catch { /* a file may have no storage */ }
  say();
  theme.hidden = false;
  theme.addEventListener("click", () => {
    root.dataset.theme = isDark() ? "light" : "dark";
    try { localStorage.setItem("ffslab-theme", root.dataset.theme); } catch { /* as above */ }
    say();
    ffslab.redraw();
  });
  dark.addEventListener("change", () => { say(); ffslab.redraw(); });

  // ---- contents ----
  const links = new Map([...document.querySelectorAll(".contents a")].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) {
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id)?.setAttribute("aria-current", "true");
    }
  }, { rootMargin: "-15% 0px -75% 0px" });
  for (const part of document.querySelectorAll("section[id]")) seen.observe(part);
  // Paper has light colours, which canvases were not drawn in.
  matchMedia("print").addEventListener("change", () => ffslab.redraw());
  addEventListener("beforeprint", () => { for (const one of document.querySelectorAll("details")) one.open = true; });

  // ---- tables ----
  const UNITS = { B: 1, KiB: 1024, MiB: 1048576, GiB: 1073741824, ns: 1e-3, us: 1, ms: 1e3, s: 1e6, min: 6e7, h: 3.6e9 };
  const valueOf = (text) => {
    const found = /^([<>]?\s*)([-+]?[\d,]*\.?\d+(?:e[-+]?\d+)?)\s*([A-Za-z%]*)/.exec(text);
    return found ? Number(found[2].replaceAll(",", "")) * (UNITS[found[3]] ?? 1) : null;
  };
  const text = (cell) => Array.from((cell.querySelector("button") ?? cell).childNodes, (part) => part.textContent.trim()).filter(Boolean).join(" ");
  const csv = (cells) => cells.map((cell) => /[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell).join(",");

  async function copy(button, words) {
    try { await navigator.clipboard.writeText(words); } catch {
      // Files opened from a disk have no clipboard of their own.
      const place = make("textarea", { "aria-hidden": "true" });
      place.value = words;
      document.body.append(place);
      place.select();
      document.execCommand("copy");
      place.remove();
      button.focus();
    }
    const before = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = before; }, 1500);
  }
  Object.assign(ffslab, { copy, csv });

  // "jffs2 mean<300": words that a row holds, and limits on the column whose name has that word.
  function matcher(query, heads) {
    const tests = query.trim().toLowerCase().split(/\s+/).filter(Boolean).map((word) => {
      const found = /^(.+?)(<=|>=|<|>)(.+)$/.exec(word);
      const column = found ? heads.findIndex((head) => head.toLowerCase().replace(/[^a-z0-9]+/g, "").includes(found[1].replace(/[^a-z0-9]+/g, ""))) : -1;
      if (column < 0) return (row) => row.words.includes(word);
      const limit = valueOf(found[3]);
      return (row) => {
        const value = valueOf(row.texts[column]);
        return value !== null && (found[2][0] === "<" ? value < limit : value > limit) || (found[2].length === 2 && value === limit);
      };
    });
    return (row) => tests.every((test) => test(row));
  }

  function equip(frame) {
    const table = frame.querySelector("table"), body = table.tBodies[0], rows = [...body.rows];
    if (rows.length < 2) return;
    const heads = [...table.tHead.rows[0].cells];
    const of = frame.dataset.variants ? data(frame.dataset.variants) : null;
    const names = heads.map(text);
    const known = rows.map((row, at) => {
      const texts = [...row.cells].map((cell) => cell.textContent.trim());
      return { row, at, texts, words: texts.join(" ").toLowerCase(), pinned: false };
    });
    const tools = make("div", { class: "tools" });
    const count = make("span", { class: "count", role: "status" });
    // As wide as the table, so that what stands at its end does.
    const holder = make("div", { class: frame.classList.contains("long") ? "holder long" : "holder" });
    frame.replaceWith(holder);
    holder.append(tools, frame);
    let shown = known, sorted = null;

    const place = () => {
      const order = [...known];
      if (sorted) {
        const { column, down } = sorted, numeric = known.filter((one) => valueOf(one.texts[column]) !== null).length * 2 > known.length;
        const key = (one) => numeric ? valueOf(one.texts[column]) : one.texts[column];
        order.sort((a, b) => {
          const [x, y] = [key(a), key(b)];
          if (x === y) return a.at - b.at;
          if (x === null || y === null) return x === null ? 1 : -1;
          return (x < y ? -1 : 1) * (down ? -1 : 1);
        });
      }
      order.sort((a, b) => b.pinned - a.pinned);
      body.append(...order.map((one) => one.row));
    };
    const tell = () => {
      const pinned = known.filter((one) => one.pinned).length;
      const parts = known.length > 7 ? [shown.length === known.length ? `${number(known.length)} rows` : `${number(shown.length)} of ${number(known.length)} rows`] : [];
      if (of && pinned) parts.push(`${pinned} pinned`);
      count.textContent = parts.join(", ");
    };
    heads.forEach((head, column) => {
      // What has no name yet needs none.
      const words = [...head.childNodes], button = make("button", { type: "button" });
      if (!text(head)) return;
      head.setAttribute("aria-sort", "none");
      button.append(...words);
      head.append(button);
      button.addEventListener("click", () => {
        const down = sorted?.column === column && !sorted.down;
        sorted = { column, down };
        for (const one of heads) if (one.hasAttribute("aria-sort")) one.setAttribute("aria-sort", "none");
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        place();
      });
    });
    if (known.length > 7) {
      const label = of ? "Filter: words, or limits such as erases<20" : "Filter";
      const filter = make("input", { type: "search", placeholder: label, "aria-label": label });
      filter.addEventListener("input", () => {
        const matches = matcher(filter.value, names);
        shown = known.filter((one) => { one.row.hidden = !one.pinned && !matches(one); return !one.row.hidden; });
        tell();
      });
      tools.append(filter);
    }
    tools.append(count);
    if (of) pins(frame, table, known, of, tools, () => { place(); tell(); });
    const copier = make("button", { type: "button" }, "Copy CSV");
    copier.addEventListener("click", () => {
      const lines = [...body.rows].filter((row) => !row.hidden).map((row) => csv([...row.cells].filter((cell) => !cell.classList.contains("pin")).map(text)));
      copy(copier, [csv(names), ...lines].join("\n") + "\n");
    });
    tools.append(copier);
    tell();
  }

  function pins(frame, table, known, of, tools, changed) {
    const head = make("th", { class: "pin" }, make("span", { title: "Pinned rows stay on top; of pinned ones the first two are compared" }, "Pin"));
    table.tHead.rows[0].prepend(head);
    const compare = make("div", { class: "compare", "aria-live": "polite" });
    frame.after(compare);
    const bring = (names) => { for (const one of known) if (names.includes(of.names[one.at]) && !one.pinned) one.box.click(); };
    ffslab.pin = (name) => bring([name]);
    for (const one of known) {
      one.box = make("input", { type: "checkbox", "aria-label": `Pin ${of.names[one.at]}` });
      one.box.addEventListener("change", () => {
        one.pinned = one.box.checked;
        one.row.classList.toggle("pinned", one.pinned);
        changed();
        one.box.focus({ preventScroll: true });
        show();
        ffslab.pinned = known.filter((other) => other.pinned).map((other) => of.names[other.at]);
        ffslab.redraw();
      });
      one.row.prepend(make("td", { class: "pin" }, one.box));
    }
    const clear = make("button", { type: "button" }, "Unpin all");
    clear.addEventListener("click", () => { for (const one of known) if (one.pinned) one.box.click(); });
    const extremes = make("button", { type: "button" }, "Compare best and worst");
    extremes.addEventListener("click", () => { for (const one of known) if (one.pinned) one.box.click(); bring(of.extremes); });
    tools.append(...(of.extremes.length === 2 ? [extremes] : []), clear);

    function show() {
      const [a, b] = known.filter((one) => one.pinned).map((one) => one.at);
      compare.replaceChildren();
      if (b === undefined) return;
      const rows = of.figures.filter((one) => one.values[a] !== null || one.values[b] !== null).map((one) => {
        const [x, y] = [one.values[a], one.values[b]];
        const change = x && y !== null ? (y / x - 1) * 100 : null;
        const said = change === null ? (x === y ? "same" : "") : Math.abs(change) < 0.05 ? "same" : `${change > 0 ? "+" : ""}${number(change, 1)} %`;
        const kind = said.includes("%") && one.better ? ((change < 0) === (one.better === "less") ? "better" : "worse") : "";
        return make("tr", {}, make("td", {}, one.label), make("td", {}, number(x, one.digits)), make("td", {}, number(y, one.digits)), make("td", { class: kind }, said));
      });
      const heads = ["", of.names[a], of.names[b], "change"].map((name) => make("th", {}, name));
      const made = make("table", {}, make("thead", {}, make("tr", {}, ...heads)), make("tbody", {}, ...rows));
      const holder = make("div", { class: "table", tabindex: "0", role: "group", "aria-label": "Comparison" }, made);
      compare.append(make("h3", {}, "The first two that are pinned"), holder);
    }
  }
  for (const frame of document.querySelectorAll("main .table")) equip(frame);
}
