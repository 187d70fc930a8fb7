import { describe, expect, test } from "vitest";
import { hashSecret, mintApiKey } from "../../../../ledger/keys/keys.ts";
import type { ResourceKey } from "../../../../ledger/keys/resource-keys.ts";
import { nextStep, type Observation } from "../../../../operator/apikey/reconcile.ts";
import { parseApiKeyResource, type ApiKeyResource } from "../../../../operator/apikey/resource.ts";
import type { ObservedSecret } from "../../../../operator/apikey/secret-object.ts";
import { toSettings } from "../../../../operator/apikey/settings.ts";

const PEPPER = Buffer.alloc(32, 1);
const NOW_MS = Date.parse("2026-11-21T12:00:00Z");
const minted = mintApiKey((size) => Buffer.alloc(size, 7));
const rotated = mintApiKey((size) => Buffer.alloc(size, 8));
const valueOf = (secret: string) => `sk-mg-${minted.publicId}${secret}`;

function resource(spec: object = {}): ApiKeyResource {
  const parsed = parseApiKeyResource({
    apiVersion: "modelgateway.dev/v1alpha1",
    kind: "ApiKey",
    metadata: { name: "client", namespace: "team-a" },
    spec: { account: "team-a", ...spec },
  });
  if (parsed.kind === "bad") throw new Error(parsed.problems.join());
  return parsed.resource;
}

function stored(changes: Partial<ResourceKey> = {}, of: ApiKeyResource = resource()): ResourceKey {
  return {
    publicId: minted.publicId,
    accountId: "team-a",
    secretHash: hashSecret(PEPPER, minted.secret),
    previousUntil: null,
    rotation: 0,
    origin: "here",
    revokedForMs: null,
    settings: toSettings(of),
    unknownLimits: [],
    spent: { dayNanoUsd: 0n, monthNanoUsd: 0n },
    isInProject: true,
    ...changes,
  };
}

function owned(changes: Partial<Extract<ObservedSecret, { kind: "owned" }>> = {}): ObservedSecret {
  return { kind: "owned", resourceVersion: "5", value: minted.value, rotation: 0, hasPrevious: false, ...changes };
}

function step(changes: Partial<Observation>) {
  return nextStep({
    resource: resource(),
    hasFinalizer: true,
    hasAccount: true,
    key: null,
    secret: { kind: "unread" },
    isForeignKey: false,
    hasRoom: true,
    hasProject: true,
    origin: "here",
    nowMs: NOW_MS,
    isStored: (secret, hash) => hashSecret(PEPPER, secret).equals(hash),
    ...changes,
  });
}

describe("a new ApiKey", () => {
  test("gets its finalizer before anything that would have to be undone", () => {
    expect(step({ hasFinalizer: false })).toEqual({ kind: "add finalizer" });
  });

  test("waits for its account without having created anything", () => {
    expect(step({ hasAccount: false, hasFinalizer: false })).toEqual({ kind: "done", secretProblem: null });
  });

  test("has its value in the Secret before the ledger has its hash", () => {
    expect(step({})).toEqual({ kind: "create secret", publicId: null, rotation: 0 });
    const { publicId, secret } = minted;
    expect(step({ secret: owned() })).toEqual({ kind: "store key", publicId, secret, rotation: 0 });
  });

  test("takes over no foreign Secret, nor a value that is another key's or invalid", () => {
    expect(step({ secret: { kind: "foreign", resourceVersion: "1" } })).toEqual({ kind: "done", secretProblem: "NameTaken" });
    expect(step({ secret: owned(), isForeignKey: true })).toEqual({ kind: "done", secretProblem: "SecretChanged" });
    expect(step({ secret: owned(), hasRoom: false })).toEqual({ kind: "done", secretProblem: "TooManyKeys" });
    expect(step({ secret: owned({ value: "words" }) })).toEqual({ kind: "done", secretProblem: "SecretChanged" });
  });
});

