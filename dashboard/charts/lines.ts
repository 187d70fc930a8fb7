import { line } from "d3-shape";
import { html } from "ghtml";
import { colour, drawn, framed, type Chart } from "./frame.ts";

/** null if nothing was measured in this bucket. */
export interface LineSeries {
  name: string;
  values: readonly (number | null)[];
}

export type Lines = Chart<LineSeries>;

/** A line breaks where nothing was measured; isolated values are drawn as points. */
export function lines(chart: Lines): string {
  const { title, buckets, showValue, showTick } = chart;
  const shown = drawn(chart);
  return framed({
    title,
    buckets,
    showTick,
    highest: Math.max(0, ...shown.flatMap(({ values }) => values.map((value) => value ?? 0))),
    column(column) {
      const parts = shown.flatMap(({ name, values }) => {
        const value = values[column] ?? null;
        return value === null ? [] : [`${name}: ${showValue(value)}`];
      });
      const words = [buckets[column]?.name ?? "", ...(parts.length === 0 ? ["No requests"] : parts)].join("\n");
      return { marks: "", words };
    },
    across(room) {
      const path = line<number | null>()
        .defined((value) => value !== null)
        .x((_, column) => room.middle(column))
        .y((value) => room.y(value ?? 0));
      const marks = shown.map(({ values, colourIndex }) => {
        const points = values.map((value, column) =>
          value === null
            ? ""
            : html`<circle class="${colour(colourIndex)}" cx="${room.middle(column)}" cy="${room.y(value)}" r="2.5" />`,
        );
        return html`<path class="line ${colour(colourIndex)}" d="${path(values) ?? ""}" />!${points.join("")}`;
      });
      return html`<g class="across">!${marks.join("")}</g>`;
    },
  });
}
