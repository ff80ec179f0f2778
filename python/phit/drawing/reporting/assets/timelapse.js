// Congestion over time: a slider through the frames, and play.
{
  const { el, number, network, colour } = phit;
  const start = (root, data) => {
    const [map, slider, time, play] = [".map", ".slider", ".time", ".play"].map((name) => root.querySelector(name));
    const pace = matchMedia("(prefers-reduced-motion: reduce)").matches ? 600 : 160;
    let point = data.points.at(-1);
    let drawn = null;
    let timer = null;
    let pen = null;
    let shown = new Map();

    const lay = () => {
      const of = point.of ??= { router: network.unpacked(point.router, "u4"), port: network.unpacked(point.port, "u2"), shade: network.unpacked(point.shade, "u1"), from: point.counts.reduce((sums, count) => [...sums, sums.at(-1) + count], [0]) };
      const routers = of.router.reduce((most, router) => Math.max(most, router + 1), 1);
      const layout = point.layout ?? { blocks: [["routers", 0, routers, Math.ceil(Math.sqrt(routers))]], flow: "below", places: [] };
      drawn = network.placed(layout, Math.max(2, point.ports), Math.max(240, map.clientWidth));
      const holder = el("div", { class: "holder" });
      const steps = Array.from({ length: data.levels }, (_, i) => i).filter((i) => i % 2);
      map.replaceChildren(holder, network.legend("phits in a port, up to", steps.map((i) => number(Math.ceil(point.capacity / 2 ** (data.levels - 1 - i))))));
      let board;
      [board, pen] = network.canvas(holder, drawn.width, drawn.height);
      network.hover(board, (x, y) => {
        const found = network.at(drawn, x, y);
        if (!found) return null;
        const shade = shown.get(found[0] * 65536 + found[1]);
        const level = shade & 15;
        const phits = level ? `up to ${number(Math.ceil(point.capacity / 2 ** (data.levels - level)))} phits` : "empty";
        return [network.port(point, found[0], found[1]), phits, ...(shade & 16 ? ["holds a line of a congestion tree"] : [])];
      });
      slider.max = point.cycles.length - 1;
      slider.value = Math.min(slider.value, slider.max);
      show();
    };

    const show = () => {
      const frame = Number(slider.value);
      const { of } = point;
      pen.clearRect(0, 0, drawn.width, drawn.height);
      network.background(pen, drawn, () => true);
      shown = new Map();
      for (let i = of.from[frame]; i < of.from[frame + 1]; i++) {
        const cell = network.cellOf(drawn, of.router[i], of.port[i]);
        if (!cell) continue;
        shown.set(of.router[i] * 65536 + of.port[i], of.shade[i]);
        const level = of.shade[i] & 15;
        if (level) { pen.fillStyle = network.shade(level / data.levels); pen.fillRect(...cell); }
        if (of.shade[i] & 16) { pen.strokeStyle = colour("accent"); pen.lineWidth = 1.5; pen.strokeRect(cell[0] + 0.5, cell[1] + 0.5, cell[2] - 1, cell[3] - 1); }
      }
      time.textContent = `cycle ${number(point.cycles[frame])} · ${number(point.totals[frame])} phits in ${number(point.counts[frame])} ports`;
    };

    const stop = () => { clearInterval(timer); timer = null; play.textContent = "▶ play"; };
    play.addEventListener("click", () => {
      if (timer) { stop(); return; }
      play.textContent = "❚❚ pause";
      if (Number(slider.value) >= Number(slider.max)) slider.value = 0;
      timer = setInterval(() => {
        if (Number(slider.value) >= Number(slider.max)) { stop(); return; }
        slider.value = Number(slider.value) + 1;
        show();
      }, pace);
    });
    slider.addEventListener("input", () => { stop(); show(); });
    const pick = root.querySelector(".pick");
    if (pick) {
      pick.value = data.points.indexOf(point);
      pick.addEventListener("change", () => { stop(); point = data.points[Number(pick.value)]; lay(); });
    }
    // It begins where most is in the network.
    slider.max = point.cycles.length - 1;
    slider.value = point.totals.indexOf(Math.max(...point.totals));
    document.addEventListener("recoloured", lay);
    let width = innerWidth;
    addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; lay(); } });
    lay();
  };
  phit.sections.timelapse = { start };
}
