import { scaleBand, scaleLinear } from "d3-scale";
import { stack } from "d3-shape";
import { html } from "ghtml";

export interface StackedBars {
  /** What it shows, and where the same numbers stand as a table. */
  title: string;
  /** One for each bar: UTC days, `YYYY-MM-DD`, or hours, `HH:MM`. */
  columns: readonly string[];
  /** From the bottom up; each has the colour of its place. */
  series: readonly Series[];
  /** For the axis and for what a bar says when it is pointed at. */
  showValue: (value: number) => string;
}

interface Series {
  name: string;
  /** As many as there are columns. */
  values: readonly number[];
}

const WIDTH = 720;
const HEIGHT = 300;
const EDGE = { top: 16, right: 6, bottom: 40, left: 96 } as const;
const TICKS = 4;
/** Labels under the bars that a phone has room for. */
const MAX_LABELS = 5;
const COLOURS = 6;

/** Bars of series as an SVG. Numbers here are for its geometry: what is exact stands in the table. */
export function stackedBars({ title, columns, series, showValue }: StackedBars): string {
  const stacked = stack<number, number>()
    .keys(series.keys())
    .value((column, place) => series[place]?.values[column] ?? 0)(columns.keys());
  const highest = Math.max(0, ...stacked.flatMap((layer) => layer.map(([, top]) => top)));
  const x = scaleBand<number>()
    .domain(columns.keys())
    .range([EDGE.left, WIDTH - EDGE.right])
    .padding(0.2);
  const y = scaleLinear()
    .domain([0, highest === 0 ? 1 : highest])
    .nice(TICKS)
    .range([HEIGHT - EDGE.bottom, EDGE.top]);

  const lines = y
    .ticks(TICKS)
    .map(
      (value) =>
        html`<line
            class="grid-line"
            x1="${EDGE.left}"
            x2="${WIDTH - EDGE.right}"
            y1="${round(y(value))}"
            y2="${round(y(value))}"
          />
          <text class="end" x="${EDGE.left - 8}" y="${round(y(value) + 4)}">${showValue(value)}</text>`,
    );
  const step = Math.ceil(columns.length / MAX_LABELS);
  const labels = columns.map((name, column) => {
    if (column % step !== 0) return "";
    return html`<text class="middle" x="${round((x(column) ?? 0) + x.bandwidth() / 2)}" y="${HEIGHT - 10}"
      >${name.replace(/^\d{4}-/, "")}</text
    >`;
  });
  const layers = stacked.map((layer, place) => {
    const bars = layer.map(([bottom, top], column) => {
      if (top === bottom) return "";
      return html`<rect
        x="${round(x(column) ?? 0)}"
        y="${round(y(top))}"
        width="${round(x.bandwidth())}"
        height="${round(y(bottom) - y(top))}"
      >
        <title>${columns[column] ?? ""}, ${series[place]?.name ?? ""}: ${showValue(top - bottom)}</title>
      </rect>`;
    });
    return html`<g class="${colour(place)}">!${bars.join("")}</g>`;
  });
  return html`<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}">
    <g class="axis">!${lines.join("")}!${labels.join("")}</g>
    !${layers.join("")}
  </svg>`;
}

/** The names of a chart's colours. */
export function legend(names: readonly string[]): string {
  const items = names.map((name, place) => html`<li><span class="swatch ${colour(place)}"></span>${name}</li>`);
  return html`<ul class="legend">
    !${items.join("")}
  </ul>`;
}

function colour(place: number): string {
  return `series-${place % COLOURS}`;
}

function round(pixels: number): number {
  return Math.round(pixels * 100) / 100;
}
