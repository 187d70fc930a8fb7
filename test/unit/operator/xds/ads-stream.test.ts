import { beforeEach, expect, test } from "vitest";
import type { DiscoveryResponse } from "../../../../runtime/gen/envoy/service/discovery/v3/discovery_pb.js";
import { CLUSTER_TYPE, createAdsStream, FILTER_TYPE, SECRET_TYPE, type AdsStream } from "../../../../operator/xds/ads-stream.ts";
import type { SecretContent } from "../../../../operator/xds/secret.ts";
import { buildSnapshot } from "../../../../operator/xds/snapshot.ts";

let sent: DiscoveryResponse[];
let rejections: string[];
let stream: AdsStream;
beforeEach(() => {
  sent = [];
  rejections = [];
  stream = createAdsStream({
    send: (response) => void sent.push(response),
    onRejected: ({ node, message }) => void rejections.push(`${node}: ${message}`),
  });
});

function snapshot(clusters: string[], secrets: Record<string, string> = {}) {
  const endpoint = { host: "a", port: 80, tls: null, credential: null, guard: null, connectTimeoutMs: 1 };
  return buildSnapshot({
    clusters: new Map(clusters.map((name) => [name, endpoint])),
    secrets: new Map(Object.entries(secrets).map(([name, headerValue]) => [name, { kind: "credential", headerValue }])),
  });
}

const ask = (typeUrl: string, resourceNames: string[] = []) => stream.receive({ typeUrl, resourceNames, node: { id: "envoy" } });
const answer = (typeUrl: string, resourceNames: string[] = [], errorDetail?: { message: string }) => {
  const last = sent.findLast((response) => response.typeUrl === typeUrl);
  stream.receive({ typeUrl, resourceNames, errorDetail, responseNonce: last?.nonce, versionInfo: last?.versionInfo });
};
const counts = () => sent.map(({ typeUrl, resources }) => [typeUrl === CLUSTER_TYPE ? "clusters" : "secrets", resources.length]);

test("a subscription before the first snapshot is answered once there is one", () => {
  ask(CLUSTER_TYPE);
  expect(sent).toEqual([]);
  stream.update(snapshot(["a"]));
  expect(counts()).toEqual([["clusters", 1]]);
});

test("an acknowledgement is not answered; equal content is not sent again", () => {
  stream.update(snapshot(["a"]));
  ask(CLUSTER_TYPE);
  answer(CLUSTER_TYPE);
  stream.update(snapshot(["a"]));
  expect(sent).toHaveLength(1);
  stream.update(snapshot(["a", "b"]));
  expect(counts()).toEqual([
    ["clusters", 1],
    ["clusters", 2],
  ]);
});

test("only requested secrets are sent, and a new name is answered", () => {
  stream.update(snapshot(["a"], { one: "1", two: "2", three: "3" }));
  ask(SECRET_TYPE, ["one"]);
  answer(SECRET_TYPE, ["one"]);
  answer(SECRET_TYPE, ["one", "three"]);
  expect(counts()).toEqual([
    ["secrets", 1],
    ["secrets", 2],
  ]);
});

test("a changed secret is sent only to subscribers", () => {
  stream.update(snapshot(["a"], { one: "1", two: "2" }));
  ask(SECRET_TYPE, ["one"]);
  answer(SECRET_TYPE, ["one"]);
  stream.update(snapshot(["a"], { one: "1", two: "changed" }));
  expect(sent).toHaveLength(1);
  stream.update(snapshot(["a"], { one: "changed", two: "changed" }));
  expect(sent).toHaveLength(2);
});

test("a snapshot is acknowledged when the clusters are, and every secret was requested and acknowledged", () => {
  const current = snapshot(["a"], { one: "1" });
  stream.update(current);
  expect(stream.standing(current)).toEqual({ kind: "waiting" });
  ask(CLUSTER_TYPE);
  answer(CLUSTER_TYPE);
  expect(stream.standing(current)).toEqual({ kind: "waiting" });
  ask(SECRET_TYPE, ["one"]);
  expect(stream.standing(current)).toEqual({ kind: "waiting" });
  answer(SECRET_TYPE, ["one"]);
  expect(stream.standing(current)).toEqual({ kind: "acked" });
});

test("a snapshot with a filter that contains keys is acknowledged once that was requested and acknowledged", () => {
  const endpoint = { host: "a", port: 80, tls: null, guard: null, connectTimeoutMs: 1 };
  const aws = { region: "us-east-1", service: "bedrock", keys: "signer" };
  const keys = { id: "AKIDEXAMPLE", secret: "signing-key", session: null };
  const current = buildSnapshot({
    clusters: new Map([["a", { ...endpoint, credential: { aws } }]]),
    secrets: new Map([["signer", { kind: "signer", signer: { region: "us-east-1", service: "bedrock", host: "a", keys } }]]),
  });
  stream.update(current);
  ask(CLUSTER_TYPE);
  answer(CLUSTER_TYPE);
  expect(stream.standing(current)).toEqual({ kind: "waiting" });
  ask(FILTER_TYPE, ["signer"]);
  answer(FILTER_TYPE, ["signer"]);
  expect(stream.standing(current)).toEqual({ kind: "acked" });
});

