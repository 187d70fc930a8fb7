import { describe, beforeAll, expect, test } from "vitest";
import { MissingPrerequisite } from "../../../../support/test-run/prerequisite.ts";

test("passes", () => expect(1).toBe(1));
test("lacks something", () => {
  throw new MissingPrerequisite("The hook needs a thing: install it.");
});
describe("a suite", () => {
  beforeAll(() => {
    throw new Error("Broken.");
  });
  test("is not run", () => expect(1).toBe(1));
});
