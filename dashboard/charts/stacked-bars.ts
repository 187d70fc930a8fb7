import { scaleBand, scaleLinear } from "d3-scale";
import { stack } from "d3-shape";
import { html } from "ghtml";
import { asset } from "../assets.ts";
import type { Bucket } from "./buckets.ts";
import type { Series } from "./series.ts";

export interface StackedBars {
  /** What it shows, and where the same numbers stand as a table. */
  title: string;
  buckets: readonly Bucket[];
  /** From the bottom up; each has the colour of its place. */
  series: readonly Series[];
  /** The one that is drawn; undefined: all. */
  only?: string | undefined;
  /** In tooltips. */
  showValue: (value: number) => string;
  /** On the axis. */
  showTick: (value: number) => string;
}

/** Drawn twice, for text keeps its size: CSS shows what fits. */
const SIZES = {
  wide: { width: 960, height: 280, labelWidth: 64 },
  small: { width: 360, height: 240, labelWidth: 60 },
} as const;
type Size = (typeof SIZES)[keyof typeof SIZES];

const EDGE = { top: 12, right: 8, bottom: 28 } as const;
const TICKS = 4;
/** Of the axis' font, about. */
const DIGIT_WIDTH = 7;

/** Bars of series as an SVG with a tooltip. Numbers here are for its geometry: what is exact stands in the table. */
export function stackedBars(chart: StackedBars): string {
  return html`<div class="chart" data-chart>
      !${draw(chart, SIZES.wide, "wide")} !${draw(chart, SIZES.small, "small")}
      <p class="tooltip" role="status" hidden></p>
    </div>
    <script type="module" src="${asset("chart.js")}"></script>`;
}

function draw({ title, buckets, series, only, showValue, showTick }: StackedBars, size: Size, name: string): string {
  const drawn = series
    .map(({ name: own, values }, place) => ({ name: own, values, place }))
    .filter(({ name: own }) => only === undefined || own === only);
  const layers = stack<number, number>()
    .keys(drawn.keys())
    .value((column, layer) => drawn[layer]?.values[column] ?? 0)(buckets.keys());
  const highest = Math.max(0, ...layers.flatMap((layer) => layer.map(([, top]) => top)));
  const y = scaleLinear()
    .domain([0, highest === 0 ? 1 : highest])
    .nice(TICKS)
    .range([size.height - EDGE.bottom, EDGE.top]);
  const ticks = y.ticks(TICKS);
  const left = 12 + DIGIT_WIDTH * Math.max(...ticks.map((value) => showTick(value).length));
  const x = scaleBand<number>()
    .domain(buckets.keys())
    .range([left, size.width - EDGE.right])
    .padding(0.2);

  const lines = ticks.map(
    (value) =>
      html`<line class="grid-line" x1="${left}" x2="${size.width - EDGE.right}" y1="${round(y(value))}" y2="${round(y(value))}" />
        <text class="end" x="${left - 8}" y="${round(y(value) + 4)}">${showTick(value)}</text>`,
  );
  const step = Math.ceil((buckets.length * size.labelWidth) / (size.width - left));
  const columns = buckets.map((bucket, column) => {
    const middle = round((x(column) ?? 0) + x.bandwidth() / 2);
    const label =
      column % step === 0 ? html`<text class="middle" x="${middle}" y="${size.height - 8}">${bucket.label}</text>` : "";
    const bars = layers.map((layer, index) => {
      const [bottom, top] = layer[column] ?? [0, 0];
      if (top === bottom) return "";
      return html`<rect
        class="${colour(drawn[index]?.place ?? 0)}"
        x="${round(x(column) ?? 0)}"
        y="${round(y(top))}"
        width="${round(x.bandwidth())}"
        height="${round(y(bottom) - y(top))}"
      />`;
    });
    const words = tooltip(
      bucket,
      drawn.map((each) => ({ name: each.name, value: each.values[column] ?? 0 })),
      showValue,
    );
    return html`<g class="column">
      <title>${words}</title>
      <rect class="reach" x="${round(middle - x.step() / 2)}" y="0" width="${round(x.step())}" height="${size.height}" />
      !${bars.join("")}!${label}
    </g>`;
  });
  return html`<svg class="${name}" viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label="${title}">
    !${lines.join("")}!${columns.join("")}
  </svg>`;
}

/** Lines: the bucket, what is in it, and the sum of several. */
function tooltip(
  { name }: Bucket,
  parts: readonly { name: string; value: number }[],
  showValue: (value: number) => string,
): string {
  const filled = parts.filter(({ value }) => value > 0);
  const sum = filled.reduce((total, { value }) => total + value, 0);
  const lines = filled.map((part) => `${part.name}: ${showValue(part.value)}`);
  return [name, ...lines, ...(filled.length === 1 ? [] : [`Total: ${showValue(sum)}`])].join("\n");
}

/**
 * The names of a chart's colours, each a link to the chart of that series alone.
 * @param linkOf address of the page with one series; null: with all.
 */
export function legend(names: readonly string[], only: string | undefined, linkOf: (name: string | null) => string): string {
  const items = names.map((name, place) => {
    const isOnly = name === only;
    return html`<li class="${only === undefined || isOnly ? "" : "off"}">
      <a href="${linkOf(isOnly ? null : name)}" !${isOnly ? 'aria-current="true"' : ""}
        ><span class="swatch ${colour(place)}"></span>${name}</a
      >
    </li>`;
  });
  const all = only === undefined ? "" : html`<li><a href="${linkOf(null)}">Show all</a></li>`;
  return html`<ul class="legend" aria-label="Series">
    !${items.join("")}!${all}
  </ul>`;
}

function colour(place: number): string {
  return `series-${place}`;
}

function round(pixels: number): number {
  return Math.round(pixels * 100) / 100;
}
