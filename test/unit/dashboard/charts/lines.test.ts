import { expect, test } from "vitest";
import { bucketsOf } from "../../../../dashboard/charts/buckets.ts";
import { lines, type Lines } from "../../../../dashboard/charts/lines.ts";

const BUCKETS = bucketsOf({ fromDay: "2026-11-01", toDay: "2026-11-04" }, "day");

/** The drawing for wide screens. */
function draw(changes: Partial<Lines> = {}): string {
  const chart = lines({
    title: "Latency",
    buckets: BUCKETS,
    series: [
      { name: "p50", values: [1, 2, null, 3] },
      { name: "p95", values: [4, 4, null, null] },
    ],
    showValue: (value) => `${value} s`,
    showTick: (value) => `${value} s`,
    ...changes,
  });
  return /<svg class="wide"[^]*?<\/svg>/.exec(chart)?.[0] ?? "";
}

const paths = (svg: string) => [...svg.matchAll(/<path class="line (series-\d)" d="([^"]*)"/g)].map(([, ...found]) => found);
const points = (svg: string) => [...svg.matchAll(/<circle class="(series-\d)" cx="([\d.]+)" cy="([\d.]+)"/g)];

test("a line breaks where nothing was measured, and an isolated value is drawn as a point", () => {
  const [p50, p95, ...more] = paths(draw());
  expect(more).toEqual([]);
  expect(p50?.[1]?.match(/M/g)).toHaveLength(2);
  expect(p95?.[1]?.match(/M/g)).toHaveLength(1);
  expect(points(draw()).map(([, series]) => series)).toEqual(["series-0", "series-0", "series-0", "series-1", "series-1"]);
});

test("a column's tooltip shows its name and each value, or that there is none", () => {
  const found = [...draw().matchAll(/<title>([^<]*)<\/title>/g)].map(([, text = ""]) => text.split("\n"));
  expect(found).toEqual([
    ["Nov 1, 2026", "p50: 1 s", "p95: 4 s"],
    ["Nov 2, 2026", "p50: 2 s", "p95: 4 s"],
    ["Nov 3, 2026", "No requests"],
    ["Nov 4, 2026", "p50: 3 s"],
  ]);
});

test("a single line keeps its colour and gets the full height; names with markup stay text", () => {
  expect(paths(draw({ only: "p95" })).map(([series]) => series)).toEqual(["series-1"]);
  const heightOf = (svg: string) => Number(points(svg)[2]?.[3]);
  expect(heightOf(draw({ only: "p50" }))).toBeLessThan(heightOf(draw()));
  const svg = draw({ title: '"><script>', series: [{ name: "<b>", values: [1, 1, 1, 1] }] });
  expect(svg).not.toMatch(/<script>|<b>|NaN|style=/);
});
