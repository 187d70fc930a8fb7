import { expect, test } from "vitest";
import { modelColours } from "../../../../dashboard/charts/model-colours.ts";

const RANKED = ["a", "b", "c", "d", "e", "f", "g"];

test("a model keeps its colour, whichever models a chart has and in whichever order", () => {
  expect(modelColours(["a", "b", "c"], RANKED)).toEqual([0, 1, 2]);
  expect(modelColours(["c", "a"], RANKED)).toEqual([2, 0]);
  expect(modelColours(["g", "c"], RANKED)).toEqual([1, 2]);
});

test("two models of a chart never share a colour; lower-ranked models keep theirs", () => {
  expect(modelColours(["f", "a"], RANKED)).toEqual([1, 0]);
  expect(modelColours(["f", "e", "d", "c", "b", "a"], RANKED)).toEqual([5, 4, 3, 2, 1, 0]);
});

test("a group of several models is grey, and models next to it are not", () => {
  expect(modelColours(["f", "e", "d", "a", "g", "3 others"], RANKED)).toEqual([1, 4, 3, 0, 2, 5]);
});
