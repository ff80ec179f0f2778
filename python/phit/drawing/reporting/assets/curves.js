// Curves: the legend picks curves in all panels, a click on a point opens it.
{
  const views = [];
  let chosen = [];
  const show = (view, names) => view.signal("chosen", chosen.length ? chosen.map((i) => names[i]) : null).runAsync();
  phit.sections.curves = {
    start(root, data) {
      for (const button of root.querySelectorAll(".legend button")) {
        button.addEventListener("click", () => {
          const which = Number(button.dataset.series);
          chosen = chosen.includes(which) ? chosen.filter((i) => i !== which) : [...chosen, which];
          button.setAttribute("aria-pressed", chosen.includes(which));
          for (const view of views) show(view, data.names);
        });
      }
    },
    chart(view, root, data) {
      views.push(view);
      if (chosen.length) show(view, data.names);
      view.addEventListener("click", (event, item) => {
        if (item?.datum?.points) phit.open(item.datum.points.split(" ").map(Number));
      });
    },
  };
}
