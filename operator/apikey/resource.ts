import * as z from "zod";
import { COUNT_LIMITS, LIMITS } from "../../contract/limits.ts";
import { PROMPT_LOG_DAYS } from "../../contract/prompt-log.ts";
import { PROJECT_NAME_LENGTH } from "../../ledger/projects/projects.ts";
import { celPattern, explain } from "../crd/explain.ts";
import { GROUP, VERSION } from "../crd/group.ts";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { MAX_NETWORK_CHARACTERS, parseNetwork } from "../../runtime/ip-network.ts";
import { MAX_ORIGIN_CHARACTERS, WEB_ORIGIN } from "../../runtime/web-origin.ts";
import { durationSchema } from "../model/duration.ts";
import { describeProblems, must } from "../model/field-message.ts";
import { plainText, someText } from "../model/plain-text.ts";
import { metadataSchema, modelName } from "../model/resource.ts";
import { secretReference } from "../model/secret-reference.ts";

const API_VERSION = `${GROUP}/${VERSION}` as const;

const IMMUTABLE = "is immutable; create another ApiKey instead";
const ONLY_GROWS = "must not decrease or be removed; increase it to rotate the key";

const count = z.int(must("be a whole number above 0")).positive("must be a whole number above 0");

const spendLimit = z.strictObject(
  {
    amount: z
      .string({ error: (issue) => (issue.input === undefined ? "is required" : 'must be a decimal string such as "100"') })
      .regex(/^(0|[1-9][0-9]{0,8})(\.[0-9]{1,9})?$/, 'must be a decimal string such as "100"')
      .max(19, 'must be a decimal string such as "100"')
      .describe("USD, as a decimal string in quotes."),
    window: z.enum(["Day", "Month"], must("be Day or Month")).describe("Period of the amount: a Day or a Month in UTC."),
  },
  must("have amount and window"),
);

const rateLimits = z.strictObject(
  Object.fromEntries(COUNT_LIMITS.map((name) => [name, count.optional().describe(LIMITS[name].description)])),
  must(`have ${COUNT_LIMITS.slice(0, -1).join(", ")} or ${COUNT_LIMITS.at(-1)}`),
);

const NETWORK = "must be an IP address or a range such as 203.0.113.0/24 or 2001:db8::/32";
const WIDER = "must be a range that begins with its address: 10.0.0.0/8 instead of 10.1.2.3/8";

const network = z
  .string(must("be a string"))
  .max(MAX_NETWORK_CHARACTERS, `must be at most ${MAX_NETWORK_CHARACTERS} characters`)
  .meta(
    explain("An IP address, or a range in CIDR notation.", {
      rules: [
        { rule: "isIP(self) || isCIDR(self)", message: NETWORK },
        { rule: "!isCIDR(self) || cidr(self) == cidr(self).masked()", message: WIDER },
      ],
    }),
  )
  .transform((text, context) => {
    const parsed = parseNetwork(text);
    if (parsed.kind === "network") return parsed.network;
    context.addIssue({ code: "custom", message: parsed.kind === "wider" ? WIDER : NETWORK });
    return z.NEVER;
  });

const ORIGIN = "must be an origin of web pages such as https://app.example.com or http://localhost:5173, in lower case";
const OWN_PORT = "must leave out the scheme's own port: https://app.example.com instead of https://app.example.com:443";
const WITH_OWN_PORT = /^(https:.*:443|http:.*:80)$/;

const origin = z
  .string(must("be a string"))
  .max(MAX_ORIGIN_CHARACTERS, `must be at most ${MAX_ORIGIN_CHARACTERS} characters`)
  .refine((text) => WEB_ORIGIN.test(text), ORIGIN)
  .refine((text) => !WITH_OWN_PORT.test(text), OWN_PORT)
  .meta(
    explain("An origin of web pages: scheme, host and port.", {
      rules: [
        { rule: `self.matches(${celPattern(WEB_ORIGIN)})`, message: ORIGIN },
        { rule: `!self.matches(${celPattern(WITH_OWN_PORT)})`, message: OWN_PORT },
      ],
    }),
  );

const rotation = z.strictObject(
  {
    generation: z
      .int(must("be a whole number from 0"))
      .nonnegative("must be a whole number from 0")
      .describe("Increase it to rotate the key. It cannot decrease."),
    overlap: durationSchema({
      minimumMs: 0,
      maximumMs: 30 * 24 * 3_600_000,
      claim: "from 0s to 720h",
      description: "How long the previous value stays valid: from 0s to 720h.",
    })
      // Zod defines a default for the output; the API server needs it for the input.
      .prefault("24h"),
  },
  must("have generation"),
);

