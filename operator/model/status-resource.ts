import * as z from "zod";
import { conditions, managedBy, observedGeneration } from "../crd/conditions.ts";
import { explain } from "../crd/explain.ts";

const backendStatus = z.strictObject({
  name: z.string().max(63).describe("The backend's name in the spec."),
  ready: z.boolean().describe("Whether it can be sent requests."),
  reason: z.string().max(1_024).optional().describe("Why not, in one word for programs."),
  message: z.string().max(32_768).optional().describe("Why not, and what to do about it, for people."),
});

/** A Model's status as the operator writes it. */
export const modelStatusSchema = z
  .strictObject({
    observedGeneration: observedGeneration.optional(),
    managedBy: managedBy.optional(),
    backendsSummary: z.string().max(16).optional().describe("Backends that can be sent requests, of all: 2/2."),
    configVersion: z.string().max(128).optional().describe("Version of Envoy's configuration that carries this generation."),
    names: z
      .array(z.string().max(128))
      .max(17)
      .optional()
      .meta(explain("Names under which clients are served, aliases included; no other Model can take them.", { list: "set" })),
    backends: z
      .array(backendStatus)
      .max(16)
      .optional()
      .meta(explain("What became of each backend.", { list: { key: "name" } })),
    conditions: conditions(
      "Accepted: the Model is one that can be served. ResolvedRefs: its Secrets are there and usable. Reachable: the hosts of its backends exist. Programmed: every Envoy took it. Managed: by which operator. Ready: clients can use the Model. AliasesAccepted, False: another Model serves one of its aliases, and the Model goes without it.",
    ),
  })
  .describe("What became of the Model; written by the operator.");
