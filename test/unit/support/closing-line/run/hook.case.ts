import { beforeAll, describe, expect, test } from "vitest";
import { MissingPrerequisite } from "../../../../support/test-run/prerequisite.ts";

beforeAll(() => {
  throw new MissingPrerequisite("The hook needs a thing: install it.");
});
test("one", () => expect(1).toBe(1));
describe("a suite", () => {
  test("two", () => expect(2).toBe(2));
});
