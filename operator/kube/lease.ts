import * as z from "zod";

/** The part of a Lease that identifies the leader. */
const leaseSpecSchema = z.object({
  holderIdentity: z.string().nullish(),
  leaseDurationSeconds: z.int().nullish(),
  acquireTime: z.string().nullish(),
  renewTime: z.string().nullish(),
  leaseTransitions: z.int().nullish(),
});

export const leaseSchema = z.looseObject({
  metadata: z.looseObject({ uid: z.string(), resourceVersion: z.string() }),
  spec: leaseSpecSchema.default({}),
});
export type Lease = z.infer<typeof leaseSchema>;

export interface LeaseView {
  lease: Lease;
  /** For how long, by this machine's clock, the Lease has been unchanged. */
  unchangedMs: number;
  identity: string;
  durationSeconds: number;
  /** ISO 8601 with microseconds. */
  now: string;
}

/** What to write into the Lease in order to lead; null while another process holds it. */
export function claimLease({ lease, unchangedMs, identity, durationSeconds, now }: LeaseView): object | null {
  const { holderIdentity, leaseDurationSeconds, acquireTime, leaseTransitions } = lease.spec;
  const isMine = holderIdentity === identity;
  // Times in the Lease are another machine's: only the duration without a change counts.
  const isHeld =
    holderIdentity !== "" && holderIdentity != null && unchangedMs < (leaseDurationSeconds ?? durationSeconds) * 1000;
  if (!isMine && isHeld) return null;
  return {
    ...lease.spec,
    holderIdentity: identity,
    leaseDurationSeconds: durationSeconds,
    renewTime: now,
    acquireTime: isMine ? (acquireTime ?? now) : now,
    leaseTransitions: (leaseTransitions ?? 0) + (isMine ? 0 : 1),
  };
}

/** What to write into our own Lease so that the next process can lead at once. */
export function releaseLease(lease: Lease, now: string): object {
  return { ...lease.spec, holderIdentity: "", leaseDurationSeconds: 1, renewTime: now };
}

/** A time in the format of Leases and Events. */
export function toMicroTime(nowMs: number): string {
  return new Date(nowMs).toISOString().replace("Z", "000Z");
}
