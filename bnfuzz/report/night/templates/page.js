"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const byId = (id) => document.getElementById(id);

  // The list of findings.
  const form = byId("filters");
  const rows = [...document.querySelectorAll(".finding")];
  const words = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const filter = () => {
    const asked = new FormData(form);
    const text = asked.get("text").trim().toLowerCase();
    let shown = 0;
    for (const row of rows) {
      const fits = ["backend", "kind", "standing"].every((name) => !asked.get(name) || row.dataset[name] === asked.get(name));
      row.hidden = !(fits && words.get(row).includes(text));
      shown += !row.hidden;
    }
    byId("shown").textContent = `${shown} of ${rows.length}`;
  };
  if (form) {
    form.addEventListener("input", filter);
    form.addEventListener("submit", (event) => event.preventDefault());
  }
  const openTarget = () => {
    const target = location.hash && byId(decodeURIComponent(location.hash.slice(1)));
    if (target && target.tagName === "DETAILS") {
      target.hidden = false;
      target.open = true;
      target.scrollIntoView();
    }
  };
  addEventListener("hashchange", openTarget);

  // The plots. Their colours are those of the page, light or dark.
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const kinds = { ok: "circle", unstable: "diamond", wrong: "square", nonfinite: "x", range: "triangle-up", uncertain: "circle-open" };
  const toned = (kind) => colour(kind in kinds && kind !== "uncertain" ? kind : kind === "uncertain" ? "quiet" : "other");
  const axis = (more) => ({
    gridcolor: colour("line"), linecolor: colour("line"), zeroline: false, tickfont: { color: colour("quiet"), size: 11 },
    automargin: true, fixedrange: true, ...more,
  });
  const base = (more) => ({
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { family: getComputedStyle(document.body).fontFamily, color: colour("ink"), size: 12 },
    margin: { l: 44, r: 8, t: 6, b: 34 }, showlegend: false, hovermode: "closest",
    hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font: { color: colour("ink"), size: 12 }, align: "left" }, ...more,
  });
  const options = { displayModeBar: false, responsive: true };

  const panel = (place) => {
    const chosen = byId("plot-backend").value;
    const dots = data.dots.filter((dot) => dot.output === place && (chosen === "" || dot.backend === Number(chosen)));
    const traces = data.kinds.map((kind, number) => {
      const own = dots.filter((dot) => dot.kind === number);
      return {
        type: "scatter", mode: "markers", name: kind, x: own.map((dot) => dot.x), y: own.map((dot) => dot.y), text: own.map((dot) => dot.text),
        hovertemplate: "%{text}<extra></extra>",
        marker: { size: kind === "ok" ? 5 : 7, opacity: kind === "ok" ? 0.6 : 0.85, color: toned(kind), symbol: kinds[kind] || "circle" },
      };
    });
    const power = { type: "log", exponentformat: "power", dtick: data.decades.step, nticks: 6 };
    return [traces, base({
      xaxis: axis({ ...power, range: data.decades.x, title: { text: "κ", standoff: 4, font: { size: 12 } } }),
      yaxis: axis({ ...power, dtick: data.decades.ystep, range: data.decades.y }),
      shapes: [{ type: "line", xref: "paper", x0: 0, x1: 1, y0: 1, y1: 1, line: { color: colour("news"), width: 1, dash: "dot" } }],
    })];
  };
  const series = (values, more) => ({ x: data.trend.night, y: values, hovertext: data.trend.text, hovertemplate: "%{hovertext}: %{y:,}<extra></extra>", ...more });
  const bars = (values, name) => series(values, { type: "bar", marker: { color: colour(name) } });
  const line = (values, name) => series(values, { type: "scatter", mode: "lines+markers", line: { color: colour(name), width: 2 }, marker: { size: 5 } });
  // Counts up to a handful have ticks at whole numbers only.
  const whole = (traces) => (Math.max(...traces.flatMap((one) => one.y)) <= 5 ? { dtick: 1 } : {});
  const trend = (traces) => [traces, base({
    barmode: "group", bargap: 0.35,
    xaxis: axis({ tickmode: "array", tickvals: data.trend.ticks, range: data.trend.range, tickformat: "d", title: { text: "night", standoff: 4, font: { size: 12 } } }), yaxis: axis({ rangemode: "tozero", nticks: 5, ...whole(traces) }),
  })];
  const draw = () => {
    if (typeof Plotly === "undefined") return;
    for (const place of data.outputs.keys()) Plotly.react(byId(`panel-${place}`), ...panel(place), options);
    Plotly.react(byId("trend-judged"), ...trend([bars(data.trend.judged, "ok")]), options);
    Plotly.react(byId("trend-findings"), ...trend([bars(data.trend.new, "wrong"), bars(data.trend.gone, "other"), line(data.trend.open, "ok")]), options);
    Plotly.react(byId("trend-rate"), ...trend([line(data.trend.rate, "ok")]), options);
  };
  byId("plot-backend").addEventListener("change", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
  openTarget();
})();
