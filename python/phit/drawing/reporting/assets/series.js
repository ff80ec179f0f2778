// Over time: all points with a legend, or one of many that is picked.
{
  const views = [];
  let chosen = null;
  const show = (view) => view.signal("chosen", chosen).runAsync();
  phit.sections.series = {
    start(root, data) {
      if (data.first !== null) chosen = [data.first];
      root.querySelector(".pick")?.addEventListener("change", (event) => {
        chosen = [Number(event.target.value)];
        views.forEach(show);
      });
      for (const button of root.querySelectorAll(".legend button")) {
        button.addEventListener("click", () => {
          const at = Number(button.dataset.at);
          const others = (chosen ?? []).filter((each) => each !== at);
          const on = others.length === (chosen ?? []).length;
          chosen = on ? [...others, at] : others.length ? others : null;
          button.setAttribute("aria-pressed", on);
          views.forEach(show);
        });
      }
    },
    chart(view) {
      views.push(view);
      if (chosen) show(view);
    },
  };
}
