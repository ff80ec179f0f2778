"use strict";
// What the sections share: the data of the page, elements made of texts, numbers for people, charts in the reader's colours.
const phit = (() => {
  const page = JSON.parse(document.getElementById("data").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const sections = {};
  const views = [];

  // An element; children are elements, or texts that mean nothing to the browser.
  const el = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.filter((child) => child !== null && child !== undefined).map((child) => child instanceof Node ? child : String(child)));
    return made;
  };

  const grouped = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
  const number = (value) => {
    if (value === null || value === undefined) return "–";
    if (value === true) return "yes";
    if (value === false) return "no";
    if (typeof value !== "number") return String(value);
    if (Number.isInteger(value) || Math.abs(value) >= 1e4) return grouped.format(value);
    return String(Number(value.toPrecision(4)));
  };

  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  // Charts are described in the colours of a white page.
  const LIGHT = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8C6D31"];
  const recoloured = (value, to) => {
    if (typeof value === "string") return to.get(value) ?? value;
    if (Array.isArray(value)) return value.map((each) => recoloured(each, to));
    if (value && typeof value === "object") return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, k === "datasets" || k === "values" ? v : recoloured(v, to)]));
    return value;
  };
  const look = () => {
    const [ink, soft, line] = ["ink", "soft", "line"].map(colour);
    const font = getComputedStyle(document.body).fontFamily;
    return {
      background: "transparent", font, padding: { left: 2, right: 6, top: 6, bottom: 2 },
      axis: { labelColor: soft, titleColor: soft, gridColor: line, domainColor: soft, tickColor: line, labelFontSize: 11.5, titleFontSize: 12, titleFontWeight: "normal", labelFlush: false, titlePadding: 8 },
      legend: { labelColor: ink, titleColor: soft, labelFontSize: 12, titleFontSize: 12, orient: "bottom", symbolOpacity: 1 },
      title: { color: ink, subtitleColor: soft, fontSize: 13 },
      view: { stroke: line },
    };
  };

  // Draws a chart into an element; what `ready` does with the view is done again when the colours change.
  const draw = async (where, spec, ready = () => {}) => {
    const entry = { where, spec, ready, view: null };
    views.push(entry);
    await redraw(entry);
    return entry;
  };
  const redraw = async (entry) => {
    if (entry.view) entry.view.finalize();
    const to = new Map(LIGHT.map((from, i) => [from, colour(`c${i}`)]));
    const options = {
      mode: "vega-lite", renderer: "svg", config: look(), tooltip: { theme: "custom" },
      actions: { export: true, source: false, compiled: false, editor: false },
    };
    entry.view = await window.vegaEmbed(entry.where, recoloured(entry.spec, to), options);
    entry.ready(entry.view.view);
  };
  dark.addEventListener("change", () => {
    for (const entry of views.splice(0)) if (entry.where.isConnected) { views.push(entry); redraw(entry); }
    document.dispatchEvent(new Event("recoloured"));
  });

  // Copies the text of the element that a button names.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    await navigator.clipboard.writeText(document.getElementById(button.dataset.copy).textContent);
    button.textContent = "copied";
    setTimeout(() => { button.textContent = "copy"; }, 1500);
  });

  const start = async () => {
    for (const [name, { data, charts }] of Object.entries(page)) {
      const root = document.getElementById(name);
      const own = sections[name];
      const drawn = [];
      const ready = own?.chart ?? (() => {});
      if (own?.start) own.start(root, data);
      for (const place of root.querySelectorAll("[data-chart]")) drawn.push(draw(place, charts[place.dataset.chart], (view) => ready(view, root, data)));
      await Promise.all(drawn);
    }
    document.documentElement.dataset.ready = "yes";
  };
  const links = new Map([...document.querySelectorAll("nav.top a")].map((link) => [link.hash.slice(1), link]));
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) links.get(target.id)?.classList.toggle("here", isIntersecting && !links.get(target.id).classList.contains("brand"));
  }, { rootMargin: "-30% 0px -60% 0px" });
  document.querySelectorAll("section.section").forEach((section) => seen.observe(section));

  addEventListener("load", () => start());
  return { page, el, number, colour, draw, sections };
})();