/** Answers everything until nothing more is sent. @returns the content of each response for secrets. */
function answerAll(names: string[], refused: readonly string[]): string[][] {
  const all = ["credential", ...names];
  return Array.from({ length: 10 }).flatMap(() => {
    const response = sent.findLast(({ typeUrl }) => typeUrl === SECRET_TYPE);
    const parts = response?.resources.map(({ value }) => all.find((name) => Buffer.from(value).includes(name)) ?? "") ?? [];
    const before = sent.length;
    answer(SECRET_TYPE, all, parts.some((name) => refused.includes(name)) ? { message: "Failed to load" } : undefined);
    return sent.length === before ? [] : [parts];
  });
}

function withCertificates(names: readonly string[], pem = "PEM") {
  const endpoint = { host: "a", port: 80, tls: null, credential: null, guard: null, connectTimeoutMs: 1 };
  return buildSnapshot({
    clusters: new Map([["a", endpoint]]),
    secrets: new Map<string, SecretContent>([
      ["credential", { kind: "credential", headerValue: "x" }],
      ...names.map((name) => [name, { kind: "roots", pem }] as const),
    ]),
  });
}

test("certificates are sent alone, so that a rejection is reported by their name and costs nothing else", () => {
  const names = ["one", "bad", "two"];
  const current = withCertificates(names);
  stream.update(current);
  ask(CLUSTER_TYPE);
  answer(CLUSTER_TYPE);
  ask(SECRET_TYPE, ["credential", ...names]);
  expect(stream.standing(current)).toEqual({ kind: "waiting" });
  expect(answerAll(names, ["bad"])).toEqual([["credential"], ["bad"], ["one"]]);
  expect(stream.standing(current)).toEqual({ kind: "rejected", message: "bad: Failed to load" });
  expect(rejections).toEqual(["envoy: bad: Failed to load"]);
});

test("certificates that an Envoy has rejected are not sent to it again, because it would accept them unused", () => {
  const names = ["bad", "good"];
  const current = withCertificates(names);
  stream.update(current);
  ask(CLUSTER_TYPE);
  answer(CLUSTER_TYPE);
  ask(SECRET_TYPE, ["credential", ...names]);
  answerAll(names, ["bad"]);
  // It asks for one more.
  ask(SECRET_TYPE, ["credential", "good", "bad"]);
  answerAll(names, []);
  expect(stream.standing(current)).toEqual({ kind: "rejected", message: "bad: Failed to load" });
  const corrected = withCertificates(names, "corrected");
  stream.update(corrected);
  answerAll(names, []);
  expect(stream.standing(corrected)).toEqual({ kind: "acked" });
});

test("a rejection counts although its response was overtaken", () => {
  const current = withCertificates(["bad"]);
  stream.update(current);
  ask(CLUSTER_TYPE);
  answer(CLUSTER_TYPE);
  ask(SECRET_TYPE, ["bad"]);
  answer(SECRET_TYPE, ["bad"]);
  const alone = sent.at(-1);
  ask(SECRET_TYPE, ["credential", "bad"]);
  stream.receive({ typeUrl: SECRET_TYPE, resourceNames: ["bad"], responseNonce: alone?.nonce, errorDetail: { message: "no" } });
  answerAll(["bad"], []);
  expect(stream.standing(current)).toEqual({ kind: "rejected", message: "bad: no" });
});

test("a rejection is reported in Envoy's words, and ends with the next content", () => {
  const bad = snapshot(["bad"]);
  stream.update(bad);
  ask(CLUSTER_TYPE);
  answer(CLUSTER_TYPE, [], { message: "cluster bad: malformed" });
  expect(stream.standing(bad)).toEqual({ kind: "rejected", message: "cluster bad: malformed" });
  expect(rejections).toEqual(["envoy: cluster bad: malformed"]);
  const good = snapshot(["good"]);
  stream.update(good);
  answer(CLUSTER_TYPE);
  expect(stream.standing(good)).toEqual({ kind: "acked" });
});

test("returning to the content before a rejection is sent again, and acknowledged", () => {
  const good = snapshot(["good"]);
  stream.update(good);
  ask(CLUSTER_TYPE);
  answer(CLUSTER_TYPE);
  stream.update(snapshot(["good", "bad"]));
  answer(CLUSTER_TYPE, [], { message: "no" });
  stream.update(good);
  expect(stream.standing(good)).toEqual({ kind: "waiting" });
  answer(CLUSTER_TYPE);
  expect(stream.standing(good)).toEqual({ kind: "acked" });
});

test("the reply to an overtaken response is ignored", () => {
  stream.update(snapshot(["a"]));
  ask(CLUSTER_TYPE);
  const [first] = sent;
  const next = snapshot(["b"]);
  stream.update(next);
  stream.receive({ typeUrl: CLUSTER_TYPE, responseNonce: first?.nonce });
  expect(stream.standing(next)).toEqual({ kind: "waiting" });
});

test("unsupported types are not answered", () => {
  stream.update(snapshot(["a"]));
  ask("type.googleapis.com/envoy.config.listener.v3.Listener");
  expect(sent).toEqual([]);
});

test("a rejection keeps no secret that Envoy quotes, however its message is cut", () => {
  stream.update(snapshot(["bad"]));
  ask(CLUSTER_TYPE);
  answer(CLUSTER_TYPE, [], { message: 'bad: secret_access_key: "a\\"b" session_token: "c" inline_string: "Bearer d' });
  expect(rejections).toEqual(['envoy: bad: secret_access_key: "…" session_token: "…" inline_string: "…"']);
});
