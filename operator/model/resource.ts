import * as z from "zod";
import { DAY_MS } from "../../contract/days.ts";
import { explain } from "../crd/explain.ts";
import { GROUP, VERSION } from "../crd/group.ts";
import { backendResourceSchema, connectTimeout, INTERFACES } from "./backend-resource.ts";
import { durationSchema } from "./duration.ts";
import { guardrailResourceSchema } from "./guardrail.ts";
import { describeProblems, must } from "./field-message.ts";
import { anyOf, isInputInterfaceName } from "./input-interfaces.ts";
import { INPUT_ONLY_RULES, inputOnlyProblems } from "./input-only-rules.ts";
import { OWN_KEY_RULES, ownKeyProblems } from "./own-key-rules.ts";
import { plainText } from "./plain-text.ts";
import { presentation } from "./presentation.ts";
import { BATCH_PRICE_RULES, batchPriceProblems } from "./pricing/batch-price-rules.ts";
import { IMAGE_PRICE_RULES, imagePriceProblems } from "./pricing/image-price-rules.ts";
import { INPUT_PRICE_RULES, inputPriceProblems } from "./pricing/input-price-rules.ts";
import { OUTPUT_PRICE_RULES, outputPriceProblems } from "./pricing/output-price-rules.ts";
import { cost, pricing } from "./pricing/pricing.ts";
import { time } from "./time.ts";

const MODEL_API_VERSION = `${GROUP}/${VERSION}` as const;

// Checks made both here and by the API server have the same messages.
const TOO_EARLY = "must not precede deprecatedTime";
const ABOVE_CONTEXT = "must not exceed contextWindow";
const NO_WEIGHT = "must have at least one entry with a weight above 0";
const ALONE =
  "must name Embeddings, Rerank, ImageGeneration, Speech or Transcription alone; make another Model for the other interfaces";
const REPEATED = "must not repeat modelName";

export const modelName = z
  .string(must("be a string"))
  .regex(/^[A-Za-z0-9][A-Za-z0-9._:/-]*$/, "must begin with a letter or digit and contain only letters, digits and . _ : / -")
  .max(128, "must be at most 128 characters")
  .describe("Name of a model, as clients send it.");

const count = z.int(must("be a whole number above 0")).positive("must be a whole number above 0");

const deprecation = z
  .strictObject(
    {
      deprecatedTime: time.optional().describe("When clients are first notified; it may be in the future."),
      sunsetTime: time.optional().describe("When the Model is no longer served."),
      replacement: modelName.optional().describe("The model to use instead."),
      message: plainText(512).optional().describe("Note for people."),
    },
    must("have deprecatedTime, sunsetTime, replacement or message"),
  )
  .refine(({ deprecatedTime, sunsetTime }) => !isAfter(deprecatedTime, sunsetTime), {
    path: ["sunsetTime"],
    message: TOO_EARLY,
  })
  .meta(
    explain("Announces that the Model will be removed.", {
      rules: [
        {
          rule: "!has(self.sunsetTime) || !has(self.deprecatedTime) || self.deprecatedTime <= self.sunsetTime",
          message: TOO_EARLY,
          field: "sunsetTime",
        },
      ],
    }),
  );

const limits = z
  .strictObject(
    {
      contextWindow: count
        .optional()
        .describe(
          "Maximum tokens of prompt and answer together; for Embeddings, of one input; for Rerank, of the query with one document; for ImageGeneration, of the prompt; for Speech, of the text; for Transcription, of the audio and the prompt.",
        ),
      maxOutputTokens: count
        .optional()
        .describe("Maximum tokens of an answer; for ImageGeneration, of one image: 8192 if absent."),
    },
    must("have contextWindow or maxOutputTokens"),
  )
  .refine(({ contextWindow = Infinity, maxOutputTokens = 0 }) => maxOutputTokens <= contextWindow, {
    path: ["maxOutputTokens"],
    message: ABOVE_CONTEXT,
  })
  .meta(
    explain("Token limits of the model. One that is absent does not apply.", {
      rules: [
        {
          rule: "!has(self.maxOutputTokens) || !has(self.contextWindow) || self.maxOutputTokens <= self.contextWindow",
          message: ABOVE_CONTEXT,
          field: "maxOutputTokens",
        },
      ],
    }),
  );