const DAYS = `must be a whole number from ${PROMPT_LOG_DAYS.min} to ${PROMPT_LOG_DAYS.max}`;

const promptLog = z.strictObject(
  {
    retentionDays: z
      .int(must(`be a whole number from ${PROMPT_LOG_DAYS.min} to ${PROMPT_LOG_DAYS.max}`))
      .min(PROMPT_LOG_DAYS.min, DAYS)
      .max(PROMPT_LOG_DAYS.max, DAYS)
      .default(PROMPT_LOG_DAYS.usual)
      .describe(`Days after which they are deleted: from ${PROMPT_LOG_DAYS.min} to ${PROMPT_LOG_DAYS.max}.`),
  },
  must("have retentionDays"),
);

/** The spec of an ApiKey, as an administrator writes it. */
export const apiKeySpecSchema = z
  .strictObject(
    {
      account: z
        .string(must("be the id of an account"))
        .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, "must be the id of an account: lower-case letters, digits and -")
        .max(63, "must be at most 63 characters")
        .describe("Id of the account that pays. Immutable."),
      displayName: someText(128).optional().describe("Name of the key in the dashboard; metadata.name if absent."),
      description: plainText(256).optional().describe("What the key is for, as a note for people."),
      project: someText(PROJECT_NAME_LENGTH, "be the name of a project")
        .optional()
        .describe(
          "Name of the account's project that the key belongs to, ignoring case; if absent, the project chosen in the dashboard.",
        ),
      disabled: z.boolean(must("be true or false")).default(false).describe("Whether the key is refused for now."),
      expiresAt: z.iso
        .datetime({ offset: true, ...must('be a time such as "2027-01-31T00:00:00Z"') })
        .optional()
        .describe("When the key expires; it never does if absent."),
      allowedModels: z
        .array(modelName, must("be a list of names"))
        .max(256, "must have at most 256 entries")
        .refine((names) => new Set(names).size === names.length, "must not name the same model twice")
        .default([])
        .meta(explain("Names of the models that the key may use; all models if empty or absent.", { list: "set" })),
      allowedAddresses: z
        .array(network, must("be a list of IP addresses and ranges"))
        .max(ACCOUNT_BOUNDS.addressesOfKey, `must have at most ${ACCOUNT_BOUNDS.addressesOfKey} entries`)
        .refine((networks) => new Set(networks).size === networks.length, "must not name the same address twice")
        .default([])
        .meta(
          explain(
            "IP addresses and ranges (CIDR) from which the key may be used, as the gateway sees them; from anywhere if empty or absent.",
            { list: "set" },
          ),
        ),
      allowedOrigins: z
        .array(origin, must("be a list of origins"))
        .max(ACCOUNT_BOUNDS.originsOfKey, `must have at most ${ACCOUNT_BOUNDS.originsOfKey} entries`)
        .refine((origins) => new Set(origins).size === origins.length, "must not name the same origin twice")
        .default([])
        .meta(
          explain(
            "Origins of the web pages that may use the key, and nothing else may; if empty or absent, any program may, but no web page.",
            {
              list: "set",
            },
          ),
        ),
      spendLimit: spendLimit.optional().describe("Maximum that the key may spend in a period; requests beyond it are refused."),
      rateLimits: rateLimits.optional().describe("Rate limits of the key; one that is absent does not apply."),
      promptLog: promptLog
        .optional()
        .describe(
          "Records the prompts and answers of the key's requests, encrypted, for the owners of its account; nothing is recorded if absent.",
        ),
      secretRef: secretReference({ key: "api-key" })
        .optional()
        .describe("The Secret that the operator creates for the key's value; it has the ApiKey's name if absent. Immutable."),
      rotation: rotation
        .optional()
        .describe("Rotates the key: a new value is created, and the previous one stays valid for a while."),
    },
    must("be the ApiKey's specification: at least account"),
  )
  .meta(
    explain("Which account owns the key, and what the key may do.", {
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

/** An ApiKey after validation, with its defaults: durations are milliseconds. */
export type ApiKeyResource = z.infer<typeof apiKeyResourceSchema>;

export type ParsedApiKeyResource = { kind: "good"; resource: ApiKeyResource } | { kind: "bad"; problems: string[] };

/** Validates an ApiKey. */
export function parseApiKeyResource(document: unknown): ParsedApiKeyResource {
  const result = apiKeyResourceSchema.safeParse(document);
  return result.success ? { kind: "good", resource: result.data } : { kind: "bad", problems: describeProblems(result.error) };
}
