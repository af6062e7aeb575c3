// Named states: their marks, the legend, and what each is taken for.

// Hatches by number, told apart without colours: lines in four directions, dots, a grid.
const HATCHED = [null, [["M0,8L8,0"], 1.6], [["M4,3.2v1.6"], 2], [["M0,0L8,8", "M0,8L8,0"], 1.1], [["M0,0L8,8"], 1.6], [["M4,0v8", "M0,4h8"], 1.1]];

function statePatterns() {
  return DATA.states.filter((state) => state.hatch).map((state) => {
    const pattern = svg("pattern", { id: `state-${DATA.states.indexOf(state)}`, width: 8, height: 8, patternUnits: "userSpaceOnUse" },
      svg("rect", { width: 8, height: 8, fill: state.color }));
    const [paths, width] = HATCHED[state.hatch];
    for (const d of paths) pattern.append(svg("path", { d, stroke: state.ink, "stroke-width": width, fill: "none", opacity: 0.75 }));
    return pattern;
  });
}

function stateFill(number) {
  return DATA.states[number].hatch ? `url(#state-${number})` : DATA.states[number].color;
}

function drawLegend() {
  byId("legend").append(...DATA.states.filter((state) => state.name !== null).map((state) => {
    const key = svg("svg", { width: 16, height: 12, "aria-hidden": "true" }, svg("rect", { width: 16, height: 12, fill: stateFill(DATA.states.indexOf(state)) }));
    return make("li", {}, key, state.learned ? state.name : `${state.name} (not learned)`);
  }));
}

// Rows are true states; a cell is shaded by its share of the row.
function drawConfusion() {
  const found = Object.keys(DATA.confusion);
  if (!found.length) return;
  byId("states").hidden = false;
  const choice = make("select", { id: "confusion-of" }, ...found.map((name) => make("option", { value: name }, MARKS[name] || name)));
  choice.addEventListener("change", () => showConfusion(choice.value));
  if (found.length > 1) byId("confusion-tools").append(make("label", {}, "Found by ", choice));
  const right = (name) => name === "learned" ? 2 : DATA.means[name].accuracy || 0;
  choice.value = found.reduce((best, name) => right(name) > right(best) ? name : best);
  showConfusion(choice.value);
}

function showConfusion(metric) {
  const { states, counts } = DATA.confusion[metric], above = shortened(states, 14), beside = shortened(states, 18);
  const head = make("tr", {}, make("th", { scope: "col" }, `true ${DATA.named}`), make("th", { scope: "col" }, DATA.items),
    ...states.map((name, i) => make("th", { scope: "col", title: name }, above[i])));
  const rows = states.map((name, i) => {
    const total = counts[i].reduce((sum, n) => sum + n, 0);
    return make("tr", {}, make("th", { scope: "row", title: name }, beside[i]), make("td", {}, String(total)),
      ...counts[i].map((n, j) => {
        const share = total ? n / total : 0, shade = `color-mix(in srgb, var(--${i === j ? "yes" : "no"}) ${Math.round(45 * share)}%, transparent)`;
        return make("td", { class: i === j ? "right" : null, style: `background:${shade}`, title: `${name}, named ${states[j]}: ${n}` },
          n ? (share >= 0.005 ? `${Math.round(100 * share)} %` : "< 1 %") : "·");
      }));
  });
  byId("confusion-table").replaceChildren(make("table", {}, make("thead", {}, head), make("tbody", {}, ...rows)));
  const { accuracy } = DATA.means[metric];
  byId("confusion").textContent = `What ${DATA.named}s are taken for`;
  byId("confusion-words").textContent = `Share of the ${DATA.items} of a true ${DATA.named} (row) that got each name (column). `
    + `Accuracy over all of them: ${fixed(accuracy, 3)}.`;
}