describe("an ApiKey with its key", () => {
  test("in its desired state needs nothing", () => {
    expect(step({ key: stored() })).toEqual({ kind: "read secret" });
    expect(step({ key: stored(), secret: owned() })).toEqual({ kind: "done", secretProblem: null });
  });

  test("updates the ledger first if it differs, whatever happened to its Secret", () => {
    const disabled = resource({ disabled: true });
    expect(step({ resource: disabled, key: stored(), secret: { kind: "missing" } })).toEqual({ kind: "change settings" });
    expect(step({ key: stored({ origin: "elsewhere" }) })).toEqual({ kind: "change settings" });
  });

  test("enters its project, once, and does without one that does not exist", () => {
    const grouped = resource({ project: "nightly" });
    const outside = stored({ isInProject: false }, grouped);
    expect(step({ resource: grouped, key: outside })).toEqual({ kind: "assign project", project: "nightly" });
    expect(step({ resource: grouped, key: outside, hasProject: false })).toEqual({ kind: "read secret" });
    expect(step({ resource: grouped, key: stored({}, grouped) })).toEqual({ kind: "read secret" });
  });

  test("whose Secret was deleted gets no new value", () => {
    expect(step({ key: stored(), secret: { kind: "missing" } })).toEqual({ kind: "done", secretProblem: "SecretMissing" });
  });

  test("whose Secret contains another value keeps its key", () => {
    const other = owned({ value: valueOf(rotated.secret) });
    expect(step({ key: stored(), secret: other })).toEqual({ kind: "done", secretProblem: "SecretChanged" });
    // A claim to be of a later rotation than was asked for is no rotation.
    const claimed = owned({ value: valueOf(rotated.secret), rotation: 9 });
    expect(step({ key: stored(), secret: claimed })).toEqual({ kind: "done", secretProblem: "SecretChanged" });
  });

  test("that was deleted in the dashboard stays deleted", () => {
    expect(step({ key: stored({ revokedForMs: 5 }) })).toEqual({ kind: "done", secretProblem: null });
  });
});

describe("a rotation", () => {
  const asked = resource({ rotation: { generation: 2, overlap: "1h" } });

  test("stores the new value next to the old one", () => {
    expect(step({ resource: asked, key: stored({}, asked), secret: owned() })).toEqual({
      kind: "rotate secret",
      publicId: minted.publicId,
      rotation: 2,
      resourceVersion: "5",
      previous: minted.value,
    });
  });

  test("without overlap removes the old one", () => {
    const atOnce = resource({ rotation: { generation: 2, overlap: "0s" } });
    expect(step({ resource: atOnce, key: stored({}, atOnce), secret: owned() })).toMatchObject({ previous: null });
    const done = owned({ value: valueOf(rotated.secret), rotation: 2 });
    expect(step({ resource: atOnce, key: stored({}, atOnce), secret: done })).toMatchObject({ previousUntilMs: null });
  });

  test("that a crash interrupted continues with the value in the Secret", () => {
    const half = owned({ value: valueOf(rotated.secret), rotation: 2, hasPrevious: true });
    expect(step({ resource: asked, key: stored({}, asked), secret: half })).toEqual({
      kind: "store rotation",
      publicId: minted.publicId,
      secret: rotated.secret,
      rotation: 2,
      previousUntilMs: NOW_MS + 3_600_000,
    });
  });

  test("recreates a deleted Secret, and replaces a foreign value in it", () => {
    const key = stored({}, asked);
    expect(step({ resource: asked, key, secret: { kind: "missing" } })).toEqual({
      kind: "create secret",
      publicId: minted.publicId,
      rotation: 2,
    });
    expect(step({ resource: asked, key, secret: owned({ value: "words" }) })).toMatchObject({
      kind: "rotate secret",
      previous: null,
    });
  });

  test("removes the old value when the overlap is over, and not before", () => {
    const secret = owned({ value: valueOf(rotated.secret), rotation: 2, hasPrevious: true });
    const at = (until: number) =>
      stored({ rotation: 2, secretHash: hashSecret(PEPPER, rotated.secret), previousUntil: new Date(until) }, asked);
    expect(step({ resource: asked, key: at(NOW_MS + 1), secret })).toEqual({ kind: "done", secretProblem: null });
    expect(step({ resource: asked, key: at(NOW_MS), secret })).toEqual({ kind: "end overlap", resourceVersion: "5" });
  });
});

test("limits set by a newer version are not overwritten", () => {
  const key = stored({ unknownLimits: ["imagesPerMinute"], settings: { ...toSettings(resource()), name: "before" } });
  expect(step({ key, secret: owned() })).toEqual({ kind: "done", secretProblem: null });
});
