import * as z from "zod";

const metadataSchema = z.looseObject({
  name: z.string(),
  namespace: z.string().default(""),
  uid: z.string(),
  resourceVersion: z.string(),
  generation: z.int().default(0),
  creationTimestamp: z.string().optional(),
  deletionTimestamp: z.string().optional(),
  finalizers: z.array(z.string()).default([]),
  /**
   * Field ownership is useless here, and larger than all the rest. An object may lack it: anyone who may patch it can clear it.
   */
  managedFields: z
    .unknown()
    .transform(() => undefined)
    .optional(),
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
