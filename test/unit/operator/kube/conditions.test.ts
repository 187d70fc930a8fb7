import { expect, test } from "vitest";
import { encodeConditions } from "../../../../operator/kube/conditions.ts";

test("a message that is too long is cut as the API server stores it: what is written differs from nothing that is there", () => {
  const message = `a${"\u{1F600}".repeat(20_000)}`;
  const wanted = [{ type: "Ready", isTrue: false, reason: "Invalid", message }];
  const [condition] = encodeConditions({ wanted, before: [], generation: 1, nowMs: 0 });
  expect(condition?.message.length).toBe(32_768);
  expect(condition?.message.isWellFormed()).toBe(true);
});
