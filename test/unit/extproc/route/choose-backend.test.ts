import fc from "fast-check";
import { expect, test } from "vitest";
import { PROFILES } from "../../../../contract/profile.ts";
import { chooseBackend } from "../../../../extproc/route/choose-backend.ts";

const backend = (name: string, priority: number, weight: number) => ({
  name,
  cluster: name,
  protocol: "chat" as const,
  basePath: "",
  upstreamModel: name,
  weight,
  priority,
  profile: PROFILES.generic,
});

test("the lowest priority with weight is used, in proportion to weight", () => {
  const backends = [backend("idle", 0, 0), backend("one", 1, 1), backend("three", 1, 3), backend("spare", 2, 1)];
  const chosen = Array.from({ length: 400 }, (_, index) => chooseBackend(backends, index / 400).name);
  expect(chosen.filter((name) => name === "one")).toHaveLength(100);
  expect(chosen.filter((name) => name === "three")).toHaveLength(300);
});

test("any random number below one selects a backend of a usable list", () => {
  const weights = fc.array(
    fc.record({ weight: fc.integer({ min: 1, max: 1_000_000 }), priority: fc.integer({ min: 0, max: 15 }) }),
    { minLength: 1, maxLength: 16 },
  );
  fc.assert(
    fc.property(weights, fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), (list, random) => {
      const backends = list.map(({ weight, priority }, index) => backend(String(index), priority, weight));
      const best = Math.min(...list.map((item) => item.priority));
      expect(chooseBackend(backends, random).priority).toBe(best);
    }),
  );
});

test("a Model with no usable backend is 503 with a retry time", () => {
  expect(() => chooseBackend([backend("idle", 0, 0)], 0)).toThrow(
    expect.objectContaining({ status: 503, headers: { "retry-after": "10" } }),
  );
});
