import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import { GROUP, VERSION } from "../crd/group.ts";
import type { KubeClient } from "./client.ts";
import { readConditions } from "./conditions.ts";
import { isKubeError } from "./kube-error.ts";
import { kubeObjectSchema, type KubeObject } from "./object.ts";
import { CLAIM_FIELD } from "./ownership.ts";
import { objectPath, PLURALS, type OwnKind } from "./paths.ts";

export interface StatusWrite {
  kind: OwnKind;
  object: KubeObject;
  status: object;
  /** Each writes only the fields that it owns. */
  manager: string;
  /**
   * Fields that other managers of the operator write. All others of the status are removed, whoever wrote them: a backup restores
   * what was true of an earlier object. If absent, none are.
   */
  others?: readonly string[];
  /** The latest known object. */
  find(): KubeObject | undefined;
}

/**
 * Sets the manager's part of a status, by server-side apply.
 * @returns the object as stored; null if nothing was written, because it is deleted, or another one has its name.
 */
export async function applyStatus(client: Pick<KubeClient, "send">, write: StatusWrite): Promise<KubeObject | null> {
  try {
    const written = kubeObjectSchema.parse(await send(client, write));
    return write.others === undefined ? written : await removeStrange(client, { ...write, others: write.others, written });
  } catch (error) {
    // 409 means another uid, or too many concurrent writers: then it must be retried.
    const isGone = write.find()?.metadata.uid !== write.object.metadata.uid;
    if (isKubeError(error, 404) || (isKubeError(error, 409) && isGone)) return null;
    throw error;
  }
}

async function send(client: Pick<KubeClient, "send">, { kind, object, status, manager }: StatusWrite): Promise<unknown> {
  const { name, namespace, uid } = object.metadata;
  const content = { apiVersion: `${GROUP}/${VERSION}`, kind, metadata: { name, namespace, uid }, status };
  return await client.send({
    method: "PATCH",
    path: `${objectPath(PLURALS[kind], { namespace, name })}/status`,
    query: { fieldManager: manager, force: "true" },
    body: { type: "apply", content },
  });
}

/** An apply removes only what its manager owns. @returns the object as stored. */
async function removeStrange(
  client: Pick<KubeClient, "send">,
  { kind, status, manager, others, written }: StatusWrite & { others: readonly string[]; written: KubeObject },
): Promise<KubeObject> {
  const names = Object.keys(recordSchema.parse(written["status"]));
  const strange = names.filter((name) => name !== CLAIM_FIELD && !others.includes(name) && !Object.hasOwn(status, name));
  const wanted = new Set(readConditions(status).map(({ type }) => type));
  const conditions = readConditions(written["status"]);
  const known = conditions.filter(({ type }) => wanted.has(type));
  const change = {
    ...Object.fromEntries(strange.map((name) => [name, null])),
    ...(known.length === conditions.length ? {} : { conditions: known }),
  };
  if (Object.keys(change).length === 0) return written;
  const { name, namespace, uid, resourceVersion } = written.metadata;
  const answer = await client.send({
    method: "PATCH",
    path: `${objectPath(PLURALS[kind], { namespace, name })}/status`,
    query: { fieldManager: manager },
    body: { type: "merge", content: { metadata: { uid, resourceVersion }, status: change } },
  });
  return kubeObjectSchema.parse(answer);
}

const recordSchema = z.record(z.string(), z.unknown()).catch({});

/** Whether writing would change any field of the status other than the claim (ownership.ts) and the ignored ones. */
export function isStatusSame(object: KubeObject, status: object, leftOut: readonly string[] = []): boolean {
  const before = recordSchema.parse(object["status"]);
  const after = recordSchema.parse(status);
  const names = new Set(
    [...Object.keys(before), ...Object.keys(after)].filter((name) => name !== CLAIM_FIELD && !leftOut.includes(name)),
  );
  return [...names].every((name) =>
    isDeepStrictEqual(before[name], JSON.parse(JSON.stringify(after[name] ?? null)) ?? undefined),
  );
}
