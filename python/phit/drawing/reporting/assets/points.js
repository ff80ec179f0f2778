// The table of points: sorted by a click on a heading, filtered by words and comparisons; a point opens in a window.
{
  const { el, number } = phit;
  const data = phit.page.points.data;
  const { columns, rows } = data;
  const dialog = document.getElementById("detail");

  // Words must all stand in a line; "load > 0.3" compares a column whose name begins so.
  const OPERATORS = { ">": (a, b) => a > b, "<": (a, b) => a < b, ">=": (a, b) => a >= b, "<=": (a, b) => a <= b, "=": (a, b) => a === b, "!=": (a, b) => a !== b };
  const parsed = (text) => {
    const tests = [];
    const rest = text.replace(/([^\s<>=!]+)\s*(>=|<=|!=|>|<|=)\s*([^\s<>=!]+)/g, (all, name, operator, value) => {
      const at = columns.findIndex((column) => column.name.toLowerCase().startsWith(name.toLowerCase()));
      if (at < 0) return all;
      const wanted = columns[at].numeric ? Number(value.replace(",", ".")) : value.toLowerCase();
      if (Number.isNaN(wanted)) return all;
      tests.push((row) => row[at] !== null && OPERATORS[operator](columns[at].numeric ? row[at] : number(row[at]).toLowerCase(), wanted));
      return " ";
    });
    const words = rest.toLowerCase().split(/\s+/).filter(Boolean);
    if (words.length) tests.push((row) => { const said = row.map(number).join(" ").toLowerCase(); return words.every((word) => said.includes(word)); });
    return (row) => tests.every((test) => test(row));
  };

  const compared = (a, b) => (a === b ? 0 : a === null ? 1 : b === null ? -1 : a < b ? -1 : 1);

  const tree = (root) => {
    const table = root.querySelector("#table");
    const body = el("tbody");
    const heads = columns.map((column, i) => el("th", { class: column.numeric ? "number" : null, scope: "col", "aria-sort": "none" },
      el("button", { type: "button", onclick: () => sort(i) }, el("span", { class: "name" }, column.name), el("span", { class: "unit" }, column.unit || "\u00a0"))));
    table.append(el("thead", {}, el("tr", {}, ...heads)), body);
    const lines = rows.map((row, at) => el("tr", { class: "open", tabindex: 0, "data-at": at,
      onclick: () => phit.open([at]), onkeydown: (event) => { if (event.key === "Enter") phit.open([at]); } },
      ...row.map((cell, i) => el("td", { class: columns[i].numeric ? "number" : null }, number(cell)))));
    let order = rows.map((_, at) => at);
    let sorted = null;
    const sort = (column) => {
      const down = sorted?.column === column && !sorted.down;
      sorted = { column, down };
      order.sort((a, b) => {
        const [x, y] = [rows[a][column], rows[b][column]];
        return x === null || y === null ? compared(x, y) : (down ? -1 : 1) * compared(x, y) || a - b;
      });
      heads.forEach((head, i) => head.setAttribute("aria-sort", i === column ? (down ? "descending" : "ascending") : "none"));
      show();
    };
    const input = root.querySelector("#filter");
    const show = () => {
      const fits = parsed(input?.value ?? "");
      const kept = order.filter((at) => fits(rows[at]));
      body.replaceChildren(...(kept.length ? kept.map((at) => lines[at]) : [el("tr", {}, el("td", { colspan: columns.length, class: "empty" }, "No point fits this filter."))]));
      const told = root.querySelector("#filtered");
      if (told) told.textContent = kept.length === rows.length ? `${number(rows.length)} points` : `${number(kept.length)} of ${number(rows.length)} points`;
    };
    input?.addEventListener("input", show);
    show();
  };

  const pairs = (entries) => el("dl", { class: "pairs" }, ...entries.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, ...[value].flat()))));

  const scenario = (at) => {
    const own = data.differences[at];
    const sections = structuredClone(data.common);
    for (const [key, value] of Object.entries(own)) {
      const [section, ...rest] = key.split(".");
      if (rest.length) (sections[section] ??= {})[rest.join(".")] = value;
      else sections[section] = value;
    }
    const shown = (value) => (typeof value === "string" ? JSON.stringify(value) : String(value));
    const pre = el("pre", {});
    const line = (key, path, value) => el("span", { class: path in own ? "changed" : null }, `${key} = ${shown(value)}\n`);
    const flat = Object.entries(sections).filter(([, value]) => typeof value !== "object");
    pre.append(...flat.map(([key, value]) => line(key, key, value)));
    for (const [section, keys] of Object.entries(sections)) {
      if (typeof keys !== "object" || keys === null) continue;
      pre.append(`${pre.childNodes.length ? "\n" : ""}[${section}]\n`, ...Object.entries(keys).filter(([, value]) => value !== null).map(([key, value]) => line(key, `${section}.${key}`, value)));
    }
    return pre;
  };

  const distribution = ({ first, width, packets, total }) => ({
    data: { values: packets.map((count, i) => ({ from: first + i * width, to: first + (i + 1) * width, share: count / total, packets: count })) },
    width: "container", height: 170,
    mark: { type: "bar", color: "#0072B2", tooltip: true, binSpacing: width > 1 ? 1 : 0 },
    encoding: {
      x: { field: "from", type: "quantitative", bin: { binned: true, step: width }, title: "Packet latency (cycles)", axis: { tickCount: 8 } },
      x2: { field: "to" },
      y: { field: "share", type: "quantitative", title: "Share of packets", axis: { format: "~%", tickCount: 4 } },
      tooltip: [{ field: "from", title: "from (cycles)" }, { field: "to", title: "below" }, { field: "share", title: "share", format: ".2%" }, { field: "packets", title: "packets" }],
    },
  });

  // Opens points in the window: those of one place of a curve are its seeds.
  phit.open = (which) => {
    const at = which[0];
    const others = which.length > 1 ? el("select", { "aria-label": "Point", onchange: (event) => show(Number(event.target.value)) },
      ...which.map((i) => el("option", { value: i }, data.names[i]))) : null;
    const title = el("h2", { id: "detail-title", tabindex: -1, autofocus: true });
    const body = el("div", { class: "body" });
    const show = (i) => {
      title.textContent = data.names[i];
      const { names, values } = data.details;
      const measured = names.map(([name, unit], k) => [name, values[i]?.[k], unit]).filter(([, value]) => value !== null && value !== undefined);
      body.replaceChildren(pairs(measured.map(([name, value, unit]) => [name, [number(value), unit ? el("span", { class: "unit" }, ` ${unit}`) : null]])));
      const own = Object.entries(data.differences[i] ?? {});
      const place = el("div", { class: "chart" });
      body.append(el("h3", {}, "Distribution of packet latency"));
      const bins = data.distributions[i];
      body.append(bins ? place : el("p", { class: "note" }, "Not recorded: measure.histogram = true asks for it."));
      if (bins) phit.draw(place, distribution(bins));
      body.append(el("h3", {}, "Scenario"));
      if (own.length) body.append(el("p", { class: "note" }, "Coloured: what differs from other points."));
      body.append(scenario(i), el("p", { class: "note" }, `Point ${data.hashes[i]}`));
    };
    dialog.replaceChildren(el("div", { class: "head" }, title, others, el("button", { class: "close", type: "button", "aria-label": "Close", onclick: () => dialog.close() }, "×")), body);
    if (!dialog.open) dialog.showModal();
    show(at);
    dialog.scrollTop = 0;
  };
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-open]");
    if (button) phit.open([Number(button.dataset.open)]);
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });

  phit.sections.points = { start: (root) => tree(root) };
}