const UP_TO_AN_HOUR = { minimumMs: 100, maximumMs: 3_600_000, claim: "from 100ms to 1h" };

const timeouts = z
  .strictObject(
    {
      connect: connectTimeout(
        "Time to open a connection: from 100ms to 60s; 5s if absent. A backend can override it.",
      ).optional(),
      firstByte: durationSchema({
        ...UP_TO_AN_HOUR,
        description:
          "Time until a server begins its answer: from 100ms to 1h; 5m if absent. After that, the next backend is tried. An answer that is not streamed has the same time again to complete.",
      }).optional(),
      idle: durationSchema({
        ...UP_TO_AN_HOUR,
        description:
          "Time between two pieces of a streamed answer: from 100ms to 1h; 5m if absent. After that, the connection is closed.",
      }).optional(),
      whole: durationSchema({
        minimumMs: 1_000,
        maximumMs: DAY_MS,
        claim: "from 1s to 24h",
        description: "Time for the whole request, with all backends: from 1s to 24h; unlimited if absent.",
      }).optional(),
    },
    must("have connect, firstByte, idle or whole"),
  )
  .describe("Timeouts for the servers.");

const streaming = z
  .strictObject(
    {
      keepAlive: durationSchema({
        minimumMs: 1_000,
        maximumMs: 3_600_000,
        claim: "from 1s to 1h",
        description:
          "How long a stream may be silent before its client gets a comment or a ping, so that no proxy in between closes the connection: from 1s to 1h; 15s if absent.",
      }).optional(),
      answerAfter: durationSchema({
        minimumMs: 1_000,
        maximumMs: 3_600_000,
        claim: "from 1s to 1h",
        description:
          "How long a stream waits for the first byte of the model server. After that, the gateway answers 200 and sends keep-alives; a later error becomes an event of the stream. From 1s to 1h; if absent, the gateway waits for the server.",
      }).optional(),
    },
    must("have keepAlive and answerAfter"),
  )
  .describe("How streamed answers reach the client.");

const STORE_HOURS = "must be a whole number from 1 to 168";

const responses = z
  .strictObject(
    {
      storeHours: z
        .int(must("be a whole number from 1 to 168"))
        .min(1, STORE_HOURS)
        .max(168, STORE_HOURS)
        .optional()
        .describe(
          "For how many hours after their last use responses are stored, encrypted, so that clients can continue them by id: from 1 to 168. If absent, nothing is stored.",
        ),
    },
    must("have storeHours"),
  )
  .describe("The Responses interface.");

const batch = z
  .strictObject(
    {
      enabled: z
        .boolean(must("be true or false"))
        .default(false)
        .describe("Whether customers may send requests for the Model in batches."),
    },
    must("have enabled"),
  )
  .describe("Batches: requests that customers send together and that are answered within a day. Their price is pricing.batch.");

