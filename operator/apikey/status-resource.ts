import * as z from "zod";
import { conditions, managedBy, observedGeneration, time } from "../crd/conditions.ts";

/** An ApiKey's status as the operator writes it. No part of it reveals the value. */
export const apiKeyStatusSchema = z
  .strictObject({
    observedGeneration: observedGeneration.optional(),
    managedBy: managedBy.optional(),
    keyId: z.string().max(64).optional().describe("Public id of the key, as in usage reports."),
    keyPrefix: z
      .string()
      .max(64)
      .optional()
      .describe("The masked form of the key, as the dashboard shows it; it is not a credential."),
    secretName: z.string().max(253).optional().describe("Name of the Secret that contains the value."),
    observedRotation: z.int().nonnegative().optional().describe("The spec.rotation.generation whose value is in the Secret."),
    previousKeyExpiresAt: time("When the value from before the last rotation expires.").optional(),
    lastUsedAt: time("When the key was last used, to within a minute.").optional(),
    spend: z
      .strictObject({
        amount: z.string().max(32).describe("USD, as a decimal string."),
        asOf: time("When the amount was determined."),
      })
      .optional()
      .describe(
        "What the key has spent in the window of spec.spendLimit, or in the UTC month if there is none; up to a minute old.",
      ),
    conditions: conditions(
      "Accepted: the account exists. SecretReady: the Secret contains the value. Synced: the gateway has applied the key as specified. ProjectFound: the account has the project. Managed: which operator manages it. Ready: all of these but ProjectFound, and requests with the key are served.",
    ),
  })
  .describe("Observed state of the ApiKey, written by the operator.");
