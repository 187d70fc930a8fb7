import * as z from "zod";
import { parsePrice, parsePricePerImage, parsePricePerMinute, parsePricePerThousand } from "../../ledger/money.ts";
import { explain } from "../crd/explain.ts";
import { GROUP, VERSION } from "../crd/group.ts";
import { backendResourceSchema, connectTimeout, INTERFACES } from "./backend-resource.ts";
import { durationSchema } from "./duration.ts";
import { guardrailResourceSchema } from "./guardrail.ts";
import { describeProblems, must } from "./field-message.ts";
import { anyOf, INPUT_ONLY_RULES, inputOnlyProblems, isInputInterfaceName } from "./input-only-rules.ts";
import { IMAGE_PRICE_RULES, imagePriceProblems } from "./image-price-rules.ts";
import { INPUT_PRICE_RULES, inputPriceProblems } from "./input-price-rules.ts";
import { presentation } from "./presentation.ts";
import { DAY_MS } from "../../contract/days.ts";

const MODEL_API_VERSION = `${GROUP}/${VERSION}` as const;

// Checks made both here and by the API server have the same messages.
const PRICE_EXAMPLE = 'must be a decimal string such as "0.30"';
const WHEN = "must say when, by from or daily";
const EMPTY_WINDOW = "must have a daily window that is not empty";
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

const price = z
  .string({ error: (issue) => (issue.input === undefined ? "is required" : PRICE_EXAMPLE) })
  .max(16, PRICE_EXAMPLE)
  .regex(/^(0|[1-9][0-9]{0,8})(\.[0-9]+)?$/, PRICE_EXAMPLE)
  .regex(/^[^.]*(\.[0-9]{0,6})?$/, "must have at most 6 decimal places");

const count = z.int(must("be a whole number above 0")).positive("must be a whole number above 0");

const time = z.iso.datetime({ offset: true, ...must('be a time such as "2027-01-31T00:00:00Z"') });

const HAVE_PRICES = must(
  "have inputPerMillion and outputPerMillion; for Embeddings, inputPerMillion; for Rerank, inputPerMillion, searchPerThousand or both; for ImageGeneration, perImage, outputPerMillion or both; for Speech, charactersPerMillion, inputPerMillion or both; for Transcription, perMinute, or inputPerMillion and outputPerMillion, or all",
);

const prices = {
  inputPerMillion: price
    .describe(
      "USD per million prompt tokens. Required, except beside searchPerThousand, charactersPerMillion or perMinute, and for ImageGeneration.",
    )
    .transform(parsePrice)
    .optional(),
  cachedInputPerMillion: price
    .describe("USD per million prompt tokens read from the model server's cache; the input price if absent.")
    .transform(parsePrice)
    .optional(),
  cacheWritePerMillion: price
    .describe("USD per million prompt tokens written to the model server's cache; the input price if absent.")
    .transform(parsePrice)
    .optional(),
  outputPerMillion: price
    .describe(
      "USD per million output tokens, including reasoning. Required, except for Embeddings, Rerank and Speech, which have none, for ImageGeneration with perImage and for Transcription with perMinute.",
    )
    .transform(parsePrice)
    .optional(),
  searchPerThousand: price
    .describe(
      "USD per thousand searches, for Rerank alone: a search is a query with up to 100 documents, long ones counted in parts. Instead of inputPerMillion, or in addition to it.",
    )
    .transform(parsePricePerThousand)
    .optional(),
  charactersPerMillion: price
    .describe(
      "USD per million characters of the text that is spoken, for Speech alone. Instead of inputPerMillion, or in addition to it.",
    )
    .transform(parsePrice)
    .optional(),
  perMinute: price
    .describe(
      "USD per minute of sound, for Transcription alone: each second that begins is charged a sixtieth of it. Instead of inputPerMillion and outputPerMillion, or in addition to them.",
    )
    .transform(parsePricePerMinute)
    .optional(),
  perImage: price
    .describe("USD per image, for ImageGeneration alone. Instead of prices of tokens, or in addition to them.")
    .transform(parsePricePerImage)
    .optional(),
};

const IMAGE_SIZE = 'must be width and height in pixels, such as "1024x1024"';
const IMAGE_QUALITY = 'must be a name in lower-case letters, such as "high"';
const IMAGE_TRAIT = "must name a size, a quality or both";

