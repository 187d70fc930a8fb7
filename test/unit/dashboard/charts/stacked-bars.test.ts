import { expect, test } from "vitest";
import { bucketsOf } from "../../../../dashboard/charts/buckets.ts";
import { legend } from "../../../../dashboard/charts/legend.ts";
import { stackedBars, type StackedBars } from "../../../../dashboard/charts/stacked-bars.ts";

const BUCKETS = bucketsOf({ fromDay: "2026-11-01", toDay: "2026-11-03" }, "day");

/** The drawing for wide screens. */
function draw(changes: Partial<StackedBars> = {}): string {
  const chart = stackedBars({
    title: "Spent",
    buckets: BUCKETS,
    series: [
      { name: "pro", values: [1, 0, 2] },
      { name: "flash", values: [3, 0, 0] },
    ],
    showValue: (value) => `$${value}`,
    showTick: (value) => `$${value}`,
    ...changes,
  });
  return /<svg class="wide"[^]*?<\/svg>/.exec(chart)?.[0] ?? "";
}

/** Geometry of the bars, in the order in which they are drawn. */
function bars(svg: string): { series: string; y: number; height: number }[] {
  return [...svg.matchAll(/<rect\s+class="(series-\d)"[^>]*?\sy="([\d.]+)"[^>]*?height="([\d.]+)"/g)].map(
    ([, series = "", y, height]) => ({ series, y: Number(y), height: Number(height) }),
  );
}

/** Lines of each column's tooltip. */
function tooltips(svg: string): string[][] {
  return [...svg.matchAll(/<title>([^<]*)<\/title>/g)].map(([, text = ""]) => text.split("\n"));
}

test("bars are stacked on the previous series, as high as their values, and zero values are not drawn", () => {
  const [pro, flash, proLater, ...more] = bars(draw());
  expect(more).toEqual([]);
  expect([pro?.series, flash?.series, proLater?.series]).toEqual(["series-0", "series-1", "series-0"]);
  const unit = pro?.height ?? 0;
  expect(unit).toBeGreaterThan(0);
  expect(flash?.height).toBeCloseTo(3 * unit, 1);
  expect(proLater?.height).toBeCloseTo(2 * unit, 1);
  expect((flash?.y ?? 0) + (flash?.height ?? 0)).toBeCloseTo(pro?.y ?? 0, 1);
});

test("a column's tooltip shows its name, each series in it, and their sum", () => {
  expect(tooltips(draw())).toEqual([
    ["Nov 1, 2026", "pro: $1", "flash: $3", "Total: $4"],
    ["Nov 2, 2026", "Total: $0"],
    ["Nov 3, 2026", "pro: $2"],
  ]);
});

test("a single series is drawn alone, in its own colour and on its own axis", () => {
  const svg = draw({ only: "flash" });
  expect(bars(svg).map(({ series }) => series)).toEqual(["series-1"]);
  expect(bars(draw({ only: "pro" }))[1]?.height).toBeGreaterThan(bars(draw())[2]?.height ?? 0);
});

test("a range without usage has an axis and no bars", () => {
  const svg = draw({ series: [{ name: "pro", values: [0, 0, 0] }] });
  expect(bars(svg)).toEqual([]);
  expect(svg).toContain(">$0<");
  expect(svg).not.toContain("NaN");
});

test("names with markup stay text", () => {
  const svg = draw({ title: '"><script>', series: [{ name: "<b>", values: [1, 1, 1] }] });
  const names = legend({ names: ["<b>"], only: undefined }, (name) => `/?only=${name ?? ""}`);
  expect(svg + names).not.toMatch(/<script>|<b>/);
  expect(names).toContain("&#60;b&#62;");
});

test("labels do not overlap, and styles come only from classes", () => {
  const buckets = bucketsOf({ fromDay: "2026-10-01", toDay: "2026-10-31" }, "day");
  const svg = draw({ buckets, series: [{ name: "pro", values: buckets.map(() => 1) }] });
  const positions = [...svg.matchAll(/class="middle" x="([\d.]+)"/g)].map(([, x]) => Number(x));
  expect(positions.length).toBeGreaterThan(5);
  for (const [index, position] of positions.slice(1).entries())
    expect(position - (positions[index] ?? 0)).toBeGreaterThanOrEqual(60);
  expect(svg).not.toContain("style=");
});
