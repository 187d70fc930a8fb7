import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import type { ImageTraits } from "../../../contract/units.ts";
import { measureInstruction } from "../instruction.ts";
import type { RequestBody } from "../json/request-body.ts";
import { checkGuardedNames, findField, IMAGE_NAMES } from "../output/guarded-names.ts";
import { requestError } from "../request-error.ts";
import { PICTURES, readEditFields } from "./edit.ts";

/** OpenAI's maximum for one request. */
const MAX_IMAGES = 10;

/** What a request for images asks for. */
export interface ImageRequest extends ImageTraits {
  /** Images. */
  count: number;
  /** Of the prompt and of everything else that a server may read with it, as JSON writes it. */
  promptBytes: number;
  /** Pictures that the server is to change, and masks of them: of an edit. */
  pictures: number;
  /** The answer has addresses instead of pictures. */
  isByUrl: boolean;
}

const COUNT = `a whole number from 1 to ${MAX_IMAGES}`;
const SIZE = '"auto", or width and height in pixels such as "1024x1024"';
const QUALITY = 'a name in lower-case letters, such as "auto", "low" or "high"';

/** One spelling each: servers that read another one leniently would make an image that is not the one that is charged. */
const fieldsSchema = z.object({
  n: z.int({ error: COUNT }).min(1, { error: COUNT }).max(MAX_IMAGES, { error: COUNT }).nullish(),
  size: z
    .string({ error: SIZE })
    .regex(/^(auto|[1-9][0-9]{1,4}x[1-9][0-9]{1,4})$/, { error: SIZE })
    .nullish(),
  quality: z
    .string({ error: QUALITY })
    .regex(/^[a-z]{1,32}$/, { error: QUALITY })
    .nullish(),
  stream: z.boolean({ error: "false" }).nullish(),
  user: z.string({ error: "a string" }).nullish(),
});

const KNOWN_FIELDS: ReadonlySet<string> = new Set(IMAGE_NAMES);
/** Further names of the size. */
const OTHER_SIZES = ["width", "height", "image_size", "resolution", "aspect_ratio", "megapixels"];

/**
 * The content of a request for images, in OpenAI's format: JSON with a prompt, or an edit's form. Fields that only the model server
 * knows pass unread.
 * @param hasImagePrices the price of an image depends on its size or quality.
 * @throws GatewayError `invalid_request` that names the field that is wrong, or ambiguous (S21, S30).
 */
export function readImageRequest(body: RequestBody, hasImagePrices: boolean): ImageRequest {
  checkGuardedNames(body, "image_generation");
  const { form } = body;
  const fields = form === undefined ? body.outline : readEditFields(body, form);
  const result = fieldsSchema.safeParse(fields);
  // An error describes what it found, and a long string is not in the outline.
  if (!result.success) throw requestError(result.error.issues, body.whole());
  const { n, size, quality, stream } = result.data;
  if (stream === true) throw refuse("stream", "is not supported for images: the answer comes when all are made. Leave it out.");
  const partial = fields["partial_images"] ?? 0;
  if (partial !== 0) throw refuse("partial_images", "is not supported: images are not streamed. Leave it out.");
  const picture = form === undefined ? findField(body, PICTURES) : undefined;
  if (picture !== undefined)
    throw refuse(picture, "is not supported: images are made from `prompt` alone. To change pictures, POST /v1/images/edits.");
  const otherSize = hasImagePrices ? findField(body, OTHER_SIZES) : undefined;
  if (otherSize !== undefined) throw refuse(otherSize, "is not accepted: the price depends on `size`. Send `size` instead.");
  return {
    count: n ?? 1,
    size: known(size),
    quality: known(quality),
    promptBytes: readPrompt(body) + measureInstruction(body, KNOWN_FIELDS),
    pictures: form?.files.length ?? 0,
    isByUrl: body.outline["response_format"] === "url",
  };
}

/** For a request that was read before. */
export function imageCount({ outline }: RequestBody): number {
  return Number(outline["n"] ?? 1);
}

const QUOTES = 2;

function readPrompt(body: RequestBody): number {
  const bytes = typeof body.outline["prompt"] === "string" ? (body.raw("prompt")?.length ?? 0) - QUOTES : 0;
  if (bytes > 0) return bytes;
  const issue = { code: "custom" as const, path: ["prompt"], message: "a text of at least one character" };
  throw requestError([issue], body.whole());
}

/** The last three are what forms have that were written from an absent value. */
const OPEN: ReadonlySet<string> = new Set(["auto", "none", "null", "undefined"]);

/** The model server decides what is open. */
function known(trait: string | null | undefined): string | null {
  return trait === undefined || trait === null || OPEN.has(trait) ? null : trait;
}

function refuse(field: string, sentence: string): GatewayError {
  return new GatewayError("invalid_request", `\`${field}\` ${sentence}`, { field });
}
