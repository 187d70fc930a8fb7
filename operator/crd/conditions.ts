import * as z from "zod";
import { explain } from "./explain.ts";

export const time = (description: string) => z.iso.datetime({ offset: true }).describe(description);

export const observedGeneration = z.int().nonnegative().describe("The metadata.generation that this status reflects.");

const condition = z.strictObject({
  type: z.string().max(316).describe("Type of the condition, in CamelCase."),
  status: z.enum(["True", "False", "Unknown"]).describe("Status of the condition: True, False or Unknown."),
  observedGeneration: observedGeneration.optional(),
  lastTransitionTime: time("When the status last changed."),
  reason: z
    .string()
    .regex(/^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$/, "must be a word in CamelCase")
    .min(1)
    .max(1_024)
    .describe("Reason in CamelCase, for programs."),
  message: z.string().max(32_768).describe("Reason and remedy, for people."),
});

/** The release whose operator writes the resource (operator/kube/ownership.ts). */
export const managedBy = z
  .strictObject({
    lease: z.string().max(512).describe("Its Lease, as namespace/name."),
    uid: z.string().max(64).describe("The Lease's metadata.uid."),
  })
  .describe("The operator that manages the resource; operators of other releases ignore it.");

/** Conditions in the format of every Kubernetes tool; one is called Ready. */
export function conditions(description: string) {
  return z
    .array(condition)
    .max(8)
    .meta(explain(description, { list: { key: "type" } }))
    .optional();
}
