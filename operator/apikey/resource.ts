import * as z from "zod";
import { COUNT_LIMITS, LIMITS } from "../../contract/limits.ts";
import { explain } from "../crd/explain.ts";
import { GROUP, VERSION } from "../crd/group.ts";
import { durationSchema } from "../model/duration.ts";
import { describeProblems, must } from "../model/field-message.ts";
import { metadataSchema, modelName } from "../model/resource.ts";
import { secretReference } from "../model/secret-reference.ts";

const API_VERSION = `${GROUP}/${VERSION}` as const;

const IMMUTABLE = "must stay as it is; make another ApiKey instead";
const ONLY_GROWS = "must not fall or be removed; give it a higher number to have a new value made";

const count = z.int(must("be a whole number above 0")).positive("must be a whole number above 0");

const spendLimit = z.strictObject(
  {
    amount: z
      .string({ error: (issue) => (issue.input === undefined ? "is required" : 'must be a decimal string such as "100"') })
      .regex(/^(0|[1-9][0-9]{0,8})(\.[0-9]{1,9})?$/, 'must be a decimal string such as "100"')
      .max(19, 'must be a decimal string such as "100"')
      .describe("USD, as a decimal string in quotes."),
    window: z.enum(["Day", "Month"], must("be Day or Month")).describe("Which time the amount is for: a Day or a Month, of UTC."),
  },
  must("hold amount and window"),
);

const rateLimits = z.strictObject(
  Object.fromEntries(COUNT_LIMITS.map((name) => [name, count.optional().describe(LIMITS[name].description)])),
  must(`hold ${COUNT_LIMITS.slice(0, -1).join(", ")} or ${COUNT_LIMITS.at(-1)}`),
);

const rotation = z.strictObject(
  {
    generation: z
      .int(must("be a whole number from 0"))
      .nonnegative("must be a whole number from 0")
      .describe("A higher number than before has a new value made. It may only grow."),
    overlap: durationSchema({
      minimumMs: 0,
      maximumMs: 30 * 24 * 3_600_000,
      claim: "from 0s to 720h",
      description: "How long the value before it stays valid: from 0s to 720h.",
    })
      // Zod takes a default for what comes out; the API server is told what went in.
      .prefault("24h"),
  },
  must("hold generation"),
);

/** What an admin says of an ApiKey. */
export const apiKeySpecSchema = z
  .strictObject(
    {
      account: z
        .string(must("be the id of an account"))
        .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, "must be the id of an account: lower-case letters, digits and -")
        .max(63, "must be at most 63 characters")
        .describe("Id of the account that pays. It never changes."),
      displayName: z
        .string(must("be a string"))
        .min(1, "must not be empty")
        .max(128, "must be at most 128 characters")
        .optional()
        .describe("What the dashboard calls the key; metadata.name where absent."),
      description: z
        .string(must("be a string"))
        .max(256, "must be at most 256 characters")
        .optional()
        .describe("What the key is for, for people."),
      disabled: z.boolean(must("be true or false")).default(false).describe("Refused for the time being."),
      expiresAt: z.iso
        .datetime({ offset: true, ...must('be a time such as "2027-01-31T00:00:00Z"') })
        .optional()
        .describe("From then on the key is refused; never where absent."),
      allowedModels: z
        .array(modelName, must("be a list of names"))
        .max(256, "must have at most 256 entries")
        .refine((names) => new Set(names).size === names.length, "must not name the same model twice")
        .default([])
        .meta(explain("Names of the models that the key may use; every model where empty or absent.", { list: "set" })),
      spendLimit: spendLimit.optional().describe("Most that the key may spend in a time; beyond it requests are refused."),
      rateLimits: rateLimits.optional().describe("How much the key may do at a time; what is not named is not limited."),
      secretRef: secretReference({ key: "api-key" })
        .optional()
        .describe("The Secret that is made for the value; named as the ApiKey where absent. It never changes."),
      rotation: rotation.optional().describe("Has a new value made, while the one before it stays valid for a time."),
    },
    must("be the ApiKey's specification: at least account"),
  )
  .meta(
    explain("Whose key it is, and what it may do.", {
      rules: [
        { rule: "self.account == oldSelf.account", message: IMMUTABLE, field: "account" },
        {
          rule: "has(self.secretRef) == has(oldSelf.secretRef) && (!has(self.secretRef) || self.secretRef == oldSelf.secretRef)",
          message: IMMUTABLE,
          field: "secretRef",
        },
        {
          rule: "!has(oldSelf.rotation) || (has(self.rotation) && self.rotation.generation >= oldSelf.rotation.generation)",
          message: ONLY_GROWS,
          field: "rotation",
        },
      ],
    }),
  );

const apiKeyResourceSchema = z.strictObject(
  {
    apiVersion: z.literal(API_VERSION, must(`be ${API_VERSION}`)),
    kind: z.literal("ApiKey", must("be ApiKey")),
    metadata: metadataSchema,
    spec: apiKeySpecSchema,
    /** Written by the operator, never read. */
    status: z.unknown().optional(),
  },
  must("be an ApiKey"),
);

/** An ApiKey as an admin writes it, checked and with its defaults: durations are milliseconds. */
export type ApiKeyResource = z.infer<typeof apiKeyResourceSchema>;

export type ParsedApiKeyResource = { kind: "good"; resource: ApiKeyResource } | { kind: "bad"; problems: string[] };

/** Checks an ApiKey. */
export function parseApiKeyResource(document: unknown): ParsedApiKeyResource {
  const result = apiKeyResourceSchema.safeParse(document);
  return result.success ? { kind: "good", resource: result.data } : { kind: "bad", problems: describeProblems(result.error) };
}