const imagePrice = z
  .strictObject(
    {
      size: z
        .string(must(IMAGE_SIZE.slice("must ".length)))
        .regex(/^[1-9][0-9]{1,4}x[1-9][0-9]{1,4}$/, IMAGE_SIZE)
        .max(11, IMAGE_SIZE)
        .optional()
        .describe("Width and height in pixels; any if absent."),
      quality: z
        .string(must(IMAGE_QUALITY.slice("must ".length)))
        .regex(/^[a-z]{1,32}$/, IMAGE_QUALITY)
        .max(32, IMAGE_QUALITY)
        .optional()
        .describe("Quality that the client asks for, or that the server reports; any if absent."),
      perImage: price.describe("USD per image of this size and quality.").transform(parsePricePerImage),
    },
    must("have perImage, and size, quality or both"),
  )
  .refine(({ size, quality }) => size !== undefined || quality !== undefined, IMAGE_TRAIT)
  .meta(
    explain("A price of images of a size, a quality or both.", {
      rules: [{ rule: "has(self.size) || has(self.quality)", message: IMAGE_TRAIT }],
    }),
  );

/** Costs have none: sums of usage do not tell sizes apart. */
const imagePrices = z
  .array(imagePrice, must("be a list"))
  .max(32, must("have at most 32 entries"))
  .optional()
  .describe("Other prices of images, by size and quality, instead of perImage. The first that matches counts.");

const timeOfDay = z
  .string(must('be a time of the UTC day such as "08:30"'))
  .regex(/^([01][0-9]|2[0-3]):[0-5][0-9]$/, must('be a time of the UTC day such as "08:30"'))
  .max(5, must('be a time of the UTC day such as "08:30"'));

const daily = z.strictObject({
  from: timeOfDay.describe('First minute, such as "22:00".'),
  until: timeOfDay.describe('First minute after the window, such as "06:00"; earlier than from means the next day.'),
});

/** Another price, from a time on, at hours of the day, or both; if several apply, the last one counts. */
const scheduledPrice = z
  .strictObject(
    {
      from: time.optional().describe("When the price begins to apply; if absent, it always applies."),
      daily: daily.optional().describe("Hours of the UTC day in which the price applies; all if absent."),
      ...prices,
      images: imagePrices,
    },
    HAVE_PRICES,
  )
  .refine(({ from, daily }) => from !== undefined || daily !== undefined, WHEN)
  .refine(({ daily }) => daily === undefined || daily.from !== daily.until, EMPTY_WINDOW)
  .meta(
    explain("Another price, and when it applies.", {
      rules: [
        { rule: "has(self.from) || has(self.daily)", message: WHEN },
        { rule: "!has(self.daily) || self.daily.from != self.daily.until", message: EMPTY_WINDOW },
      ],
    }),
  );

const pricing = z
  .strictObject(
    {
      currency: z
        .literal("USD", must("be USD"))
        .default("USD")
        .describe("Currency of the prices: accounts are kept in US dollars."),
      ...prices,
      images: imagePrices,
      schedule: z
        .array(scheduledPrice, must("be a list"))
        .max(16, must("have at most 16 entries"))
        .default([])
        .describe("Other prices: from a date, at hours of the day, or both. If several apply, the last one counts."),
    },
    HAVE_PRICES,
  )
  .describe("Prices: decimal strings, in quotes, with at most 6 decimal places. A change applies to requests admitted after it.");

const cost = z
  .strictObject(prices, HAVE_PRICES)
  .describe(
    "What the model servers charge you, for the margins on the dashboard's Service page: decimal strings, in quotes, with at most 6 decimal places. Customers do not see it, and it does not change what they pay.",
  );

const deprecation = z
  .strictObject(
    {
      deprecatedTime: time.optional().describe("When clients are first notified; it may be in the future."),
      sunsetTime: time.optional().describe("When the Model is no longer served."),
      replacement: modelName.optional().describe("The model to use instead."),
      message: z.string(must("be a string")).max(512, "must be at most 512 characters").optional().describe("Note for people."),
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
          "Maximum tokens of prompt and answer together; for Embeddings, of one input; for Rerank, of the query with one document; for ImageGeneration, of the prompt; for Speech, of the text; for Transcription, of the sound and the prompt.",
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
      for (const problem of [...inputPriceProblems(spec), ...imagePriceProblems(spec), ...inputOnlyProblems(spec)])
        addIssue({ code: "custom", ...problem });
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
        ...INPUT_ONLY_RULES,
        ...INPUT_PRICE_RULES,
        ...IMAGE_PRICE_RULES,
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
