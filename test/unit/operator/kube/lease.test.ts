import { expect, test } from "vitest";
import { claimLease, leaseSchema, releaseLease, toMicroTime } from "../../../../operator/kube/lease.ts";

const NOW = "2026-11-21T12:00:00.000000Z";
const lease = (spec: object = {}) => leaseSchema.parse({ metadata: { uid: "u", resourceVersion: "1" }, spec });
const claim = (spec: object, unchangedMs = 0) =>
  claimLease({ lease: lease(spec), unchangedMs, identity: "me", durationSeconds: 15, now: NOW });

test("a Lease that nobody holds is taken", () => {
  const taken = { holderIdentity: "me", leaseDurationSeconds: 15, renewTime: NOW, acquireTime: NOW, leaseTransitions: 1 };
  expect(claim({})).toEqual(taken);
  expect(claim({ holderIdentity: "" })).toEqual(taken);
});

test("another's Lease is left alone until it has not been renewed for its duration, by our own clock", () => {
  const others = { holderIdentity: "other", leaseDurationSeconds: 15, leaseTransitions: 3 };
  expect(claim(others, 14_999)).toBeNull();
  expect(claim(others, 15_000)).toMatchObject({ holderIdentity: "me", leaseTransitions: 4 });
});

test("our own Lease is renewed, and keeps its acquisition time", () => {
  const mine = { holderIdentity: "me", acquireTime: "2026-01-01T00:00:00.000000Z", leaseTransitions: 3 };
  expect(claim(mine)).toMatchObject({ acquireTime: mine.acquireTime, renewTime: NOW, leaseTransitions: 3 });
});

test("a released Lease is free at once", () => {
  const released = lease(releaseLease(lease({ holderIdentity: "other", leaseDurationSeconds: 15 }), NOW));
  expect(claimLease({ lease: released, unchangedMs: 0, identity: "me", durationSeconds: 15, now: NOW })).toMatchObject({
    holderIdentity: "me",
    leaseDurationSeconds: 15,
  });
});

test("times have microseconds, as the API server requires", () => {
  expect(toMicroTime(Date.parse("2026-11-21T12:00:00.5Z"))).toBe("2026-11-21T12:00:00.500000Z");
});
