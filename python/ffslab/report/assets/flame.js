// Flame graphs, the root on top: weights, search, zoom, and the difference of two variants.
"use strict";
{
  const { make, data, number } = ffslab;
  // Narrower frames than this share of the graph are not drawn; their sum is said.
  const NARROW = 0.0008, ROW_REM = 1.6;
  // In narrower ones no name can be read.
  const NAMED_PX = 26;
  const INKS = ["s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7"];

  for (const figure of document.querySelectorAll("figure[data-flame]")) {
    const of = data(figure.dataset.flame), tools = figure.querySelector(".tools"), frames = figure.querySelector(".frames");
    const said = figure.querySelector(".said"), keys = figure.querySelector(".keys");
    const select = (label, names, first = 0) => {
      const made = make("select", {}, ...names.map((name, i) => make("option", { value: String(i) }, name)));
      made.value = String(first);
      tools.append(make("label", {}, label, made));
      made.addEventListener("change", () => { zoomed = []; draw(); });
      return made;
    };
    let zoomed = [];
    const weight = select("Width", of.weights.map((one) => `${one.name}, ${one.unit}`));
    const variant = of.variants.length > 1 ? select("Variant", of.variants, of.against ? 1 : 0) : { value: "0" };
    const against = of.variants.length > 1 ? select("Against", ["nothing", ...of.variants], of.against ? 1 : 0) : { value: "0" };
    const idle = make("input", { type: "checkbox" });
    idle.addEventListener("change", () => { zoomed = []; draw(); });
    const idleLabel = make("label", {}, idle, "Idle time");
    const search = make("input", { type: "search", placeholder: "Search", "aria-label": "Search frames" });
    search.addEventListener("input", () => draw());
    const reset = make("button", { type: "button" }, "Reset zoom");
    reset.addEventListener("click", () => { zoomed = []; draw(); });
    tools.append(idleLabel, search, reset);

    // A tree of frames: what each weighed in the variant (b) and in the one that it is held against (a).
    function tree() {
      const which = Number(weight.value), shown = Number(variant.value), other = Number(against.value) - 1;
      const root = { name: "all", a: 0, b: 0, below: new Map(), path: [] };
      root.idle = 0;
      for (const row of of.rows) {
        const value = row[5 + which];
        if (!value || (row[0] !== shown && row[0] !== other)) continue;
        if (!idle.checked && of.frames[row[4]] === of.idle) { if (row[0] === shown) root.idle += value; continue; }
        let place = root;
        const add = (one) => { if (row[0] === shown) one.b += value; if (row[0] === other) one.a += value; };
        add(root);
        for (const at of row.slice(1, 5)) {
          const name = of.frames[at];
          if (!place.below.has(name)) place.below.set(name, { name, a: 0, b: 0, below: new Map(), path: [...place.path, name], parent: place });
          place = place.below.get(name);
          add(place);
        }
      }
      return root;
    }
    // With a difference a frame is as wide as the mean of both, so that what went away is seen, too.
    const width = (one) => Number(against.value) ? (one.a + one.b) / 2 : one.b;
    // Reasons have colours, those that took most the first ones; what was done for them has the same, paler.
    const sums = new Map();
    for (const row of of.rows) if (of.frames[row[4]] !== of.idle) sums.set(of.frames[row[3]], (sums.get(of.frames[row[3]]) ?? 0) + row[5]);
    const reasons = [...sums.keys()].sort((x, y) => sums.get(y) - sums.get(x));
    const ink = (name) => INKS[Math.min(7, Math.max(0, reasons.indexOf(name)))];
    const unit = () => of.weights[weight.value].unit;
    const share = (part, whole) => `${number(whole ? 100 * part / whole : 0, 1)} %`;
    function about(one, root) {
      const path = one.path.length ? one.path.join(" > ") : "all";
      if (!Number(against.value)) return `${path}: ${number(one.b)} ${unit()}, ${share(one.b, root.b)} of all`;
      const change = one.a ? `${one.b >= one.a ? "+" : ""}${number(100 * (one.b / one.a - 1), 1)} %` : "new";
      return `${path}: ${number(one.a)} ${unit()} became ${number(one.b)} ${unit()} (${one.b ? change : "gone"})`;
    }
    // Orange grew, blue shrank; the stronger, the larger the change is of the larger of both.
    function fill(one) {
      if (!Number(against.value)) return one.path.length < 3 ? `color-mix(in srgb, var(--quiet) ${[8, 18, 12][one.path.length]}%, var(--paper))` : `color-mix(in srgb, var(--${ink(one.path[2])}) ${one.path.length === 3 ? 40 : 26}%, var(--paper))`;
      const change = Math.max(one.a, one.b) ? (one.b - one.a) / Math.max(one.a, one.b) : 0;
      return `color-mix(in srgb, var(--${change > 0 ? "s1" : "s0"}) ${Math.round(45 * Math.abs(change))}%, var(--mark))`;
    }

    let root = null, focused = null;
    const tell = (one) => { said.textContent = about(one, root); };
    function rest() {
      const words = search.value.trim().toLowerCase();
      if (words && root) {
        let found = 0;
        const walk = (one) => { if (one.path.length && one.name.toLowerCase().includes(words)) found += width(one); else for (const below of one.below.values()) walk(below); };
        walk(root);
        said.textContent = `"${search.value.trim()}": ${share(found, width(root))} of all`;
        return;
      }
      const total = Number(against.value) ? `${number(root.a)} ${unit()} became ${number(root.b)} ${unit()}` : `${number(root.b)} ${unit()} in all`;
      said.textContent = width(root) ? `${total}${root.idle ? `; idle, ${number(root.idle)} ${unit()}, is left out` : ""}. Click a frame to zoom.` : `No ${unit()} at all.`;
    }
    function draw() {
      root = tree();
      idleLabel.hidden = !["ms", "mJ"].includes(unit());
      // What was zoomed to, as far as it is there.
      let top = root;
      for (const name of zoomed) { if (!top.below.has(name)) break; top = top.below.get(name); }
      zoomed = top.path;
      reset.disabled = !zoomed.length;
      const made = [], words = search.value.trim().toLowerCase();
      let narrow = 0;
      const box = (one, left, wide, row) => {
        const node = make("button", { type: "button", tabindex: "-1" }, make("span", {}, one.name));
        if (wide * frames.clientWidth < NAMED_PX) node.classList.add("narrow");
        node.style.cssText = `left:${left * 100}%;width:${wide * 100}%;top:${row * ROW_REM}rem;background:${fill(one)}`;
        node.setAttribute("aria-label", about(one, root));
        if (words && one.path.length) node.classList.add(one.name.toLowerCase().includes(words) ? "found" : "faint");
        node.frame = one;
        node.row = row;
        node.addEventListener("pointerenter", () => tell(one));
        node.addEventListener("focus", () => { focused = one.path.join(";"); tell(one); });
        node.addEventListener("click", () => { zoomed = one.path; draw(); frames.querySelector("[tabindex='0']")?.focus({ preventScroll: true }); });
        made.push(node);
      };
      // Those above what is zoomed to are as wide as the graph.
      const above = [];
      for (let one = top; one; one = one.parent) above.unshift(one);
      above.forEach((one, row) => box(one, 0, 1, row));
      let deepest = above.length;
      const below = (one, left, wide, row) => {
        let at = left;
        for (const child of [...one.below.values()].sort((x, y) => width(y) - width(x))) {
          const each = wide * width(child) / width(one);
          if (each < NARROW) { narrow += each; continue; }
          deepest = Math.max(deepest, row + 1);
          box(child, at, each, row);
          below(child, at, each, row + 1);
          at += each;
        }
      };
      if (width(top)) below(top, 0, 1, above.length);
      frames.style.height = `${deepest * ROW_REM}rem`;
      frames.replaceChildren(...made);
      const start = made.find((node) => node.frame.path.join(";") === focused) ?? made[above.length - 1];
      start.tabIndex = 0;
      const dot = (fill_, name) => { const one = make("span", { class: "dot" }); one.style.setProperty("--c", fill_); return make("li", {}, one, name); };
      keys.replaceChildren(...(Number(against.value) ? [dot("var(--s1)", "grew"), dot("var(--s0)", "shrank"), dot("var(--mark)", "as before"), make("li", {}, "as wide as the mean of both")] : []),
        ...(narrow > 0.001 ? [make("li", {}, `frames too narrow to see: ${share(narrow, 1)}`)] : []));
      rest();
    }
    frames.addEventListener("pointerleave", rest);
    frames.addEventListener("keydown", (event) => {
      const here = document.activeElement, nodes = [...frames.children];
      if (event.key === "Escape") { zoomed = zoomed.slice(0, -1); draw(); frames.querySelector("[tabindex='0']").focus(); return; }
      if (!here?.frame) return;
      const same = nodes.filter((node) => node.row === here.row), at = same.indexOf(here);
      const to = { ArrowRight: () => same[at + 1], ArrowLeft: () => same[at - 1], ArrowUp: () => nodes.find((node) => node.frame === here.frame.parent), ArrowDown: () => nodes.find((node) => node.frame.parent === here.frame) }[event.key];
      if (!to) return;
      event.preventDefault();
      const next = to();
      if (!next) return;
      for (const node of nodes) node.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
    figure.flame = { get root() { return root; }, get zoomed() { return zoomed; } };
    draw();
  }
}
