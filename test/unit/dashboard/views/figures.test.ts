import { expect, test } from "vitest";
import { compact, compactCell } from "../../../../dashboard/views/figures.ts";

const plain = (html: string) => html.replaceAll(/<[^>]*>|\s/g, "");

test("a short count has its unit without a space, and the exact count in its title", () => {
  expect([9_999, 12_345, 39_612_345, 142_100_000_000].map((count) => plain(compact(count)))).toEqual([
    "9,999",
    "12.3K",
    "39.6M",
    "142.1B",
  ]);
  expect(compact(39_612_345)).toContain('title="39,612,345"');
  expect(plain(compactCell(999_950))).toBe("1.0M");
});
