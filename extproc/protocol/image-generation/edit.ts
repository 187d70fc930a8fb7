import { GatewayError } from "../../../contract/errors.ts";
import type { Form } from "../form/form.ts";
import type { JsonObject } from "../json/object.ts";
import type { RequestBody } from "../json/request-body.ts";
import { findField } from "../output/guarded-names.ts";

/** Pictures that some servers take with a prompt. They are sent as an edit's files, which are counted. */
export const PICTURES = ["image", "images", "image_url", "image_urls", "input_image", "input_images", "reference_images", "mask"];
/** Further names, under which an edit could have addresses, ids and base64. */
const ELSEWHERE = [...PICTURES, "url", "urls", "image_id", "image_file", "file", "files", "file_id", "file_ids", "mask_url"];
/** OpenAI's maximum for one edit, beside a mask. */
const MAX_PICTURES = 16;

/**
 * The fields of an edit's form as JSON would have them.
 * @throws GatewayError `invalid_request` for fields that some servers read as others, or as pictures that nobody counts.
 */
export function readEditFields(body: RequestBody, { files }: Form): JsonObject {
  const pictures = files.filter(({ name }) => name.startsWith("image"));
  const [first] = pictures;
  if (first !== undefined && pictures.length > MAX_PICTURES)
    throw refuse(first.name, `is sent too often. Send at most ${MAX_PICTURES} pictures.`);
  const fileNames = new Set(files.map(({ name }) => name));
  const texts = body.members().filter(({ name }) => !fileNames.has(name));
  // Servers read `options[n]` and `options.n` as members, and `n[]` as a list.
  const nested = texts.find(({ name }) => /[.[\]]/.test(name));
  if (nested !== undefined)
    throw refuse(nested.name, "is not accepted: an edit has no nested fields and no lists. Leave it out.");
  const elsewhere = findField({ ...body, members: () => texts }, ELSEWHERE);
  if (elsewhere !== undefined)
    throw refuse(elsewhere, "is not supported: pictures are sent as files. Send them as `image`, or as `image[]`.");
  const { outline } = body;
  return { ...outline, ...toNumber(outline, "n"), ...toNumber(outline, "partial_images"), ...toFlag(outline, "stream") };
}

/** Other texts stay as they are, and are refused: servers differ in what they take for a number. */
function toNumber(outline: JsonObject, name: string): JsonObject {
  const value = outline[name];
  return typeof value === "string" && /^(0|[1-9][0-9]?)$/.test(value) ? { [name]: Number(value) } : {};
}

function toFlag(outline: JsonObject, name: string): JsonObject {
  const value = outline[name];
  return value === "true" || value === "false" ? { [name]: value === "true" } : {};
}

function refuse(field: string, sentence: string): GatewayError {
  return new GatewayError("invalid_request", `\`${field}\` ${sentence}`, { field });
}
