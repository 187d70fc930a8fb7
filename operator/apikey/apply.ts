import { randomBytes } from "node:crypto";
import type { Database } from "../../ledger/postgres/database.ts";
import { hashSecret, mintApiKey, renewApiKey } from "../../ledger/keys/keys.ts";
import {
  addResourceKey,
  assignResourceKeyProject,
  changeResourceKey,
  readResourceKey,
  rotateResourceKey,
} from "../../ledger/keys/resource-keys.ts";
import type { KubeClient } from "../kube/client.ts";
import { isKubeError } from "../kube/kube-error.ts";
import { keyOf, type KubeObject } from "../kube/object.ts";
import { listPath, objectPath } from "../kube/paths.ts";
import { addFinalizer, FINALIZER } from "./finalizer.ts";
import { nextStep, type Observation, type SecretProblem, type Step } from "./reconcile.ts";
import type { ApiKeyResource } from "./resource.ts";
import { buildEndOfOverlap, buildRotation, buildSecret, observeSecret, secretReference } from "./secret-object.ts";
import { toSettings } from "./settings.ts";

export interface ApplyDeps {
  client: Pick<KubeClient, "send">;
  database: Database;
  pepper: Buffer;
  /** This installation of the operator. */
  origin: string;
  clock: { nowMs(): number };
  /** Whether this process may write now. */
  isLeader(): boolean;
}

export interface Applied extends Pick<Observation, "key" | "hasAccount" | "hasProject" | "secret"> {
  secretProblem: SecretProblem | null;
  hasRotated: boolean;
}

/** More steps than any ApiKey needs. */
const MAX_STEPS = 12;

/**
 * Reconciles an ApiKey step by step, each decided from the current state.
 * @returns null if this process no longer leads.
 */
export async function applyApiKey(deps: ApplyDeps, object: KubeObject, resource: ApiKeyResource): Promise<Applied | null> {
  const { client, database, pepper, origin, clock } = deps;
  const { uid } = object.metadata;
  const { account: accountId, project } = resource.spec;
  const secret = secretReference(resource);
  const secretPath = objectPath("secrets", secret);
  const identity = { uid, origin, namespace: object.metadata.namespace, resourceName: object.metadata.name };
  const observation: Observation = {
    resource,
    hasFinalizer: object.metadata.finalizers.includes(FINALIZER),
    ...(await readResourceKey(database, { uid, accountId, project })),
    secret: { kind: "unread" },
    isForeignKey: false,
    hasRoom: true,
    hasProject: true,
    origin,
    nowMs: clock.nowMs(),
    isStored: (secret, hash) => hashSecret(pepper, secret).equals(hash),
  };
  let hasRotated = false;

  const observe = (object: unknown) => void (observation.secret = observeSecret(object, { resource, uid }));
  async function rereadKey(): Promise<void> {
    Object.assign(observation, await readResourceKey(database, { uid, accountId, project }));
  }
  async function readSecret(): Promise<void> {
    try {
      observe(await client.send({ method: "GET", path: secretPath }));
    } catch (error) {
      if (!isKubeError(error, 404)) throw error;
      observation.secret = { kind: "missing" };
    }
  }
  async function createSecret(publicId: string | null, rotation: number): Promise<void> {
    const minted = publicId === null ? mintApiKey(randomBytes) : renewApiKey(publicId, randomBytes);
    const content = buildSecret(resource, uid, { ...minted, rotation });
    try {
      // The answer is the stored object.
      observe(
        await client.send({ method: "POST", path: listPath("secrets", secret.namespace), body: { type: "json", content } }),
      );
    } catch (error) {
      if (!isKubeError(error, 409)) throw error;
      await readSecret();
    }
  }
  async function patchSecret(content: object): Promise<void> {
    observe(await client.send({ method: "PATCH", path: secretPath, body: { type: "merge", content } }));
  }

  async function take(step: Exclude<Step, { kind: "done" }>): Promise<void> {
    switch (step.kind) {
      case "add finalizer":
        await addFinalizer(client, object);
        observation.hasFinalizer = true;
        return;
      case "read secret":
        return await readSecret();
      case "create secret":
        return await createSecret(step.publicId, step.rotation);
      case "rotate secret": {
        const { publicId, rotation, resourceVersion, previous } = step;
        return await patchSecret(
          buildRotation(resource, { ...renewApiKey(publicId, randomBytes), rotation, resourceVersion, previous }),
        );
      }
      case "end overlap":
        return await patchSecret(buildEndOfOverlap(resource, step.resourceVersion));
      case "store key": {
        const { publicId, secret, rotation } = step;
        const key = { publicId, secret, rotation, pepper, accountId, settings: toSettings(resource) };
        const stored = await addResourceKey(database, { ...identity, ...key });
        observation.isForeignKey = stored === "foreign";
        observation.hasRoom = stored !== "no room";
        return await rereadKey();
      }
      case "store rotation": {
        const { publicId, secret, rotation, previousUntilMs } = step;
        const previousUntil = previousUntilMs === null ? null : new Date(previousUntilMs);
        await rotateResourceKey(database, { uid, publicId, secret, pepper, rotation, previousUntil });
        hasRotated = true;
        return await rereadKey();
      }
      case "change settings":
        await changeResourceKey(database, { uid, origin, settings: toSettings(resource) });
        return await rereadKey();
      case "assign project":
        observation.hasProject = await assignResourceKeyProject(database, { uid, project: step.project });
        return await rereadKey();
    }
  }

  for (let steps = 0; steps < MAX_STEPS; steps++) {
    if (!deps.isLeader()) return null;
    const step = nextStep(observation);
    if (step.kind === "done") {
      const { key, hasAccount, hasProject, secret } = observation;
      return { key, hasAccount, hasProject, secret, secretProblem: step.secretProblem, hasRotated };
    }
    await take(step);
  }
  throw new Error(`ApiKey ${keyOf(object)} does not converge.`);
}
