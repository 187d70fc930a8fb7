import * as z from "zod";
import {
  parsePercent,
  parsePrice,
  parsePricePerImage,
  parsePricePerMinute,
  parsePricePerThousand,
} from "../../../ledger/money.ts";
import { explain } from "../../crd/explain.ts";
import { must } from "../field-message.ts";
import { time } from "../time.ts";

// Checks made both here and by the API server have the same messages.
const PRICE_EXAMPLE = 'must be a decimal string such as "0.30"';
const WHEN = "must say when, by from or daily";
const EMPTY_WINDOW = "must have a daily window that is not empty";

const price = z
  .string({ error: (issue) => (issue.input === undefined ? "is required" : PRICE_EXAMPLE) })
  .max(16, PRICE_EXAMPLE)
  .regex(/^(0|[1-9][0-9]{0,8})(\.[0-9]+)?$/, PRICE_EXAMPLE)
  .regex(/^[^.]*(\.[0-9]{0,6})?$/, "must have at most 6 decimal places");

const UNIT_PRICE = "must be less than 1000000";

/** Of an image, a minute or a request: the ledger keeps it in pico-USD, and could not keep a larger one. */
const unitPrice = price.regex(/^[^.]{0,6}(\..*)?$/, UNIT_PRICE);

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
  perMinute: unitPrice
    .describe(
      "USD per minute of audio, for Transcription alone: each second, or part of one, is charged a sixtieth of it. Instead of inputPerMillion and outputPerMillion, or in addition to them.",
    )
    .transform(parsePricePerMinute)
    .optional(),
  perImage: unitPrice
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
      perImage: unitPrice.describe("USD per image of this size and quality.").transform(parsePricePerImage),
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

const PART_OR_PRICES = "must have either percent or inputPerMillion";
const PERCENT = "must be a whole number from 1 to 100";
const PERCENT_ALONE = "must have no other prices beside percent";

/** What a request of a batch costs. */
const batchPrice = z
  .strictObject(
    {
      percent: z
        .int(must(PERCENT.slice("must ".length)))
        .min(1, PERCENT)
        .max(100, PERCENT)
        .optional()
        .describe("Percent of the price in force when the request is sent, such as 50."),
      inputPerMillion: prices.inputPerMillion.describe("USD per million prompt tokens."),
      cachedInputPerMillion: prices.cachedInputPerMillion,
      cacheWritePerMillion: prices.cacheWritePerMillion,
      outputPerMillion: prices.outputPerMillion.describe("USD per million output tokens, including reasoning."),
    },
    must("have percent, or inputPerMillion and outputPerMillion"),
  )
  .refine(({ percent, inputPerMillion }) => (percent === undefined) !== (inputPerMillion === undefined), PART_OR_PRICES)
  .refine(
    ({ percent, cachedInputPerMillion, cacheWritePerMillion, outputPerMillion }) =>
      percent === undefined ||
      [cachedInputPerMillion, cacheWritePerMillion, outputPerMillion].every((each) => each === undefined),
    PERCENT_ALONE,
  )
  .meta(
    explain(
      "Price of requests of batches, if batch.enabled is true: percent of the price in force, or prices that apply at all times. If absent, they cost as much as any other request.",
      {
        rules: [
          { rule: "has(self.percent) != has(self.inputPerMillion)", message: PART_OR_PRICES },
          {
            rule: "!has(self.percent) || !(has(self.cachedInputPerMillion) || has(self.cacheWritePerMillion) || has(self.outputPerMillion))",
            message: PERCENT_ALONE,
          },
        ],
      },
    ),
  );

const FEE_PERCENT = 'must be a percentage from 0 to 100 such as "2.5", with at most 4 decimal places';
const NO_FEE = "must have perRequest, percent or both";

const providerKeyFee = z
  .strictObject(
    {
      perRequest: unitPrice.describe("USD per charged request.").transform(parsePricePerImage).optional(),
      percent: z
        .string(must(FEE_PERCENT.slice("must ".length)))
        .max(8, FEE_PERCENT)
        .regex(/^(100(\.0{1,4})?|(0|[1-9][0-9]?)(\.[0-9]{1,4})?)$/, FEE_PERCENT)
        .describe("Share of what the request would cost at the prices, in percent.")
        .transform(parsePercent)
        .optional(),
    },
    must("have perRequest, percent or both"),
  )
  .refine(({ perRequest, percent }) => perRequest !== undefined || percent !== undefined, NO_FEE)
  .meta(
    explain(
      "What requests sent with an account's own key cost, instead of the prices: decimal strings, in quotes. Required if a backend has bringYourOwnKey.",
      { rules: [{ rule: "has(self.perRequest) || has(self.percent)", message: NO_FEE }] },
    ),
  );

/** What customers pay. */
export const pricing = z
  .strictObject(
    {
      currency: z
        .literal("USD", must("be USD"))
        .default("USD")
        .describe("Currency of the prices: accounts are kept in US dollars."),
      ...prices,
      images: imagePrices,
      providerKeyFee: providerKeyFee.optional(),
      schedule: z
        .array(scheduledPrice, must("be a list"))
        .max(16, must("have at most 16 entries"))
        .default([])
        .describe("Other prices: from a date, at hours of the day, or both. If several apply, the last one counts."),
      batch: batchPrice.optional(),
    },
    HAVE_PRICES,
  )
  .describe("Prices: decimal strings, in quotes, with at most 6 decimal places. A change applies to requests admitted after it.");

/** What the model servers charge. */
export const cost = z
  .strictObject(prices, HAVE_PRICES)
  .describe(
    "What the model servers charge you, for the margins on the dashboard's Service page: decimal strings, in quotes, with at most 6 decimal places. Customers do not see it, and it does not change what they pay.",
  );
