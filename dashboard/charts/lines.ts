import { line } from "d3-shape";
import { html } from "ghtml";
import type { Bucket } from "./buckets.ts";
import { colour, framed } from "./frame.ts";

/** null: nothing was measured in this bucket. */
export interface LineSeries {
  name: string;
  values: readonly (number | null)[];
}

export interface Lines {
  /** What it shows, and where the same numbers stand as a table. */
  title: string;
  buckets: readonly Bucket[];
  series: readonly LineSeries[];
  /** The one that is drawn; undefined: all. */
  only?: string | undefined;
  /** In tooltips. */
  showValue: (value: number) => string;
  /** On the axis. */
  showTick: (value: number) => string;
}

/** A line breaks where nothing was measured; points show values that stand alone. */
export function lines({ title, buckets, series, only, showValue, showTick }: Lines): string {
  const drawn = series
    .map(({ name, values }, place) => ({ name, values, place }))
    .filter(({ name }) => only === undefined || name === only);
  return framed({
    title,
    buckets,
    showTick,
    highest: Math.max(0, ...drawn.flatMap(({ values }) => values.map((value) => value ?? 0))),
    column(column) {
      const parts = drawn.flatMap(({ name, values }) => {
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
      const marks = drawn.map(({ values, place }) => {
        const points = values.map((value, column) =>
          value === null
            ? ""
            : html`<circle class="${colour(place)}" cx="${room.middle(column)}" cy="${room.y(value)}" r="2.5" />`,
        );
        return html`<path class="line ${colour(place)}" d="${path(values) ?? ""}" />!${points.join("")}`;
      });
      return html`<g class="across">!${marks.join("")}</g>`;
    },
  });
}
