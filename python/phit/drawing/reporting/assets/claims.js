// Claims: those of some verdicts alone.
phit.sections.claims = {
  start(root) {
    const chosen = new Set();
    for (const button of root.querySelectorAll("button[data-verdict]")) {
      button.addEventListener("click", () => {
        const { verdict } = button.dataset;
        if (!chosen.delete(verdict)) chosen.add(verdict);
        button.setAttribute("aria-pressed", chosen.has(verdict));
        for (const row of root.querySelectorAll("tr[data-verdict]")) row.hidden = chosen.size > 0 && !chosen.has(row.dataset.verdict);
      });
    }
  },
};