/** The spec of a Model, as an administrator writes it. */
export const modelSpecSchema = z
  .strictObject(
    {
      modelName: modelName.describe("What clients send as model. Immutable: create another Model for another name."),
      aliases: z
        .array(modelName, must("be a list of names"))
        .max(16, "must have at most 16 entries")
        .refine(isDistinct, "must not name the same alias twice")
        .default([])
        .meta(explain("Other names under which clients find the Model.", { list: "set" })),
      ...presentation,
      suspended: z.boolean(must("be true or false")).default(false).describe("Whether the Model is not served for now."),
      interfaces: z
        .array(
          z.enum(
            INTERFACES,
            must("be ChatCompletions, Messages, Responses, Embeddings, Rerank, ImageGeneration, Speech or Transcription"),
          ),
          must(
            "be a list of ChatCompletions, Messages and Responses, or of Embeddings, Rerank, ImageGeneration, Speech or Transcription alone",
          ),
        )
        .min(
          1,
          "must name at least one of ChatCompletions, Messages, Responses, Embeddings, Rerank, ImageGeneration, Speech and Transcription",
        )
        .max(INTERFACES.length, "must not name an interface twice")
        .refine(isDistinct, "must not name an interface twice")
        .refine((names) => names.length === 1 || !names.some(isInputInterfaceName), ALONE)
        .optional()
        .meta(
          explain(
            "Interfaces on which clients may use the Model: Embeddings alone, Rerank alone, ImageGeneration alone, Speech alone, Transcription alone, or any of the others. If absent: ChatCompletions and Messages, or Responses alone if every backend speaks Responses.",
            { list: "set", rules: [{ rule: `self.size() == 1 || !${anyOf("self")}`, message: ALONE }] },
          ),
        ),
      limits: limits.default({}),
      timeouts: timeouts.default({}),
      streaming: streaming.default({}),
      responses: responses.default({}),
      batch: batch.default({ enabled: false }),
      guardrail: guardrailResourceSchema.optional(),
      pricing,
      cost: cost.optional(),
      deprecation: deprecation.optional(),
      backends: z
        .array(backendResourceSchema, must("be a list of backends"))
        .min(1, "must have at least one entry")
        .max(16, "must have at most 16 entries")
        .refine((backends) => isDistinct(backends.map(({ name }) => name)), "must not use a name twice")
        .refine((backends) => backends.length === 0 || backends.some(({ weight }) => weight > 0), NO_WEIGHT)
        .meta(
          explain("The servers that serve the Model.", {
            list: { key: "name" },
            rules: [{ rule: "self.size() == 0 || self.exists(each, each.weight > 0)", message: NO_WEIGHT }],
          }),
        ),
    },
    must("be the Model's specification: modelName, pricing and backends"),
  )
  .refine(({ modelName, aliases }) => !aliases.includes(modelName), { path: ["aliases"], message: REPEATED })
  .superRefine(
    (spec, { addIssue }) => {
      const problems = [
        inputPriceProblems,
        imagePriceProblems,
        outputPriceProblems,
        inputOnlyProblems,
        batchPriceProblems,
        ownKeyProblems,
      ].flatMap((find) => find(spec));
      for (const problem of problems) addIssue({ code: "custom", ...problem });
    },
    // A missing price is reported with all other problems.
    { when: () => true },
  )
  .meta(
    explain("What is served, by which servers, at which prices.", {
      rules: [
        {
          rule: "self.modelName == oldSelf.modelName",
          message: "is immutable; create another Model for another name",
          field: "modelName",
        },
        { rule: "!has(self.aliases) || !(self.modelName in self.aliases)", message: REPEATED, field: "aliases" },
        ...OUTPUT_PRICE_RULES,
        ...INPUT_ONLY_RULES,
        ...INPUT_PRICE_RULES,
        ...IMAGE_PRICE_RULES,
        ...BATCH_PRICE_RULES,
        ...OWN_KEY_RULES,
      ],
    }),
  );

/** `metadata` of any kind; fields that Kubernetes adds are accepted. */
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
  must("have name"),
);

const modelResourceSchema = z.strictObject(
  {
    apiVersion: z.literal(MODEL_API_VERSION, must(`be ${MODEL_API_VERSION}`)),
    kind: z.literal("Model", must("be Model")),
    metadata: metadataSchema,
    spec: modelSpecSchema,
    /** Written by the operator, never read. */
    status: z.unknown().optional(),
  },
  must("be a Model"),
);

/** A Model after validation, with its defaults: prices are pico-USD per token, durations milliseconds. */
export type ModelResource = z.infer<typeof modelResourceSchema>;

export type ParsedModel = { kind: "good"; resource: ModelResource } | { kind: "bad"; problems: string[] };

/**
 * Validates a Model. Unknown fields are problems as well: a misspelt price would otherwise be a free model, and a folder has no
 * API server that prunes or warns.
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
