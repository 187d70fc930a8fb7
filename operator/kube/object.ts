import * as z from "zod";

/**
 * The part of the metadata that is used. The rest is dropped: whoever may write ApiKeys in one namespace may give each of them a
 * quarter of a megabyte of annotations, and thousands of those are more than the operator's memory.
 */
const metadataSchema = z.object({
  name: z.string(),
  namespace: z.string().default(""),
  uid: z.string(),
  resourceVersion: z.string(),
  generation: z.int().default(0),
  creationTimestamp: z.string().optional(),
  deletionTimestamp: z.string().optional(),
  finalizers: z.array(z.string()).default([]),
});

/** Any object from the API server. */
export const kubeObjectSchema = z.looseObject({ metadata: metadataSchema });
export type KubeObject = z.infer<typeof kubeObjectSchema>;

/** `namespace/name`. */
export function keyOf({ metadata }: Pick<KubeObject, "metadata">): string {
  return `${metadata.namespace}/${metadata.name}`;
}

export function splitKey(key: string): { namespace: string; name: string } {
  const [namespace = "", name = ""] = key.split("/");
  return { namespace, name };
}
