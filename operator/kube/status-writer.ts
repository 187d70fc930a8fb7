import { isDeepStrictEqual } from "node:util";
import * as z from "zod";
import { GROUP, VERSION } from "../crd/group.ts";
import type { KubeClient } from "./client.ts";
import { isKubeError } from "./kube-error.ts";
import type { KubeObject } from "./object.ts";
import { CLAIM_FIELD } from "./ownership.ts";
import { objectPath, PLURALS, type OwnKind } from "./paths.ts";

export interface StatusWrite {
  kind: OwnKind;
  object: KubeObject;
  status: object;
  /** Each writes only the fields that it owns. */
  manager: string;
  /** The latest known object. */
  find(): KubeObject | undefined;
}

/**
 * Sets the manager's part of a status, by server-side apply.
 * @returns whether it did: nothing is written to a deleted object, or to another one with its name.
 */
export async function applyStatus(client: Pick<KubeClient, "send">, write: StatusWrite): Promise<boolean> {
  try {
    await send(client, write);
    return true;
  } catch (error) {
    // 409 means another uid, or too many concurrent writers: then it must be retried.
    const isGone = write.find()?.metadata.uid !== write.object.metadata.uid;
    if (isKubeError(error, 404) || (isKubeError(error, 409) && isGone)) return false;
    throw error;
  }
}

async function send(client: Pick<KubeClient, "send">, { kind, object, status, manager }: StatusWrite): Promise<void> {
  const { name, namespace, uid } = object.metadata;
  const content = { apiVersion: `${GROUP}/${VERSION}`, kind, metadata: { name, namespace, uid }, status };
  await client.send({
    method: "PATCH",
    path: `${objectPath(PLURALS[kind], { namespace, name })}/status`,
    query: { fieldManager: manager, force: "true" },
    body: { type: "apply", content },
  });
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
