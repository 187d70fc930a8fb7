import { expect, test } from "vitest";
import { judge } from "../../../../operator/kube/ledger-peers.ts";

const plan = { version: "v2", has: (cluster: string) => cluster === "model/m/a/1" };
const replica = (changes: object = {}) => ({
  replica: "b",
  version: "v2",
  envoys: 1,
  late: [],
  rejected: {},
  refusal: null,
  ...changes,
});

test("without other replicas nobody is waited for", () => {
  expect(judge([], plan)).toEqual({ kind: "acked", envoys: 0 });
});

test("all Envoys of all replicas count", () => {
  expect(judge([replica({ envoys: 2 }), replica({ envoys: 3 })], plan)).toEqual({ kind: "acked", envoys: 5 });
});

test("a replica that is behind, or whose Envoys are, is waited for", () => {
  expect(judge([replica(), replica({ replica: "c", version: "v1" })], plan)).toEqual({ kind: "late", nodes: ["replica c"] });
  expect(judge([replica({ late: ["envoy-7"] })], plan)).toEqual({ kind: "late", nodes: ["envoy-7"] });
});

test("a cluster rejected anywhere is rejected, as long as it is requested", () => {
  const refusing = replica({ version: "v1", rejected: { "model/m/a/1": "model/m/a/1: malformed host" } });
  expect(judge([replica(), refusing], plan)).toEqual({ kind: "rejected", message: "model/m/a/1: malformed host" });
  expect(judge([replica({ rejected: { "model/m/a/0": "an older one" } })], plan)).toEqual({ kind: "acked", envoys: 1 });
});

test("a rejection of the whole configuration counts for its version", () => {
  expect(judge([replica({ refusal: "words" })], plan)).toEqual({ kind: "rejected", message: "words" });
  expect(judge([replica({ version: "v1", refusal: "words" })], plan)).toEqual({ kind: "late", nodes: ["replica b"] });
});
