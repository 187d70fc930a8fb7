import { expect, test } from "vitest";
import { ACTION_CATEGORIES, ACTION_NAMES } from "../../../../ledger/people/action-names.ts";

test("each category of actions can be filtered by, and no other", () => {
  expect(new Set<string | undefined>(ACTION_CATEGORIES)).toEqual(new Set(ACTION_NAMES.map((name) => name.split(".")[0])));
});
