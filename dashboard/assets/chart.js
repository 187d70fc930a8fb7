// Explains a chart's columns to mouse, touch and arrow keys. Without scripts, the title does.
for (const chart of document.querySelectorAll("[data-chart]")) {
  const tooltip = chart.querySelector(".tooltip");
  for (const svg of chart.querySelectorAll("svg")) {
    const columns = [...svg.querySelectorAll(".column")];
    const texts = columns.map((column) => {
      const title = column.querySelector("title");
      title.remove();
      return title.textContent.trim();
    });
    let current = columns.length - 1;

    const hide = () => {
      tooltip.hidden = true;
      for (const column of columns) column.classList.remove("current");
    };
    const show = (index) => {
      hide();
      current = Math.min(Math.max(index, 0), columns.length - 1);
      const column = columns[current];
      if (column === undefined) return;
      column.classList.add("current");
      tooltip.textContent = texts[current];
      tooltip.hidden = false;
      const frame = chart.getBoundingClientRect();
      const { left, width } = column.querySelector(".reach").getBoundingClientRect();
      const middle = left + width / 2 - frame.left;
      const most = frame.width - tooltip.offsetWidth;
      tooltip.style.left = `${Math.max(0, Math.min(middle - tooltip.offsetWidth / 2, most))}px`;
    };

    svg.tabIndex = 0;
    const point = ({ target }) => {
      const index = columns.indexOf(target.closest(".column"));
      if (index >= 0) show(index);
    };
    svg.addEventListener("pointermove", point);
    svg.addEventListener("pointerdown", point);
    svg.addEventListener("pointerleave", ({ pointerType }) => {
      if (pointerType === "mouse") hide();
    });
    svg.addEventListener("focus", () => show(current));
    svg.addEventListener("blur", hide);
    svg.addEventListener("keydown", (event) => {
      const moves = { ArrowLeft: current - 1, ArrowRight: current + 1, Home: 0, End: columns.length - 1 };
      if (event.key === "Escape") hide();
      if (!(event.key in moves)) return;
      event.preventDefault();
      show(moves[event.key]);
    });
  }
}
