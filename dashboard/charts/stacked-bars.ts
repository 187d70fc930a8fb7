import { stack } from "d3-shape";
import { html } from "ghtml";
import { colour, drawn, framed, round, type Chart } from "./frame.ts";
import type { Series } from "./series.ts";

/** The first series is at the bottom. */
export type StackedBars = Chart<Series>;

export function stackedBars(chart: StackedBars): string {
  const { title, buckets, showValue, showTick } = chart;
  const shown = drawn(chart);
  const layers = stack<number, number>()
    .keys(shown.keys())
    .value((column, layer) => shown[layer]?.values[column] ?? 0)(buckets.keys());
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
          class="${colour(shown[index]?.colourIndex ?? 0)}"
          x="${room.left(column)}"
          y="${room.y(top)}"
          width="${room.bandwidth}"
          height="${round(room.y(bottom) - room.y(top))}"
        />`;
      });
      const parts = shown.map((each) => ({ name: each.name, value: each.values[column] ?? 0 }));
      return { marks: bars.join(""), words: tooltip(buckets[column]?.name ?? "", parts, showValue) };
    },
  });
}

/** Lines of text: the bucket, its values, and their sum if there are several. */
function tooltip(name: string, parts: readonly { name: string; value: number }[], showValue: (value: number) => string): string {
  const filled = parts.filter(({ value }) => value > 0);
  const sum = filled.reduce((total, { value }) => total + value, 0);
  const lines = filled.map((part) => `${part.name}: ${showValue(part.value)}`);
  return [name, ...lines, ...(filled.length === 1 ? [] : [`Total: ${showValue(sum)}`])].join("\n");
}
