import { expect, test } from "vitest";
import { legend, stackedBars, type StackedBars } from "../../../../dashboard/charts/stacked-bars.ts";

const COLUMNS = ["2026-11-01", "2026-11-02", "2026-11-03"];

function draw(changes: Partial<StackedBars> = {}): string {
  return stackedBars({
    title: "Spent",
    columns: COLUMNS,
    series: [
      { name: "pro", values: [1, 0, 2] },
      { name: "flash", values: [3, 0, 0] },
    ],
    showValue: (value) => `$${value}`,
    ...changes,
  });
}

/** Geometry of the bars, in the order in which they are drawn. */
function bars(svg: string): { y: number; height: number; text: string }[] {
  return [...svg.matchAll(/<rect[^>]*?\sy="([\d.]+)"[^>]*?height="([\d.]+)"[^>]*>\s*<title>([^<]*)</g)].map(
    ([, y, height, text = ""]) => ({ y: Number(y), height: Number(height), text }),
  );
}

test("bars stand on those of the series before, as high as their values, and nothing is drawn for nothing", () => {
  const [pro, proLater, flash, ...more] = bars(draw());
  expect(more).toEqual([]);
  expect([pro?.text, proLater?.text, flash?.text]).toEqual([
    "2026-11-01, pro: $1",
    "2026-11-03, pro: $2",
    "2026-11-01, flash: $3",
  ]);
  const unit = pro?.height ?? 0;
  expect(unit).toBeGreaterThan(0);
  expect(proLater?.height).toBeCloseTo(2 * unit, 1);
  expect(flash?.height).toBeCloseTo(3 * unit, 1);
  expect((flash?.y ?? 0) + (flash?.height ?? 0)).toBeCloseTo(pro?.y ?? 0, 1);
});

test("a range in which nothing was used has an axis and no bars", () => {
  const svg = draw({ series: [{ name: "pro", values: [0, 0, 0] }] });
  expect(bars(svg)).toEqual([]);
  expect(svg).toContain(">$0<");
  expect(svg).not.toContain("NaN");
});

test("names that are markup stay text", () => {
  const svg = draw({ title: '"><script>', series: [{ name: "<b>", values: [1, 1, 1] }] });
  expect(svg + legend(["<b>"])).not.toMatch(/<script>|<b>/);
  expect(legend(["<b>"])).toContain("&#60;b&#62;");
});

test("a long range has at most five labels, and styles come from classes alone", () => {
  const columns = Array.from({ length: 31 }, (_, index) => `2026-10-${String(index + 1).padStart(2, "0")}`);
  const svg = draw({ columns, series: [{ name: "pro", values: columns.map(() => 1) }] });
  expect(svg.match(/class="middle"/g)).toHaveLength(5);
  expect(svg).not.toContain("style=");
});
