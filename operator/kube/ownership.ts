import * as z from "zod";
import { GROUP, VERSION } from "../crd/group.ts";
import type { KubeClient } from "./client.ts";
import type { WantedCondition } from "./conditions.ts";
import { isKubeError } from "./kube-error.ts";
import { leaseSchema } from "./lease.ts";
import { splitKey, type KubeObject } from "./object.ts";
import { objectPath, PLURALS, type OwnKind } from "./paths.ts";

type Claim =
  | { kind: "own" }
  /** The release with this Lease, `namespace/name`, writes it. */
  | { kind: "other's"; lease: string }
  /** Somebody else has just changed it, or its release may be gone: look again. */
  | { kind: "contested" };

/** What has become of a release with a claim. */
type Outcome = "there" | "gone" | "unsure";

/** Which release writes a resource, if several watch its namespace. */
export interface Ownership {
  /** Claims the resource for this release if it is unclaimed, or if its release is gone. */
  claim(kind: OwnKind, object: KubeObject): Promise<Claim>;
  /** Whether this release has claimed it. */
  isOwn(object: KubeObject): boolean;
  /** The status of a claimed resource about its release. */
  condition(): WantedCondition;
}

export interface OwnershipDeps {
  client: Pick<KubeClient, "send">;
  /** Of this release. */
  lease: { namespace: string; name: string };
  /** Identifies the Lease across renames and reinstallations; null before it was seen. */
  leaseUid(): string | null;
  clock: { nowMs(): number };
  /** Measures how old an answer is: unlike `clock`, nobody sets it back. */
  steady: { nowMs(): number };
}

/** Status field of the claim, under a separate field manager. */
export const CLAIM_FIELD = "managedBy";
const FIELD_MANAGER = "model-gateway-claim";
/** A release whose operators have not renewed their Lease for this long is gone: they do every two seconds. */
const GONE_AFTER_MS = 300_000;
const FRESH_MS = 10_000;
/** A Lease that looks old is watched for this long, and read this often at most. */
const WATCHED_MS = 10_000;
const UNSURE_MS = 1_000;
const MAX_LEASES = 1_000;

const claimSchema = z.object({ [CLAIM_FIELD]: z.object({ lease: z.string(), uid: z.string() }) });
const renewalSchema = leaseSchema.transform(({ metadata, spec }) => ({ uid: metadata.uid, renewTime: spec.renewTime ?? "" }));

export function createOwnership({ client, lease, leaseUid, clock, steady }: OwnershipDeps): Ownership {
  const own = `${lease.namespace}/${lease.name}`;
  const judged = new Map<string, { outcome: Outcome; atMs: number }>();
  /** Times of Leases that look old, and since when this process has seen no other. */
  const unrenewed = new Map<string, { renewTime: string; sinceMs: number }>();

  async function outcomeOf(claimed: { lease: string; uid: string }): Promise<Outcome> {
    const known = judged.get(claimed.uid);
    const freshMs = known?.outcome === "unsure" ? UNSURE_MS : FRESH_MS;
    if (known !== undefined && steady.nowMs() - known.atMs < freshMs) return known.outcome;
    for (const each of [judged, unrenewed]) if (each.size >= MAX_LEASES) each.clear();
    const outcome = await askForLease(claimed);
    judged.set(claimed.uid, { outcome, atMs: steady.nowMs() });
    return outcome;
  }

  async function askForLease(claimed: { lease: string; uid: string }): Promise<Outcome> {
    try {
      const path = objectPath("leases", splitKey(claimed.lease));
      const { uid, renewTime } = renewalSchema.parse(await client.send({ method: "GET", path }));
      if (uid !== claimed.uid) return "gone";
      return clock.nowMs() - Date.parse(renewTime) < GONE_AFTER_MS ? "there" : outcomeByChange(uid, renewTime);
    } catch (error) {
      if (isKubeError(error, 404)) return "gone";
      // Nothing is known about it, so it keeps its claim.
      if (isKubeError(error, 403)) return "there";
      throw error;
    }
  }

  /** The time is another machine's, whose clock may be minutes behind: only a Lease that does not change is old. */
  function outcomeByChange(uid: string, renewTime: string): Outcome {
    const seen = unrenewed.get(uid);
    if (seen?.renewTime === renewTime) return steady.nowMs() - seen.sinceMs >= WATCHED_MS ? "gone" : "unsure";
    unrenewed.set(uid, { renewTime, sinceMs: steady.nowMs() });
    return seen === undefined ? "unsure" : "there";
  }

  /** @returns false if the object was no longer as read. */
  async function write(kind: OwnKind, { metadata }: KubeObject, uid: string): Promise<boolean> {
    const { name, namespace, resourceVersion } = metadata;
    const content = {
      apiVersion: `${GROUP}/${VERSION}`,
      kind,
      metadata: { name, namespace, uid: metadata.uid, resourceVersion },
      status: { [CLAIM_FIELD]: { lease: own, uid } },
    };
    try {
      await client.send({
        method: "PATCH",
        path: `${objectPath(PLURALS[kind], { namespace, name })}/status`,
        query: { fieldManager: FIELD_MANAGER, force: "true" },
        body: { type: "apply", content },
      });
      return true;
    } catch (error) {
      if (isKubeError(error, 404, 409)) return false;
      throw error;
    }
  }

  return {
    async claim(kind, object) {
      const uid = leaseUid();
      if (uid === null) return { kind: "contested" };
      const claimed = claimOn(object);
      if (claimed?.uid === uid) return { kind: "own" };
      const outcome = claimed === null ? "gone" : await outcomeOf(claimed);
      if (claimed !== null && outcome === "there") return { kind: "other's", lease: claimed.lease };
      if (outcome === "unsure") return { kind: "contested" };
      return { kind: (await write(kind, object, uid)) ? "own" : "contested" };
    },
    isOwn(object) {
      const uid = leaseUid();
      return uid !== null && claimOn(object)?.uid === uid;
    },
    condition: () => ({ type: "Managed", isTrue: true, reason: "Managed", message: `by the operator with the Lease ${own}` }),
  };
}

function claimOn(object: KubeObject): { lease: string; uid: string } | null {
  const parsed = claimSchema.safeParse(object["status"] ?? {});
  return parsed.success ? parsed.data[CLAIM_FIELD] : null;
}

/** An operator's message about a resource that another release writes. */
export function describeOther(lease: string): { type: "Warning"; reason: string; note: string } {
  const note = `the operator with the Lease ${lease} manages it; this one, of another release that watches the same namespace, leaves it alone`;
  return { type: "Warning", reason: "ManagedElsewhere", note };
}
