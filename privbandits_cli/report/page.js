"use strict";
(() => {
  const tip = document.getElementById("tip");
  const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
  const shown = (x) => Math.abs(x) >= 1000 ? whole.format(x) : String(Number(x.toPrecision(4))).replace("-", "−");

  // Curves are switched in all figures at once.
  for (const button of document.querySelectorAll(".legend button")) {
    button.addEventListener("click", () => {
      const on = button.getAttribute("aria-pressed") !== "true";
      const number = button.dataset.curve;
      for (const part of document.querySelectorAll(`[data-curve="${number}"]`)) {
        if (part.matches("button")) part.setAttribute("aria-pressed", String(on));
        else part.classList.toggle("off", !on);
      }
      hide();
    });
  }

  const cell = (text) => Object.assign(document.createElement("td"), { textContent: text });

  function tell(title, rows, event) {
    const table = document.createElement("table");
    for (const [name, value, colour] of rows) {
      const first = cell(name);
      if (colour) {
        const dot = document.createElement("i");
        dot.style.background = colour;
        first.prepend(dot);
      }
      const row = document.createElement("tr");
      row.append(first, cell(value));
      table.append(row);
    }
    tip.replaceChildren(Object.assign(document.createElement("b"), { textContent: title }), table);
    tip.hidden = false;
    const { width, height } = tip.getBoundingClientRect();
    const right = event.clientX + 16 + width > innerWidth;
    tip.style.left = `${Math.max(4, right ? event.clientX - width - 16 : event.clientX + 16)}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 12, innerHeight - height - 4))}px`;
  }

  function hide() {
    tip.hidden = true;
    for (const guide of document.querySelectorAll(".guide")) guide.setAttribute("d", "");
  }

  // Lines: the values of all curves at the point nearest to the pointer's x.
  for (const panel of document.querySelectorAll("svg.panel.lines")) {
    const box = panel.viewBox.baseVal;
    const curves = [...panel.querySelectorAll(".curve")].map((group) => ({ group, points: JSON.parse(group.dataset.points) }));
    panel.addEventListener("pointermove", (event) => {
      const frame = panel.getBoundingClientRect();
      const x = (event.clientX - frame.left) * box.width / frame.width;
      const seen = curves.filter(({ group }) => !group.classList.contains("off"));
      const near = (points, at) => points.reduce((a, b) => Math.abs(b[0] - at) < Math.abs(a[0] - at) ? b : a);
      if (!seen.length) return hide();
      const [at, , value] = near(seen.map(({ points }) => near(points, x)), x);
      const rows = [];
      for (const { group, points } of seen) {
        const level = points.length === 2 && points[0][3] === points[1][3];
        const found = near(points, at);
        if (!level && Math.abs(found[0] - at) > 0.5) continue;
        const [, , , regret, below, above] = found;
        const bars = below || above ? `  −${shown(below)} +${shown(above)}` : "";
        rows.push([regret, [group.dataset.label, shown(regret) + bars, getComputedStyle(group).getPropertyValue("--ink")]]);
      }
      rows.sort((a, b) => b[0] - a[0]);
      panel.querySelector(".guide").setAttribute("d", `M${at} 8V${box.height - 34}`);
      tell(`${panel.dataset.x} ${shown(value)}`, rows.map(([, row]) => row), event);
    });
    panel.addEventListener("pointerleave", hide);
  }

  // Strips: what the box or the interval of a row says.
  for (const field of document.querySelectorAll("[data-told]")) {
    const { title, ...told } = JSON.parse(field.dataset.told);
    const rows = Object.entries(told).map(([name, value]) => [name, [value].flat().map(shown).join("  to  ")]);
    field.addEventListener("pointermove", (event) => tell(title, rows, event));
    field.addEventListener("pointerleave", hide);
  }
  addEventListener("scroll", hide, { passive: true });
})();
