import { expect, test } from "vitest";
import { clipped } from "../../../../dashboard/views/responsive-table.ts";

test("a name is truncated at its end, whichever way it is written, and complete in its title", () => {
  expect(clipped("مفتاح <الإنتاج>")).toBe(
    '<span class="clip" dir="auto" title="مفتاح &#60;الإنتاج&#62;">مفتاح &#60;الإنتاج&#62;</span>',
  );
  expect(clipped("")).toBe("");
});
