import * as z from "zod";
import { conditions, managedBy, observedGeneration, time } from "../crd/conditions.ts";

/** An ApiKey's status as the operator writes it. No part of it leads to the value. */
export const apiKeyStatusSchema = z
  .strictObject({
    observedGeneration: observedGeneration.optional(),
    managedBy: managedBy.optional(),
    keyId: z.string().max(64).optional().describe("Public id of the key, which usage reports name."),
    keyPrefix: z.string().max(64).optional().describe("The key as pages show it, masked; it is no credential."),
    secretName: z.string().max(253).optional().describe("Name of the Secret that holds the value."),
    observedRotation: z.int().nonnegative().optional().describe("The spec.rotation.generation whose value is in the Secret."),
    previousKeyExpiresAt: time("Until when the value before the last rotation is valid.").optional(),
    lastUsedAt: time("When the key was last used, give or take a minute.").optional(),
    spend: z
      .strictObject({
        amount: z.string().max(32).describe("USD, as a decimal string."),
        asOf: time("When the amount was read."),
      })
      .optional()
      .describe(
        "What the key has spent in the window of spec.spendLimit, in the UTC month where there is none; give or take a minute.",
      ),
    conditions: conditions(
      "Accepted: the account is there. SecretReady: the Secret holds the value. Synced: the gateway knows the key as it is here. Managed: by which operator. Ready: all of it, and requests with the key are served.",
    ),
  })
  .describe("What became of the ApiKey; written by the operator.");
