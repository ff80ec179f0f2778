// The network on a canvas: routers where the layout has them, each with its ports; and groups against groups.
phit.network = (() => {
  const { el, colour } = phit;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const KINDS = { u1: Uint8Array, u2: Uint16Array, u4: Uint32Array, i4: Int32Array };
  const unpacked = (text, kind) => {
    const raw = atob(text);
    const bytes = new Uint8Array(raw.length);
    for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
    return new KINDS[kind](bytes.buffer);
  };

  // From little to much; on a dark page from dark to bright.
  const RAMP = ["#fdf6d8", "#fbd977", "#f9a63f", "#ea6a38", "#c23a4e", "#82246a", "#3d155e"].map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  const DARK = ["#242a31", "#43265f", "#82246a", "#c23a4e", "#ea6a38", "#f9a63f", "#fff3b8"].map((hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)));
  const shade = (share) => {
    const ramp = dark.matches ? DARK : RAMP;
    const at = Math.min(1, Math.max(0, share)) * (ramp.length - 1);
    const i = Math.min(ramp.length - 2, Math.floor(at));
    const mixed = ramp[i].map((c, k) => Math.round(c + (at - i) * (ramp[i + 1][k] - c)));
    return `rgb(${mixed.join(",")})`;
  };
  const legend = (words, labels) => el("div", { class: "ramp" }, el("span", {}, words),
    el("i", { style: `background:linear-gradient(90deg,${Array.from({ length: 13 }, (_, i) => shade(i / 12)).join(",")})` }),
    el("span", { class: "ticks" }, ...labels.map((label) => el("span", {}, label))));

  // A canvas of a size in pixels of the page, sharp on every screen.
  const canvas = (place, width, height) => {
    const ratio = Math.min(2, devicePixelRatio || 1);
    const made = el("canvas", { width: Math.ceil(width * ratio), height: Math.ceil(height * ratio), style: `width:${width}px;height:${height}px` });
    const pen = made.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = `11px ${getComputedStyle(document.body).fontFamily}`;
    place.replaceChildren(made);
    return [made, pen];
  };

  const tip = el("div", { class: "tip", role: "status" });
  document.body.append(tip);
  const hover = (target, said) => {
    const show = (event) => {
      const box = target.getBoundingClientRect();
      const words = said(event.clientX - box.left, event.clientY - box.top);
      tip.style.display = words ? "block" : "none";
      if (!words) return;
      tip.replaceChildren(...words.map((line, i) => el(i ? "div" : "strong", {}, line)));
      const [w, h] = [tip.offsetWidth, tip.offsetHeight];
      tip.style.left = `${Math.max(6, Math.min(innerWidth - w - 6, event.clientX + 14))}px`;
      tip.style.top = `${event.clientY + 18 + h > innerHeight ? event.clientY - h - 12 : event.clientY + 18}px`;
    };
    target.addEventListener("pointermove", show);
    target.addEventListener("pointerdown", show);
    target.addEventListener("pointerleave", () => { tip.style.display = "none"; });
  };

  const GAP = 14, LABEL = 16;
  // Boxes that stand over one another move apart, a little at a time, and stay within the picture.
  const apart = (boxes, width, height) => {
    const all = [...boxes.values()];
    for (let turn = 0; turn < 80; turn++) {
      let moved = false;
      for (let i = 0; i < all.length; i++) {
        for (let k = 0; k < i; k++) {
          const [a, b] = [all[i], all[k]];
          const over = [0, 1].map((d) => Math.min(a[d] + a[d + 2], b[d] + b[d + 2]) - Math.max(a[d], b[d]) + 3);
          if (over[0] <= 0 || over[1] <= 0) continue;
          const d = over[0] < over[1] ? 0 : 1;
          const sign = a[d] < b[d] ? -1 : 1;
          a[d] += (sign * over[d]) / 2;
          b[d] -= (sign * over[d]) / 2;
          moved = true;
        }
      }
      for (const box of all) [width, height].forEach((most, d) => { box[d] = Math.max(1, Math.min(most - box[d + 2] - 1, box[d])); });
      if (!moved) break;
    }
  };
  // Where every router's box stands in a width; `ports` is how many cells a router has.
  const placed = (layout, ports, width) => {
    const boxes = new Map();
    const labels = [];
    const outlines = [];
    if (layout.places.length && ports > 1) {
      const [side, high] = [Math.min(width, 1000), Math.min(width, 1000) * 0.6];
      const across = Math.ceil(ports / 2);
      // Boxes take a quarter of the picture at most, so that it still shows the graph.
      const size = (c) => [across * c + 2, 2 * c + 2];
      let cell = 13;
      while (cell > 3 && layout.places.length * size(cell)[0] * size(cell)[1] > 0.25 * side * high) cell -= 1;
      const [bw, bh] = size(cell);
      layout.places.forEach(([x, y], router) => boxes.set(router, [x * (side - bw), y * (high - bh), bw, bh]));
      apart(boxes, side, high);
      return { boxes, labels, outlines, height: high, width: side, cell, across };
    }
    if (layout.places.length) {
      const side = Math.max(320, Math.min(width, 760));
      const size = Math.max(5, Math.min(16, side / Math.sqrt(layout.places.length) / 2.4));
      layout.places.forEach(([x, y], router) => boxes.set(router, [size + x * (side - 3 * size), size + y * (side * 0.72 - 3 * size), size, size]));
      return { boxes, labels, outlines, height: side * 0.72, width: side, cell: 0, across: 1 };
    }
    const across = Math.max(1, Math.ceil(ports / 2));
    const rowsOf = ports > 1 ? 2 : 1;
    const widest = Math.max(...layout.blocks.map(([, , count, columns]) => Math.min(count, columns)));
    // As large as a block fits, within reason; then a block is broken or the page scrolls.
    let cell = 13;
    const wide = (columns, c) => columns * (across * c + 4) + 4;
    while (cell > 3 && wide(widest, cell) > width) cell -= 1;
    const total = layout.blocks.reduce((sum, [, , count]) => sum + count, 0);
    while (cell > 2 && total * across * rowsOf * cell * cell > 420 * width) cell -= 1;
    const [bw, bh] = [across * cell + 4, rowsOf * cell + 4];
    let [x, y, line] = [0, 0, 0];
    const order = layout.flow === "beside" ? layout.blocks : [...layout.blocks].reverse();
    for (const [label, first, count, columns] of order) {
      const fits = Math.max(1, Math.floor((width - 4) / bw));
      const per = layout.flow === "below" && columns > fits ? Math.ceil(count / Math.ceil(count / fits)) : Math.min(count, columns);
      const [w, h] = [Math.max(per * bw + 4, label ? 7 * label.length : 0), Math.ceil(count / per) * bh + 4];
      if (x && (layout.flow === "below" || x + w > width)) { x = 0; y += line + GAP; line = 0; }
      if (label) labels.push([label, x + 1, y + 11]);
      const top = y + (label ? LABEL : 0);
      outlines.push([x, top, per * bw + 4, h]);
      for (let i = 0; i < count; i++) boxes.set(first + i, [x + 3 + (i % per) * bw, top + 3 + Math.floor(i / per) * bh, bw - 2, bh - 2]);
      line = Math.max(line, h + (label ? LABEL : 0));
      x += w + GAP;
    }
    const right = Math.max(...outlines.map(([left, , w]) => left + w));
    return { boxes, labels, outlines, height: y + line + 2, width: Math.max(right + 1, 60), cell, across };
  };
  // The first half of the ports below, the others above, as in printed time-lapses.
  const cellOf = (map, router, port) => {
    const box = map.boxes.get(router);
    if (!box) return null;
    const above = Math.floor(port / map.across);
    return [box[0] + 1 + (port % map.across) * map.cell, box[1] + 1 + (above ? 0 : map.cell), map.cell - 1, map.cell - 1];
  };
  const background = (pen, map, known) => {
    pen.strokeStyle = colour("line");
    pen.lineWidth = 1;
    for (const [x, y, w, h] of map.outlines) pen.strokeRect(x + 0.5, y + 0.5, w - 1, h - 1);
    pen.fillStyle = colour("soft");
    for (const [label, x, y] of map.labels) pen.fillText(label, x, y);
    pen.fillStyle = colour("faint");
    for (const [router, [x, y, w, h]] of map.boxes) if (known(router)) pen.fillRect(x, y, w, h);
  };
  const at = (map, x, y) => {
    for (const [router, [left, top, w, h]] of map.boxes) {
      if (x < left || y < top || x >= left + w || y >= top + h) continue;
      if (!map.cell) return [router, null];
      const column = Math.min(map.across - 1, Math.max(0, Math.floor((x - left - 1) / map.cell)));
      return [router, column + (y < top + 1 + map.cell ? map.across : 0)];
    }
    return null;
  };
  // Routers and ports in words: by the names of their network, or by their numbers.
  const router = (net, number) => `router ${net.names.routers[number] ?? number}`;
  const port = (net, at, number) => `${net.names.routers[at] ?? `router ${at}`} port ${net.names.ports[`${at}.${number}`] ?? number}`;
  return { unpacked, shade, legend, canvas, hover, placed, cellOf, background, at, router, port };
})();
