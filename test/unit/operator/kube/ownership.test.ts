import { expect, test } from "vitest";
import { KubeError } from "../../../../operator/kube/kube-error.ts";
import { kubeObjectSchema } from "../../../../operator/kube/object.ts";
import { createOwnership } from "../../../../operator/kube/ownership.ts";

const LEASE = { namespace: "gateway-system", name: "own" };
const OTHER = "gateway-system/other";
const claimed = kubeObjectSchema.parse({
  metadata: { name: "m", namespace: "team-a", uid: "1", resourceVersion: "1", generation: 1 },
  status: { managedBy: { lease: OTHER, uid: "other-uid" } },
});

/** A resource that another release claims, whose Lease the test renews. */
function start() {
  const now = { clockMs: Date.parse("2026-11-29T12:00:00Z"), steadyMs: 0 };
  const lease = { renewTime: "2026-11-29T12:00:00Z", isThere: true };
  const writes: string[] = [];
  const ownership = createOwnership({
    client: {
      async send({ method, path }) {
        if (method === "PATCH") return void writes.push(path);
        if (!lease.isThere) throw new KubeError(404, { reason: "NotFound", message: 'leases "other" not found' });
        return { metadata: { uid: "other-uid", resourceVersion: "1" }, spec: { renewTime: lease.renewTime } };
      },
    },
    lease: LEASE,
    leaseUid: () => "own-uid",
    clock: { nowMs: () => now.clockMs },
    steady: { nowMs: () => now.steadyMs },
  });
  return { now, lease, writes, claim: () => ownership.claim("Model", claimed) };
}

test("a release whose Lease is renewed keeps its claims, however far its clock is behind", async () => {
  const { now, lease, writes, claim } = start();
  expect(await claim()).toEqual({ kind: "other's", lease: OTHER });
  now.clockMs += 3_600_000;
  now.steadyMs += 20_000;
  expect(await claim()).toEqual({ kind: "contested" });
  for (const renewTime of ["2026-11-29T12:00:20Z", "2026-11-29T12:00:40Z", "2026-11-29T12:01:00Z"]) {
    now.steadyMs += 20_000;
    lease.renewTime = renewTime;
    expect(await claim()).toEqual({ kind: "other's", lease: OTHER });
  }
  expect(writes).toEqual([]);
});

test("a release whose Lease has been old for a while, or is deleted, loses its claims", async () => {
  const { now, writes, claim } = start();
  now.clockMs += 300_000;
  expect(await claim()).toEqual({ kind: "contested" });
  now.steadyMs += 5_000;
  expect(await claim()).toEqual({ kind: "contested" });
  now.steadyMs += 5_000;
  expect(await claim()).toEqual({ kind: "own" });
  expect(writes).toHaveLength(1);

  const another = start();
  another.lease.isThere = false;
  expect(await another.claim()).toEqual({ kind: "own" });
});
