import fc from "fast-check";
import { expect, test } from "vitest";
import { PROFILES } from "../../../../contract/profile.ts";
import type { Rest } from "../../../../extproc/route/backend-health.ts";
import { orderBackends } from "../../../../extproc/route/order-backends.ts";

const backend = (name: string, { priority = 0, weight = 1 } = {}) => ({
  name,
  cluster: `cluster-of-${name}`,
  protocol: "chat" as const,
  basePath: "",
  upstreamModel: name,
  weight,
  priority,
  profile: PROFILES.generic,
});

const resting = (rests: Record<string, Rest> = {}) => ({ restOf: (cluster: string) => rests[cluster] ?? null });

function order(backends: readonly ReturnType<typeof backend>[], affinity: string, rests?: Record<string, Rest>): string[] {
  return orderBackends(backends, { affinity, health: resting(rests) }).map(({ name }) => name);
}

const share = (names: readonly string[], name: string) => names.filter((each) => each === name).length / names.length;

test("the same text orders the same backends in the same way", () => {
  const backends = ["a", "b", "c"].map((name) => backend(name));
  fc.assert(
    fc.property(fc.string(), (text) => {
      expect(order(backends, text)).toEqual(order(backends.toReversed(), text));
    }),
  );
});

test("priority comes first, and each backend has the share of its weight among equals", () => {
  const backends = [backend("spare", { priority: 1, weight: 100 }), backend("one"), backend("three", { weight: 3 })];
  const firsts = Array.from({ length: 4_000 }, (_, index) => order(backends, `conversation ${index}`));
  expect(firsts.every((names) => names[2] === "spare")).toBe(true);
  expect(
    share(
      firsts.map(([first = ""]) => first),
      "three",
    ),
  ).toBeCloseTo(0.75, 1);
});

test("removing a backend moves only its own share", () => {
  const backends = ["a", "b", "c", "d"].map((name) => backend(name));
  const texts = Array.from({ length: 400 }, (_, index) => `conversation ${index}`);
  const moved = texts.filter((text) => {
    const [before] = order(backends, text);
    const [after] = order(backends.slice(1), text);
    return before !== "a" && before !== after;
  });
  expect(moved).toEqual([]);
});

test("a changed credential or address, which changes the cluster, moves no session", () => {
  const backends = ["a", "b"].map((name) => backend(name));
  const changed = backends.map((each) => ({ ...each, cluster: `${each.cluster}-2` }));
  for (let index = 0; index < 50; index++) expect(order(changed, String(index))).toEqual(order(backends, String(index)));
});

test("skipped backends are left out, and those without weight", () => {
  const backends = [backend("a"), backend("b", { priority: 1 }), backend("idle", { weight: 0 })];
  expect(order(backends, "x", { "cluster-of-a": { leftMs: 1_000, isAsked: true } })).toEqual(["b"]);
});

test("if all are skipped, the one whose pause ends first is used", () => {
  const backends = [backend("a"), backend("b"), backend("c")];
  const rests = {
    "cluster-of-a": { leftMs: 9_000, isAsked: false },
    "cluster-of-b": { leftMs: 5_000, isAsked: false },
    "cluster-of-c": { leftMs: 1_000, isAsked: true },
  };
  expect(order(backends, "x", rests)).toEqual(["b"]);
});

test("if all have sent retry-after, the caller gets the time", () => {
  const rests = {
    "cluster-of-a": { leftMs: 9_000, isAsked: true },
    "cluster-of-b": { leftMs: 4_100, isAsked: true },
  };
  expect(() => order([backend("a"), backend("b")], "x", rests)).toThrow(
    expect.objectContaining({ code: "rate_limited", headers: { "retry-after": "5" } }),
  );
});

test("at most four are tried", () => {
  expect(
    order(
      ["a", "b", "c", "d", "e", "f"].map((name) => backend(name)),
      "x",
    ),
  ).toHaveLength(4);
});

test("a Model with no usable backend is 503", () => {
  expect(() => order([backend("idle", { weight: 0 })], "x")).toThrow(expect.objectContaining({ status: 503 }));
});
