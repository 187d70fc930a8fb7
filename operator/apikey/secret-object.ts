import * as z from "zod";
import { GROUP, VERSION } from "../crd/group.ts";
import type { KubeObject } from "../kube/object.ts";
import { decodeValue, secretData } from "../kube/secret-data.ts";
import type { ApiKeyResource } from "./resource.ts";

/** The current Secret of an ApiKey. */
export type ObservedSecret =
  /** Not read yet. */
  | { kind: "unread" }
  | { kind: "missing" }
  /** It exists, but belongs to something else. */
  | { kind: "foreign"; resourceVersion: string }
  | {
      kind: "owned";
      resourceVersion: string;
      /** Undefined if the Secret lacks the key. */
      value: string | undefined;
      /** The spec.rotation.generation that it was created for. */
      rotation: number;
      hasPrevious: boolean;
    };

const ROTATION = `${GROUP}/rotation`;
const PUBLIC_ID = `${GROUP}/key-id`;
const CREATED_BY = `${GROUP}/apikey`;

/** The location of the value: Secret and key in it. */
export function secretReference({ metadata, spec }: ApiKeyResource) {
  const { name, key } = spec.secretRef ?? { name: metadata.name, key: "api-key" };
  return { namespace: metadata.namespace, name, key, previousKey: `${key}-previous` };
}

export interface SecretValue {
  publicId: string;
  value: string;
  rotation: number;
}

/** A new Secret, to be created and never applied: an apply would replace an existing value. */
export function buildSecret(resource: ApiKeyResource, uid: string, { publicId, value, rotation }: SecretValue): object {
  const { namespace, name, key } = secretReference(resource);
  const owner = { apiVersion: `${GROUP}/${VERSION}`, kind: "ApiKey", name: resource.metadata.name, uid };
  return {
    apiVersion: "v1",
    kind: "Secret",
    type: "Opaque",
    metadata: {
      name,
      namespace,
      labels: { "app.kubernetes.io/managed-by": "model-gateway" },
      annotations: { [ROTATION]: String(rotation), [PUBLIC_ID]: publicId, [CREATED_BY]: resource.metadata.name },
      ownerReferences: [{ ...owner, controller: true, blockOwnerDeletion: true }],
    },
    data: { [key]: encode(value) },
  };
}

export interface RotatedSecret extends SecretValue {
  resourceVersion: string;
  /** The previous value, if it stays valid for a while. */
  previous: string | null;
}

/** A merge patch that stores a new value; it fails if the Secret has changed since it was read. */
export function buildRotation(resource: ApiKeyResource, rotated: RotatedSecret): object {
  const { key, previousKey } = secretReference(resource);
  return {
    metadata: { resourceVersion: rotated.resourceVersion, annotations: { [ROTATION]: String(rotated.rotation) } },
    data: { [key]: encode(rotated.value), [previousKey]: rotated.previous === null ? null : encode(rotated.previous) },
  };
}

/** A merge patch that removes the previous value. */
export function buildEndOfOverlap(resource: ApiKeyResource, resourceVersion: string): object {
  return { metadata: { resourceVersion }, data: { [secretReference(resource).previousKey]: null } };
}

const secretSchema = z.object({
  metadata: z.object({
    resourceVersion: z.string(),
    annotations: z.record(z.string(), z.string()).default({}),
    ownerReferences: z.array(z.object({ uid: z.string(), controller: z.boolean().default(false) })).default([]),
  }),
  data: secretData,
});

export function observeSecret(
  object: unknown,
  { resource, uid }: { resource: ApiKeyResource; uid: KubeObject["metadata"]["uid"] },
): ObservedSecret {
  const { metadata, data } = secretSchema.parse(object);
  if (!metadata.ownerReferences.some((owner) => owner.controller && owner.uid === uid))
    return { kind: "foreign", resourceVersion: metadata.resourceVersion };
  const { key, previousKey } = secretReference(resource);
  const encoded = data.get(key);
  const rotation = Number(metadata.annotations[ROTATION] ?? "0");
  return {
    kind: "owned",
    resourceVersion: metadata.resourceVersion,
    value: encoded === undefined ? undefined : decodeValue(encoded),
    rotation: Number.isSafeInteger(rotation) ? rotation : 0,
    hasPrevious: data.has(previousKey),
  };
}

function encode(value: string): string {
  return Buffer.from(value).toString("base64");
}
