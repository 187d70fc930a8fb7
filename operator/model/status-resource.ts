import * as z from "zod";
import { conditions, managedBy, observedGeneration } from "../crd/conditions.ts";
import { explain } from "../crd/explain.ts";

const backendStatus = z.strictObject({
  name: z.string().max(63).describe("The backend's name in the spec."),
  ready: z.boolean().describe("Whether it can receive requests."),
  reason: z.string().max(1_024).optional().describe("Reason if not, in CamelCase, for programs."),
  message: z.string().max(32_768).optional().describe("Reason if not, and remedy, for people."),
});

/** A Model's status as the operator writes it. */
export const modelStatusSchema = z
  .strictObject({
    observedGeneration: observedGeneration.optional(),
    managedBy: managedBy.optional(),
    backendsSummary: z.string().max(16).optional().describe("Backends that can receive requests, of all: 2/2."),
    configVersion: z.string().max(128).optional().describe("Version of Envoy's configuration that includes this generation."),
    names: z
      .array(z.string().max(128))
      .max(17)
      .optional()
      .meta(explain("Names that clients can use, including aliases; no other Model can take them.", { list: "set" })),
    backends: z
      .array(backendStatus)
      .max(16)
      .optional()
      .meta(explain("Observed state of each backend.", { list: { key: "name" } })),
    conditions: conditions(
      "Accepted: the Model is valid. ResolvedRefs: its Secrets exist and are usable. Reachable: the hosts of its backends exist. Programmed: every Envoy has accepted it. Managed: which operator manages it. Ready: clients can use the Model. AliasesAccepted, False: another Model already serves one of its aliases, so this one does not.",
    ),
  })
  .describe("Observed state of the Model, written by the operator.");
