import { scaleBand, scaleLinear } from "d3-scale";
import { html } from "ghtml";
import { asset } from "../assets.ts";
import type { Bucket } from "./buckets.ts";

/** The input of every chart. */
export interface Chart<One extends { name: string }> {
  /** What it shows, and where the same numbers are in a table. */
  title: string;
  buckets: readonly Bucket[];
  series: readonly One[];
  /** Of each series; by its index if absent. */
  colours?: readonly number[] | undefined;
  /** The series that is drawn; undefined: all. */
  only?: string | undefined;
  /** In tooltips. */
  showValue: (value: number) => string;
  /** On the axis, whose highest tick is `highest`; "": no tick there. */
  showTick: (value: number, highest: number) => string;
}

/** The series that are drawn, with their colours. */
export function drawn<One extends { name: string }>({
  series,
  colours,
  only,
}: Pick<Chart<One>, "series" | "colours" | "only">): (One & { colourIndex: number })[] {
  return series
    .map((one, index) => ({ ...one, colourIndex: colours?.[index] ?? index }))
    .filter(({ name }) => only === undefined || name === only);
}

/** Parts of every chart: an axis, a column with a tooltip for each bucket, and the drawing area. */
export interface Frame {
  /** What it shows, and where the same numbers are in a table. */
  title: string;
  buckets: readonly Bucket[];
  /** At the top of the axis, or a little below it. */
  highest: number;
  /** On the axis, whose highest tick is `highest`; "": no tick there. */
  showTick: (value: number, highest: number) => string;
  /** Marks in a column, and the lines of its tooltip; the first line is its name. */
  column(index: number, room: Room): { marks: string; words: string };
  /** Across the columns. */
  across?: (room: Room) => string;
}

/** Where things are, in the chart's units. */
interface Room {
  /** Of a column. */
  left(column: number): number;
  middle(column: number): number;
  /** Of its bar. */
  bandwidth: number;
  /** Of a value. */
  y(value: number): number;
}

/** Drawn for each width, because text keeps its size: CSS shows the one that fits. */
const SIZES = {
  wide: { width: 960, height: 280, labelWidth: 64 },
  medium: { width: 660, height: 260, labelWidth: 60 },
  small: { width: 360, height: 240, labelWidth: 60 },
} as const;
type Size = (typeof SIZES)[keyof typeof SIZES];

const EDGE = { top: 12, right: 8, bottom: 28 } as const;
const TICKS = 4;
/** A bar of few stays a bar. */
const MAX_BANDWIDTH = 64;
/** Of the axis' font, about. */
const DIGIT_WIDTH = 7;

/** An SVG with a tooltip. Numbers here are only for geometry; exact values are in the table. */
export function framed(frame: Frame): string {
  return html`<div class="chart" data-chart>
      !${draw(frame, SIZES.wide, "wide")} !${draw(frame, SIZES.medium, "medium")} !${draw(frame, SIZES.small, "small")}
      <p class="tooltip" role="status" hidden></p>
    </div>
    <script type="module" src="${asset("chart.js")}"></script>`;
}

function draw({ title, buckets, highest, showTick, column: drawColumn, across }: Frame, size: Size, name: string): string {
  const y = scaleLinear()
    .domain([0, highest === 0 ? 1 : highest])
    .nice(TICKS)
    .range([size.height - EDGE.bottom, EDGE.top]);
  const values = y.ticks(TICKS);
  const ticks = values
    .map((value) => ({ value, words: showTick(value, values.at(-1) ?? value) }))
    .filter((tick) => tick.words !== "");
  const left = 12 + DIGIT_WIDTH * Math.max(...ticks.map((tick) => tick.words.length));
  const x = scaleBand<number>()
    .domain(buckets.keys())
    .range([left, size.width - EDGE.right])
    .padding(0.2);
  const middleOf = (column: number) => (x(column) ?? 0) + x.bandwidth() / 2;
  const bandwidth = Math.min(x.bandwidth(), MAX_BANDWIDTH);
  const room: Room = {
    left: (column) => round(middleOf(column) - bandwidth / 2),
    middle: (column) => round(middleOf(column)),
    bandwidth: round(bandwidth),
    y: (value) => round(y(value)),
  };

  const lines = ticks.map(
    ({ value, words }) =>
      html`<line class="grid-line" x1="${left}" x2="${size.width - EDGE.right}" y1="${room.y(value)}" y2="${room.y(value)}" />
        <text class="end" x="${left - 8}" y="${round(y(value) + 4)}">${words}</text>`,
  );
  const step = Math.ceil((buckets.length * size.labelWidth) / (size.width - left));
  const columns = buckets.map((bucket, index) => {
    const middle = room.middle(index);
    const label =
      index % step === 0 ? html`<text class="middle" x="${middle}" y="${size.height - 8}">${bucket.label}</text>` : "";
    const { marks, words } = drawColumn(index, room);
    return html`<g class="column">
      <title>${words}</title>
      <rect class="reach" x="${round(middle - x.step() / 2)}" y="0" width="${round(x.step())}" height="${size.height}" />
      !${marks}!${label}
    </g>`;
  });
  return html`<svg class="${name}" viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label="${title}">
    !${lines.join("")}!${columns.join("")}!${across?.(room) ?? ""}
  </svg>`;
}

/** The class of a series' colour. */
export function colour(colourIndex: number): string {
  return `series-${colourIndex}`;
}

export function round(pixels: number): number {
  return Math.round(pixels * 100) / 100;
}
