import { GatewayError } from "../../../contract/errors.ts";
import type { ImageTraits } from "../../../contract/units.ts";
import { noAnswer, type InputAnswer } from "../input-answer.ts";
import { ExcessiveStructure, REQUEST_BOUNDS } from "../json/bounds.ts";
import { count, member } from "../json/count.ts";
import { parseObject, type JsonObject } from "../json/object.ts";
import { editElements, editMembers, type MemberEdits } from "../json/splice.ts";
import { rawMember, scanElements } from "../json/scan.ts";
import { ExcessiveOutline, outlineOf, type Outline } from "../json/outline.ts";
import type { ErrorReader } from "../upstream-error.ts";

/**
 * Reads an answer without its pictures, which are nearly all of it: they are long strings, whose ends are found by native searches.
 * @param asked images; a server that makes more is not paid for them.
 * @throws GatewayError `upstream_error` if it has no images; the upstream's own error if it is one.
 */
export function readImageAnswer(body: Buffer, asked: number, reader: ErrorReader): InputAnswer {
  const outline = outlineOfAnswer(body);
  const json = parseObject(outline.text.toString("utf8"));
  const data = json?.["data"];
  if (json === null || !Array.isArray(data)) throw noAnswer(json, "The model server's answer has no list of images.", reader);
  const written = scanElements(rawMember(outline.text, "data") ?? NOTHING);
  const images = data.filter((element, index) => isImage(element, written[index] ?? NOTHING, outline)).length;
  if (images === 0) throw new GatewayError("upstream_error", "The model server's answer has no image.");
  const { usage } = json;
  return {
    outline,
    inputTokens: count(usage, "input_tokens") ?? count(usage, "prompt_tokens"),
    outputTokens: reportedOutput(usage),
    units: Math.min(images, asked),
    made: readTraits(json),
    ...(body.includes(DATA_URL) && { edits: PLAIN_PICTURES }),
  };
}

function outlineOfAnswer(body: Buffer): Outline {
  try {
    return outlineOf(body, REQUEST_BOUNDS);
  } catch (cause) {
    if (!(cause instanceof ExcessiveStructure || cause instanceof ExcessiveOutline)) throw cause;
    throw new GatewayError("upstream_error", "The model server's answer has too much data besides its images.", {
      cause,
    });
  }
}

const NOTHING = Buffer.alloc(0);

const DATA_URL = '"data:';
const COMMA = 44;
/** Of a media type with its parameters. */
const LONGEST_LEAD = 128;

/** Some servers write the address of the data where clients decode base64. */
const PLAIN_PICTURES: MemberEdits = {
  data: (images) => images && editElements(images, (image) => editMembers(image, { b64_json: withoutLead })),
};

function withoutLead(picture: Buffer | undefined): Buffer | undefined {
  if (picture === undefined || picture.indexOf(DATA_URL) !== 0) return picture;
  const comma = picture.subarray(0, LONGEST_LEAD).indexOf(COMMA);
  return comma < 0 ? picture : Buffer.concat([picture.subarray(0, 1), picture.subarray(comma + 1)]);
}

/**
 * Some servers leave out what their filter has removed, or write null or an empty text.
 * @param written in the outline, where a long string is empty as well.
 */
function isImage(element: unknown, written: Buffer, { text, toOriginal }: Outline): boolean {
  const contents = [member(element, "b64_json"), member(element, "url")].filter((content) => typeof content === "string");
  if (contents.some((content) => content !== "")) return true;
  const start = written.byteOffset - text.byteOffset;
  return contents.length > 0 && toOriginal(start + written.length) - toOriginal(start) > written.length;
}

/** No image has zero tokens: servers write it that do not count. */
function reportedOutput(usage: unknown): number | undefined {
  const tokens = count(usage, "output_tokens") ?? count(usage, "completion_tokens");
  return tokens === 0 ? undefined : tokens;
}

/** What the server decided, as OpenAI's newer models report it. */
function readTraits({ size, quality }: JsonObject): ImageTraits {
  return { size: known(size), quality: known(quality) };
}

function known(trait: unknown): string | null {
  return typeof trait === "string" && trait !== "auto" ? trait : null;
}
