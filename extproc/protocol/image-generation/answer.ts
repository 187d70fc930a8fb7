import { GatewayError } from "../../../contract/errors.ts";
import type { ImageTraits } from "../../../contract/units.ts";
import { noAnswer, type InputAnswer } from "../input-answer.ts";
import { ExcessiveStructure, REQUEST_BOUNDS } from "../json/bounds.ts";
import { count, member } from "../json/count.ts";
import { parseObject, type JsonObject } from "../json/object.ts";
import { rawMember, scanElements } from "../json/scan.ts";
import { ExcessiveOutline, outlineOf, type Outline } from "../json/outline.ts";

/**
 * Reads an answer without its pictures, which are nearly all of it: they are long strings, whose ends are found by native searches.
 * @param asked images; a server that makes more is not paid for them.
 * @throws GatewayError `upstream_error` if it has no images; the upstream's own error if it is one.
 */
export function readImageAnswer(body: Buffer, asked: number): InputAnswer {
  const outline = outlineOfAnswer(body);
  const json = parseObject(outline.text.toString("utf8"));
  const data = json?.["data"];
  if (json === null || !Array.isArray(data)) throw noAnswer(json, "The model server's answer has no list of images.");
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
