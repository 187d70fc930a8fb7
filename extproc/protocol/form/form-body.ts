import { isUtf8 } from "node:buffer";
import { GatewayError } from "../../../contract/errors.ts";
import { NO_MEDIA } from "../json/media.ts";
import type { JsonObject } from "../json/object.ts";
import type { RequestBody } from "../json/request-body.ts";
import { readBoundary } from "./boundary.ts";
import type { Form } from "./form.ts";
import type { FormRules } from "./form-rules.ts";
import { malformed } from "./malformed.ts";
import { partsOf, type Part } from "./parts.ts";

/** Prompts, lists of names, and a few seconds of several speakers as base64. */
const MAX_TEXT_BYTES = 4 * 1024 * 1024;
/** HTML's field that tells servers how to decode the others. */
const CHARSET = "_charset_";

/**
 * A form with files as a request's body: its fields are members, with texts as values.
 * @throws GatewayError `invalid_request` that names the field and the remedy.
 */
export function parseForm(
  bytes: Buffer,
  headers: ReadonlyMap<string, string>,
  rules: FormRules,
): RequestBody & { readonly form: Form } {
  const contentType = headers.get("content-type") ?? "";
  const boundary = readBoundary(contentType);
  if (boundary === undefined)
    throw new GatewayError(
      "invalid_request",
      `This interface takes a form with ${rules.members}. Send it with \`content-type: multipart/form-data\`, as \`curl -F\` does.`,
      { field: "content-type" },
    );
  const parts = partsOf(bytes, boundary);
  checkParts(parts, rules);
  const model = parts.find(({ name }) => name === "model");
  const texts = parts.filter(({ isFile }) => !isFile);
  const outline = readTexts(bytes, texts);
  const written = (name: string) => {
    const value = outline[name];
    return value === undefined ? undefined : Buffer.from(JSON.stringify(value));
  };
  return {
    bytes,
    outline,
    // Forms offer none.
    serverTool: () => null,
    media: NO_MEDIA,
    member: (name) => outline[name],
    raw: written,
    whole: () => outline,
    members: () => parts,
    sizes: () => texts.map(({ name, start, end }) => ({ name, bytes: end - start })),
    edit() {
      throw new Error("a form is not edited as JSON");
    },
    form: {
      contentType,
      files: parts.filter(({ isFile }) => isFile).map(({ name, start, end }) => ({ name, bytes: bytes.subarray(start, end) })),
      textBytes: texts.reduce((sum, { start, end }) => sum + end - start, 0),
      withModel(name) {
        if (model === undefined || outline["model"] === name) return bytes;
        return Buffer.concat([bytes.subarray(0, model.start), Buffer.from(name), bytes.subarray(model.end)]);
      },
    },
  };
}

/** Names may repeat: lists are written so. */
function checkParts(parts: readonly Part[], { required, optional, once, content, example, allowed }: FormRules): void {
  const [usual] = required;
  const files: ReadonlySet<string> = new Set([...required, ...optional]);
  const seen = new Set<string>();
  let textBytes = 0;
  for (const { name, isFile, start, end } of parts) {
    if (name === CHARSET) throw refuse(name, "is not supported: a form's texts are UTF-8. Leave it out.");
    if (once.has(name) && seen.has(name)) throw refuse(name, "appears twice. Send it once.");
    seen.add(name);
    if (files.has(name) && !isFile)
      throw refuse(name, `is a text. Send the ${content} as a file with a name, for example with \`${example}\`.`);
    if (!files.has(name) && isFile) throw refuse(name, `is a file. Send ${allowed}, and all other fields as texts.`);
    if (isFile && end === start) throw refuse(name, `is empty. Send the ${content}'s bytes.`);
    if (!isFile) textBytes += end - start;
  }
  if (!required.some((name) => seen.has(name)))
    throw refuse(usual, `is missing. Send the ${content} as a file, for example with \`${example}\`.`);
  if (textBytes > MAX_TEXT_BYTES) throw malformed(`has more than ${MAX_TEXT_BYTES / 1024 / 1024} MiB beside its file`);
}

/** A name that repeats becomes a list. */
function readTexts(bytes: Buffer, parts: readonly Part[]): JsonObject {
  const texts = new Map<string, string[]>();
  for (const { name, start, end } of parts) {
    const value = bytes.subarray(start, end);
    if (!isUtf8(value)) throw refuse(name, "is not valid UTF-8. Send it as UTF-8.");
    texts.set(name, [...(texts.get(name) ?? []), value.toString("utf8")]);
  }
  return Object.fromEntries([...texts].map(([name, values]) => [name, values.length === 1 ? values[0] : values]));
}

function refuse(field: string, sentence: string): GatewayError {
  return new GatewayError("invalid_request", `\`${field}\` ${sentence}`, { field });
}
