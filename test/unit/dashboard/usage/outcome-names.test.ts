import { expect, test } from "vitest";
import { describeOutcome } from "../../../../dashboard/views/usage/outcome-names.ts";

test("an answer that a content check refused is shown as such (S55)", () => {
  expect(describeOutcome({ outcome: "complete", httpStatus: 400 })).toMatchObject({ name: "Refused", badge: "failed" });
  expect(describeOutcome({ outcome: "complete", httpStatus: 200 })).toMatchObject({ name: "Completed", badge: "active" });
  expect(describeOutcome({ outcome: "failed", httpStatus: 503 })).toMatchObject({ name: "Failed" });
});
