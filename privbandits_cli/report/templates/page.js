"use strict";
(() => {
  const plots = [...document.querySelectorAll(".plot")];
  const buttons = [...document.querySelectorAll(".legend button")];

  // The saved picture is the whole figure: the page itself shows the title and the legend outside of Plotly.
  const save = {
    name: "save", title: "Save as PNG", icon: Plotly.Icons.camera,
    click: (plot) => Plotly.downloadImage(
      { data: plot.data, layout: { ...plot.layout, ...plot.whole } },
      { format: "png", width: 800, height: plot.layout.height + 200, scale: 2, filename: plot.ariaLabel },
    ),
  };
  for (const plot of plots) {
    const { data, layout } = JSON.parse(plot.nextElementSibling.textContent);
    plot.whole = { title: layout.title, showlegend: true, margin: {} };
    const shown = {
      title: {}, showlegend: false, margin: { l: 8, r: 12, t: 24, b: 8 },
      dragmode: matchMedia("(pointer: coarse)").matches ? false : "zoom",
    };
    plot.replaceChildren();
    Plotly.newPlot(plot, data, { ...layout, ...shown }, {
      responsive: true, displaylogo: false, modeBarButtons: [[save, "zoomIn2d", "zoomOut2d", "resetScale2d"]],
    });
  }

  // Tables that are wider than the window say so.
  const watch = new ResizeObserver((found) => {
    for (const { target: table } of found) {
      const box = table.parentElement;
      box.classList.toggle("wide", table.offsetWidth > box.clientWidth + 1);
    }
  });
  for (const table of document.querySelectorAll(".scroll > table")) watch.observe(table);

  // A button shows and hides its curve in all figures.
  for (const button of buttons) {
    button.addEventListener("click", () => {
      const { curve } = button.dataset;
      const visible = button.getAttribute("aria-pressed") !== "true";
      for (const other of buttons) if (other.dataset.curve === curve) other.setAttribute("aria-pressed", String(visible));
      for (const plot of plots) {
        const traces = plot.data.flatMap((trace, i) => trace.legendgroup === curve ? [i] : []);
        if (traces.length) Plotly.restyle(plot, { visible }, traces);
      }
    });
  }
})();
