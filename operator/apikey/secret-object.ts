import * as z from "zod";
import { GROUP, VERSION } from "../crd/group.ts";
import type { KubeObject } from "../kube/object.ts";
import type { ApiKeyResource } from "./resource.ts";

/** The Secret of an ApiKey as it is. */
export type ObservedSecret =
  /** Not looked at yet. */
  | { kind: "unread" }
  | { kind: "missing" }
  /** It is there, and is not this ApiKey's. */
  | { kind: "foreign" }
  | {
      kind: "owned";
      resourceVersion: string;
      /** Undefined where the key of the Secret is gone. */
      value: string | undefined;
      /** The spec.rotation.generation that it was made for. */
      rotation: number;
      hasPrevious: boolean;
    };

const ROTATION = `${GROUP}/rotation`;
const PUBLIC_ID = `${GROUP}/key-id`;
const CREATED_BY = `${GROUP}/apikey`;

/** Where the value is: Secret and key within it. */
export function secretReference({ metadata, spec }: ApiKeyResource) {
  const { name, key } = spec.secretRef ?? { name: metadata.name, key: "api-key" };
  return { namespace: metadata.namespace, name, key, previousKey: `${key}-previous` };
}

export interface SecretValue {
  publicId: string;
  value: string;
  rotation: number;
}

/** A new Secret, to be created and never applied: an apply would replace a value that is there. */
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
  /** The value until now, where it stays valid for a while. */
  previous: string | null;
}

/** A merge patch that puts a new value in; it fails where the Secret has changed since it was read. */
export function buildRotation(resource: ApiKeyResource, rotated: RotatedSecret): object {
  const { key, previousKey } = secretReference(resource);
  return {
    metadata: { resourceVersion: rotated.resourceVersion, annotations: { [ROTATION]: String(rotated.rotation) } },
    data: { [key]: encode(rotated.value), [previousKey]: rotated.previous === null ? null : encode(rotated.previous) },
  };
}

/** A merge patch that takes the former value out. */
export function buildEndOfOverlap(resource: ApiKeyResource, resourceVersion: string): object {
  return { metadata: { resourceVersion }, data: { [secretReference(resource).previousKey]: null } };
}

const secretSchema = z.object({
  metadata: z.object({
    resourceVersion: z.string(),
    annotations: z.record(z.string(), z.string()).default({}),
    ownerReferences: z.array(z.object({ uid: z.string(), controller: z.boolean().default(false) })).default([]),
  }),
  data: z.record(z.string(), z.string()).nullish(),
});

export function observeSecret(
  object: unknown,
  { resource, uid }: { resource: ApiKeyResource; uid: KubeObject["metadata"]["uid"] },
): ObservedSecret {
  const { metadata, data } = secretSchema.parse(object);
  if (!metadata.ownerReferences.some((owner) => owner.controller && owner.uid === uid)) return { kind: "foreign" };
  const { key, previousKey } = secretReference(resource);
  const encoded = data?.[key];
  const rotation = Number(metadata.annotations[ROTATION] ?? "0");
  return {
    kind: "owned",
    resourceVersion: metadata.resourceVersion,
    value: encoded === undefined ? undefined : Buffer.from(encoded, "base64").toString("utf8"),
    rotation: Number.isSafeInteger(rotation) ? rotation : 0,
    hasPrevious: data?.[previousKey] !== undefined,
  };
}

function encode(value: string): string {
  return Buffer.from(value).toString("base64");
}
