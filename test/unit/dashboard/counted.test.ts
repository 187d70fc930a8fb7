import { expect, test } from "vitest";
import { counted } from "../../../dashboard/counted.ts";

test.for([
  [0, "0 keys"],
  [1, "1 key"],
  [1n, "1 key"],
  [1_234_567n, "1,234,567 keys"],
] as const)("%s of a key is called %s", ([count, words]) => {
  expect(counted(count, "key")).toBe(words);
});
