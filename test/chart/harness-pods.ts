import * as z from "zod";
import type { KubeObject } from "./harness-render.ts";

const variableSchema = z.looseObject({
  name: z.string(),
  value: z.string().optional(),
  valueFrom: z
    .object({
      secretKeyRef: z.object({ name: z.string(), key: z.string() }).optional(),
      fieldRef: z.object({ fieldPath: z.string() }).optional(),
    })
    .optional(),
});

const containerSchema = z.looseObject({
  name: z.string(),
  image: z.string(),
  command: z.array(z.string()).default([]),
  args: z.array(z.string()).default([]),
  env: z.array(variableSchema).default([]),
});

const podSpecSchema = z.looseObject({
  automountServiceAccountToken: z.boolean(),
  terminationGracePeriodSeconds: z.number().optional(),
  initContainers: z.array(containerSchema).default([]),
  containers: z.array(containerSchema),
});

const podSchema = z.object({ spec: podSpecSchema });
const workloadSchema = z.object({
  spec: z.object({ template: z.looseObject({ metadata: z.looseObject({}), spec: z.unknown() }) }),
});

export type Container = z.infer<typeof containerSchema>;

export interface Pod {
  /** Of the workload that makes it. */
  owner: string;
  object: object;
  spec: z.infer<typeof podSpecSchema>;
  containers: Container[];
}

/** The Pods that a chart's workloads would make, with what their controllers add: a name, and volumes for claims. */
export function podsOf(objects: readonly KubeObject[]): Pod[] {
  return objects.flatMap((object) => {
    const name = object.metadata.name;
    if (object.kind === "Pod") return [toPod(name, object)];
    if (!["Deployment", "StatefulSet", "Job"].includes(object.kind)) return [];
    const { template } = workloadSchema.parse(object).spec;
    return [
      toPod(name, {
        apiVersion: "v1",
        kind: "Pod",
        metadata: { ...template.metadata, name },
        spec: withClaims(object, template.spec),
      }),
    ];
  });
}

const claimsSchema = z.object({
  spec: z.object({ volumeClaimTemplates: z.array(z.object({ metadata: z.object({ name: z.string() }) })).default([]) }),
});
const volumesSchema = z.looseObject({ volumes: z.array(z.unknown()).default([]) });

function withClaims(workload: KubeObject, spec: unknown): object {
  const claims = claimsSchema
    .parse(workload)
    .spec.volumeClaimTemplates.map(({ metadata: { name } }) => ({ name, persistentVolumeClaim: { claimName: `${name}-0` } }));
  const parsed = volumesSchema.parse(spec);
  return { ...parsed, volumes: [...parsed.volumes, ...claims] };
}

function toPod(owner: string, object: object): Pod {
  const { spec } = podSchema.parse(object);
  return { owner, object, spec, containers: [...spec.initContainers, ...spec.containers] };
}
