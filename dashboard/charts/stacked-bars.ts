import { stack } from "d3-shape";
import { html } from "ghtml";
import type { Bucket } from "./buckets.ts";
import { colour, framed, round } from "./frame.ts";
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

export function stackedBars({ title, buckets, series, only, showValue, showTick }: StackedBars): string {
  const drawn = series
    .map(({ name: own, values }, place) => ({ name: own, values, place }))
    .filter(({ name: own }) => only === undefined || own === only);
  const layers = stack<number, number>()
    .keys(drawn.keys())
    .value((column, layer) => drawn[layer]?.values[column] ?? 0)(buckets.keys());
  return framed({
    title,
    buckets,
    showTick,
    highest: Math.max(0, ...layers.flatMap((layer) => layer.map(([, top]) => top))),
    column(column, room) {
      const bars = layers.map((layer, index) => {
        const [bottom, top] = layer[column] ?? [0, 0];
        if (top === bottom) return "";
        return html`<rect
          class="${colour(drawn[index]?.place ?? 0)}"
          x="${room.left(column)}"
          y="${room.y(top)}"
          width="${room.bandwidth}"
          height="${round(room.y(bottom) - room.y(top))}"
        />`;
      });
      const parts = drawn.map((each) => ({ name: each.name, value: each.values[column] ?? 0 }));
      return { marks: bars.join(""), words: tooltip(buckets[column]?.name ?? "", parts, showValue) };
    },
  });
}

/** Lines: the bucket, what is in it, and the sum of several. */
function tooltip(name: string, parts: readonly { name: string; value: number }[], showValue: (value: number) => string): string {
  const filled = parts.filter(({ value }) => value > 0);
  const sum = filled.reduce((total, { value }) => total + value, 0);
  const lines = filled.map((part) => `${part.name}: ${showValue(part.value)}`);
  return [name, ...lines, ...(filled.length === 1 ? [] : [`Total: ${showValue(sum)}`])].join("\n");
}
