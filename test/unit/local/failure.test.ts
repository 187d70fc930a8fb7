import { expect, test } from "vitest";
import { sentenceOf } from "../../../local/failure.ts";

test("a full disk is named, and where space is needed", () => {
  const error = Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC" });
  expect(sentenceOf(error, "/data")).toBe(
    "A disk is full (ENOSPC), probably the one with the data directory /data: free some space, or choose another directory with --data.",
  );
});

test("a disk that is too full for Postgres is no reason to remove its data", () => {
  const error = new Error(
    'PostgreSQL did not start: could not write lock file "postmaster.pid": No space left on device. If its data cannot be repaired, remove it.',
  );
  expect(sentenceOf(error, "/data")).toMatch(/^A disk is full .*: free some space, or choose another directory with --data\.$/);
});

test("other failures say themselves what they are", () => {
  expect(sentenceOf(new Error("Port 80 is in use."), "/data")).toBe("Port 80 is in use.");
});
