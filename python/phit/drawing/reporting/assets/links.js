// Links: the network by its layout, groups against groups, the busiest links, sums by class.
{
  const { el, number, network, colour } = phit;
  const percent = (share) => `${(100 * share).toFixed(share < 0.1 ? 1 : 0)} %`;
  const TOP = 12;

  const unpack = (net) => {
    if (!net.of) net.of = { router: network.unpacked(net.router, "u4"), port: network.unpacked(net.port, "u2"), class: network.unpacked(net.class, "u1"), to: network.unpacked(net.to, "i4") };
    return net.of;
  };

  // A link in words: the router and port that send over it, and what is at its far end.
  const named = (net, of, i) => {
    if (!net.endOf && net.ends.length) {
      net.endOf = new Map();
      for (let j = 0; j < net.count; j++) if (of.to[j] < 0) net.endOf.set(j, net.ends[net.endOf.size]);
    }
    const end = net.endOf?.get(i);
    const far = of.to[i] >= 0 ? network.router(net, of.to[i]) : end ? `endpoint ${end}` : "endpoint";
    return `${network.port(net, of.router[i], of.port[i])} → ${far}`;
  };

  const start = (root, data) => {
    const map = root.querySelector(".map");
    const says = root.querySelector(".says");
    const what = root.querySelector(".what");
    let point = data.points.at(-1);
    let view = null;
    let measure = "mean";
    let pair = null;
    let use = null;
    const choices = (place, entries, current, choose) => place.replaceChildren(...entries.map(([key, words]) =>
      el("button", { type: "button", class: "chip", "aria-pressed": String(key === current), onclick: () => choose(key) }, words)));

    const show = () => {
      const net = data.networks[point.network];
      const of = unpack(net);
      use = network.unpacked(point.use, "u1");
      const share = (i) => use[i] / data.finest;
      const layout = net.layout;
      const views = layout ? [...(layout.groups ? [["groups", "groups × groups"]] : []), ["routers", layout.places.length ? "graph" : "routers and ports"]] : [];
      if (!views.some(([key]) => key === view)) { view = views[0]?.[0] ?? null; pair = null; }
      choices(root.querySelector(".views"), views.length > 1 ? views : [], view, (key) => { view = key; pair = null; show(); });
      choices(root.querySelector(".measures"), view === "groups" && !pair ? [["mean", "mean"], ["max", "busiest"]] : [], measure, (key) => { measure = key; show(); });
      if (view === "groups") matrix(net, of, share, layout);
      else if (view === "routers") routers(net, of, share, layout);
      else { what.textContent = ""; map.replaceChildren(el("p", { class: "empty" }, "This network cannot be laid out.")); says.textContent = ""; }
      tables(net, of, share);
    };

    // Cells of a square, each the mean or the busiest of some links.
    const square = (side, cells, names, title, note, click) => {
      const room = Math.max(200, map.clientWidth - 60);
      const cell = Math.max(3, Math.min(34, Math.floor(room / side)));
      what.textContent = title;
      const holder = el("div", { class: "holder" });
      map.replaceChildren(holder, network.legend("link utilisation", ["0", "25 %", "50 %", "75 %", "100 %"]));
      const left = 46;
      const [board, pen] = network.canvas(holder, left + side * cell + 2, side * cell + 22);
      for (let y = 0; y < side; y++) {
        for (let x = 0; x < side; x++) {
          const found = cells.get(y * side + x);
          pen.fillStyle = found ? network.shade(measure === "max" ? found.max : found.sum / found.count) : colour("faint");
          if (found || x !== y) pen.fillRect(left + x * cell, y * cell, cell - (cell > 5 ? 1 : 0), cell - (cell > 5 ? 1 : 0));
        }
      }
      pen.fillStyle = colour("soft");
      const every = Math.ceil(30 / cell);
      for (let i = 0; i < side; i += every) {
        pen.textAlign = "right";
        pen.fillText(names(i), left - 6, i * cell + Math.min(cell, 12));
        pen.textAlign = "left";
        pen.fillText(names(i), left + i * cell, side * cell + 14);
      }
      const where = (x, y) => {
        const [i, j] = [Math.floor((x - left) / cell), Math.floor(y / cell)];
        return i >= 0 && i < side && j >= 0 && j < side ? [j, i] : null;
      };
      network.hover(board, (x, y) => {
        const found = where(x, y);
        if (!found) return null;
        const cellOf = cells.get(found[0] * side + found[1]);
        const head = `from ${names(found[0])} to ${names(found[1])}`;
        return cellOf ? [head, `${number(cellOf.count)} links`, `mean ${percent(cellOf.sum / cellOf.count)}`, `busiest ${percent(cellOf.max)}`] : [head, "no link"];
      });
      if (click) { board.style.cursor = "pointer"; board.addEventListener("click", (event) => {
        const box = board.getBoundingClientRect();
        const found = where(event.clientX - box.left, event.clientY - box.top);
        if (found) click(found);
      }); }
      says.textContent = note;
    };
    const add = (cells, key, value) => {
      const cell = cells.get(key) ?? { sum: 0, max: 0, count: 0 };
      cell.sum += value;
      cell.max = Math.max(cell.max, value);
      cell.count += 1;
      cells.set(key, cell);
    };
    const matrix = (net, of, share, layout) => {
      const size = layout.blocks[0][2];
      const cells = new Map();
      if (!pair) {
        const side = layout.blocks.length;
        for (let i = 0; i < net.count; i++) if (of.to[i] >= 0) add(cells, Math.floor(of.router[i] / size) * side + Math.floor(of.to[i] / size), share(i));
        square(side, cells, (i) => `g${i}`, "Links from group (row) to group (column)", "The diagonal is within groups. A click shows the routers of a cell.", (found) => { pair = found; show(); });
        return;
      }
      const routers = [...new Set(pair)].flatMap((group) => Array.from({ length: size }, (_, i) => group * size + i));
      const index = new Map(routers.map((router, i) => [router, i]));
      for (let i = 0; i < net.count; i++) {
        if (of.to[i] >= 0 && index.has(of.router[i]) && index.has(of.to[i])) add(cells, index.get(of.router[i]) * routers.length + index.get(of.to[i]), share(i));
      }
      const [a, b] = pair;
      square(routers.length, cells, (i) => net.names.routers[routers[i]] ?? `r${routers[i]}`, a === b ? `Inside group ${a}: from router (row) to router (column)` : `Groups ${a} and ${b}: from router (row) to router (column)`, "", null);
      says.replaceChildren(el("button", { type: "button", class: "chip", onclick: () => { pair = null; show(); } }, "← all groups"));
    };

    const routers = (net, of, share, layout) => {
      let ports = 0;
      for (let i = 0; i < net.count; i++) ports = Math.max(ports, of.port[i] + 1);
      const drawn = network.placed(layout, ports, Math.max(240, map.clientWidth));
      const holder = el("div", { class: "holder" });
      what.textContent = drawn.cell ? "Links by router and port" : "Links of the graph";
      map.replaceChildren(holder, network.legend("link utilisation", ["0", "25 %", "50 %", "75 %", "100 %"]));
      const [board, pen] = network.canvas(holder, drawn.width, drawn.height);
      const first = new Map();
      for (let i = 0; i < net.count; i++) first.set(of.router[i] * 65536 + of.port[i], i);
      const name = (i) => named(net, of, i);
      if (drawn.cell) {
        network.background(pen, drawn, () => true);
        for (let i = 0; i < net.count; i++) {
          const cell = network.cellOf(drawn, of.router[i], of.port[i]);
          if (!cell) continue;
          pen.fillStyle = network.shade(share(i));
          pen.fillRect(...cell);
        }
        network.hover(board, (x, y) => {
          const found = network.at(drawn, x, y);
          if (!found) return null;
          const i = first.get(found[0] * 65536 + found[1]);
          return i === undefined ? [network.router(net, found[0])] : [name(i), net.classes[of.class[i]], percent(share(i))];
        });
        says.textContent = "Each box is a router, each cell an output port, the first half of them in the lower row.";
        return;
      }
      const middle = (router) => { const [x, y, w, h] = drawn.boxes.get(router); return [x + w / 2, y + h / 2]; };
      const order = Array.from({ length: net.count }, (_, i) => i).filter((i) => of.to[i] >= 0).sort((a, b) => use[a] - use[b]);
      const most = new Map();
      for (const i of order) {
        const [[x0, y0], [x1, y1]] = [middle(of.router[i]), middle(of.to[i])];
        const length = Math.hypot(x1 - x0, y1 - y0) || 1;
        // The two directions of a link stand side by side.
        const [dx, dy] = [((y1 - y0) / length) * 1.5, (-(x1 - x0) / length) * 1.5];
        pen.strokeStyle = network.shade(share(i));
        pen.lineWidth = 1 + 2 * share(i);
        pen.beginPath();
        pen.moveTo(x0 + dx, y0 + dy);
        pen.lineTo(x1 + dx, y1 + dy);
        pen.stroke();
        most.set(of.router[i], i);
      }
      pen.fillStyle = colour("ink");
      for (const [x, y, w, h] of drawn.boxes.values()) { pen.beginPath(); pen.arc(x + w / 2, y + h / 2, w / 2.6, 0, 7); pen.fill(); }
      network.hover(board, (x, y) => {
        const found = network.at(drawn, x, y);
        if (!found) return null;
        const i = most.get(found[0]);
        return [network.router(net, found[0]), ...(i === undefined ? [] : [`busiest link: ${name(i)}`, percent(share(i))])];
      });
      says.textContent = "Routers that are linked stand close together; each line is a direction of a link, as thick as it is used.";
    };

    const tables = (net, of, share) => {
      const order = Array.from({ length: net.count }, (_, i) => i).sort((a, b) => use[b] - use[a]).slice(0, TOP);
      root.querySelector(".top").replaceChildren(
        el("thead", {}, el("tr", {}, ...["link", "class"].map((name) => el("th", { scope: "col" }, name)), el("th", { scope: "col", class: "number" }, "utilisation"))),
        el("tbody", {}, ...order.map((i) => el("tr", {}, el("td", {}, named(net, of, i)), el("td", {}, net.classes[of.class[i]]), el("td", { class: "number" }, percent(share(i)))))));
      const sums = net.classes.map(() => ({ sum: 0, max: 0, count: 0, busy: 0 }));
      for (let i = 0; i < net.count; i++) {
        const own = sums[of.class[i]];
        own.sum += share(i);
        own.max = Math.max(own.max, share(i));
        own.count += 1;
        own.busy += share(i) >= 0.9;
      }
      root.querySelector(".classes").replaceChildren(
        el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "class"), ...["links", "mean", "busiest", "at 90 % or more"].map((name) => el("th", { scope: "col", class: "number" }, name)), el("th", { "aria-label": "mean, as a bar" }))),
        el("tbody", {}, ...net.classes.map((name, k) => el("tr", {}, el("td", {}, name), ...[number(sums[k].count), percent(sums[k].sum / sums[k].count), percent(sums[k].max), number(sums[k].busy)].map((cell) => el("td", { class: "number" }, cell)),
          el("td", { class: "gauge" }, el("i", { style: `width:${(100 * Math.min(1, sums[k].sum / sums[k].count)).toFixed(1)}%` }))))));
    };

    const pick = root.querySelector(".pick");
    if (pick) {
      pick.value = data.points.indexOf(point);
      pick.addEventListener("change", () => { point = data.points[Number(pick.value)]; show(); });
    }
    document.addEventListener("recoloured", show);
    let width = innerWidth;
    addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; show(); } });
    show();
  };
  phit.sections.links = { start };
}
