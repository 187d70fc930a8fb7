import { createHash } from "node:crypto";
import { crc32, deflateSync } from "node:zlib";
import type { Directive } from "../directive.ts";
import { countTokens } from "../prompt.ts";
import type { ImageRequest } from "./request.ts";

const SIDE = 16;
/** As OpenAI counts them for a square picture. */
const TOKENS: Readonly<Record<string, number>> = { low: 272, medium: 1_056, high: 4_160 };
/** The same for one that is edited. */
const PICTURE_TOKENS = 194;

/** Pictures of one colour, which follows from the prompt; size and quality are reported, as OpenAI's newer models do it. */
export function imageAnswer(
  { prompt, pictures, count, size, quality, isByUrl }: ImageRequest,
  { withoutUsage }: Directive,
): object {
  const textTokens = countTokens(prompt, "");
  const imageTokens = pictures * PICTURE_TOKENS;
  const inputTokens = textTokens + imageTokens;
  const outputTokens = count * (TOKENS[quality] ?? 1_056);
  const data = Array.from({ length: count }, (_, index) =>
    isByUrl ? { url: `https://images.simulator.localhost/${index}.png` } : { b64_json: picture(`${prompt} ${index}`) },
  );
  return {
    created: 1_767_225_600,
    data,
    size,
    quality,
    output_format: "png",
    ...(withoutUsage
      ? {}
      : {
          usage: {
            input_tokens: inputTokens,
            output_tokens: outputTokens,
            total_tokens: inputTokens + outputTokens,
            input_tokens_details: { text_tokens: textTokens, image_tokens: imageTokens },
          },
        }),
  };
}

/** A PNG in base64: 16 by 16 pixels, of three bytes each. */
function picture(seed: string): string {
  const colour = createHash("sha256").update(seed).digest().subarray(0, 3);
  const line = Buffer.concat([Buffer.from([0]), ...Array.from({ length: SIDE }, () => colour)]);
  const header = Buffer.alloc(13);
  header.writeUInt32BE(SIDE, 0);
  header.writeUInt32BE(SIDE, 4);
  // Eight bits for each of red, green and blue.
  header.writeUInt8(8, 8);
  header.writeUInt8(2, 9);
  const pixels = deflateSync(Buffer.concat(Array.from({ length: SIDE }, () => line)));
  const signature = Buffer.from("89504e470d0a1a0a", "hex");
  return Buffer.concat([signature, chunk("IHDR", header), chunk("IDAT", pixels), chunk("IEND", Buffer.alloc(0))]).toString(
    "base64",
  );
}

function chunk(type: string, data: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type), data]);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(data.length);
  const check = Buffer.alloc(4);
  check.writeUInt32BE(crc32(named));
  return Buffer.concat([length, named, check]);
}
