import * as z from "zod";
import { parsePrice } from "../../ledger/money.ts";
import { backendResourceSchema, INTERFACES } from "./backend-resource.ts";
import { describeProblems, must } from "./field-message.ts";

const MODEL_API_VERSION = "modelgateway.dev/v1alpha1";

const modelName = z
  .string(must("be a string"))
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:/-]*$/, "must begin with a letter or digit and hold only letters, digits and . _ : / -")
  .max(128, "must be at most 128 characters");

const price = z
  .string({ error: (issue) => (issue.input === undefined ? "is required" : 'must be a decimal string such as "0.30"') })
  .regex(/^(0|[1-9][0-9]{0,8})(\.[0-9]{1,9})?$/, 'must be a decimal string such as "0.30"')
  .transform((text, context) => {
    try {
      return parsePrice(text);
    } catch {
      // The one thing that the pattern lets through and the money does not.
      context.addIssue({ code: "custom", message: "must have at most 6 decimal places" });
      return z.NEVER;
    }
  });

const count = z.int(must("be a whole number above 0")).positive("must be a whole number above 0");

const time = z.iso.datetime({ offset: true, ...must('be a time such as "2027-01-31T00:00:00Z"') });

const prices = {
  inputPerMillion: price,
  /** Prompt tokens found in the upstream's cache; the input price where absent. */
  cachedInputPerMillion: price.optional(),
  /** Prompt tokens written to the upstream's cache; the input price where absent. */
  cacheWritePerMillion: price.optional(),
  outputPerMillion: price,
};

const timeOfDay = z
  .string(must('be a time of the UTC day such as "08:30"'))
  .regex(/^([01][0-9]|2[0-3]):[0-5][0-9]$/, must('be a time of the UTC day such as "08:30"'));

/** Another price, from a time on, at hours of the day, or both; of those that apply, the last one counts. */
const scheduledPrice = z
  .strictObject(
    { from: time.optional(), daily: z.strictObject({ from: timeOfDay, until: timeOfDay }).optional(), ...prices },
    must("hold inputPerMillion and outputPerMillion"),
  )
  .refine(({ from, daily }) => from !== undefined || daily !== undefined, must("say when, by from or daily"))
  .refine(({ daily }) => daily === undefined || daily.from !== daily.until, must("have a daily window that is not empty"));

const pricing = z.strictObject(
  {
    /** Accounts are kept in US dollars. */
    currency: z.literal("USD", must("be USD")).default("USD"),
    ...prices,
    schedule: z.array(scheduledPrice, must("be a list")).max(16, must("have at most 16 entries")).default([]),
  },
  must("hold inputPerMillion and outputPerMillion"),
);

const deprecation = z
  .strictObject(
    {
      deprecatedTime: time.optional(),
      /** From then on the Model is not served. */
      sunsetTime: time.optional(),
      replacement: modelName.optional(),
      message: z.string(must("be a string")).max(512, "must be at most 512 characters").optional(),
    },
    must("hold deprecatedTime, sunsetTime, replacement or message"),
  )
  .refine(({ deprecatedTime, sunsetTime }) => !isAfter(deprecatedTime, sunsetTime), {
    path: ["sunsetTime"],
    message: "must not precede deprecatedTime",
  });

const limits = z
  .strictObject(
    { contextWindow: count.optional(), maxOutputTokens: count.optional() },
    must("hold contextWindow or maxOutputTokens"),
  )
  .refine(({ contextWindow = Infinity, maxOutputTokens = 0 }) => maxOutputTokens <= contextWindow, {
    path: ["maxOutputTokens"],
    message: "must not exceed contextWindow",
  });

const spec = z
  .strictObject(
    {
      /** What clients send as `model`. */
      modelName,
      aliases: z
        .array(modelName, must("be a list of names"))
        .max(16, "must have at most 16 entries")
        .refine(isDistinct, "must not name the same alias twice")
        .default([]),
      /** Not served for the time being. */
      suspended: z.boolean(must("be true or false")).default(false),
      interfaces: z
        .array(z.enum(INTERFACES, must("be ChatCompletions or Messages")), must("be a list of ChatCompletions and Messages"))
        .min(1, "must name at least one of ChatCompletions and Messages")
        .refine(isDistinct, "must not name an interface twice")
        .default(["ChatCompletions", "Messages"]),
      limits: limits.default({}),
      pricing,
      deprecation: deprecation.optional(),
      backends: z
        .array(backendResourceSchema, must("be a list of backends"))
        .min(1, "must have at least one entry")
        .max(16, "must have at most 16 entries")
        .refine((backends) => isDistinct(backends.map(({ name }) => name)), "must not use a name twice")
        .refine(
          (backends) => backends.length === 0 || backends.some(({ weight }) => weight > 0),
          "must have at least one entry with a weight above 0",
        ),
    },
    must("be the Model's specification: modelName, pricing and backends"),
  )
  .refine(({ modelName, aliases }) => !aliases.includes(modelName), {
    path: ["aliases"],
    message: "must not repeat modelName",
  });

/** `metadata` of any kind; what Kubernetes adds to it is let through. */
export const metadataSchema = z.looseObject(
  {
    name: z
      .string(must("be a string"))
      .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, "must be lower-case letters, digits, - and ., such as modelx-chat")
      .max(253, "must be at most 253 characters"),
    namespace: z.string(must("be a string")).min(1, "must not be empty").default("default"),
    generation: z.int().nonnegative().optional(),
    creationTimestamp: z.iso.datetime({ offset: true, ...must("be a time") }).nullish(),
  },
  must("hold name"),
);

const modelResourceSchema = z.strictObject(
  {
    apiVersion: z.literal(MODEL_API_VERSION, must(`be ${MODEL_API_VERSION}`)),
    kind: z.literal("Model", must("be Model")),
    metadata: metadataSchema,
    spec,
    /** Written by the operator, never read. */
    status: z.unknown().optional(),
  },
  must("be a Model"),
);

/**
 * A Model as an admin writes it, checked and with its defaults: prices are pico-USD per token, durations
 * milliseconds.
 */
export type ModelResource = z.infer<typeof modelResourceSchema>;

export type ParsedModel = { kind: "good"; resource: ModelResource } | { kind: "bad"; problems: string[] };

/**
 * Checks a Model. A field that is not in the schema is a problem as well: a misspelt price would otherwise be a free
 * model, and a folder has no API server that prunes or warns.
 */
export function parseModelResource(document: unknown): ParsedModel {
  const result = modelResourceSchema.safeParse(document);
  return result.success ? { kind: "good", resource: result.data } : { kind: "bad", problems: describeProblems(result.error) };
}

function isDistinct(names: readonly string[]): boolean {
  return new Set(names).size === names.length;
}

function isAfter(first: string | undefined, second: string | undefined): boolean {
  return first !== undefined && second !== undefined && Date.parse(first) > Date.parse(second);
}
