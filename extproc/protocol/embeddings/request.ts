import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import type { RequestBody } from "../json/request-body.ts";
import { measureInstruction } from "../instruction.ts";
import { checkGuardedNames } from "../output/guarded-names.ts";
import { requestError } from "../request-error.ts";
import { readInputs, type Inputs } from "./input.ts";

export interface EmbeddingsRequest {
  inputs: Inputs;
  /** Read with each input (instruction.ts). */
  instructionBytes: number;
  /** Of each vector; null if the model decides. */
  dimensions: number | null;
  format: (typeof FORMATS)[number];
}

const KNOWN_FIELDS: ReadonlySet<string> = new Set(["input", "encoding_format", "dimensions"]);

const FORMATS = ["float", "base64"] as const;
const SEND_FORMAT = FORMATS.map((format) => `"${format}"`).join(" or ");
/** No model has this many, and no vector of that length would fit into an answer. */
const MAX_DIMENSIONS = 65_536;
const SEND_DIMENSIONS = `a whole number from 1 to ${MAX_DIMENSIONS}`;

const fieldsSchema = z.object({
  encoding_format: z.enum(FORMATS, { error: SEND_FORMAT }).nullish(),
  dimensions: z
    .int({ error: SEND_DIMENSIONS })
    .min(1, { error: SEND_DIMENSIONS })
    .max(MAX_DIMENSIONS, { error: SEND_DIMENSIONS })
    .nullish(),
  user: z.string({ error: "a string" }).nullish(),
});

/**
 * The content of a request for embeddings. Fields that only the model server knows pass unread.
 * @throws GatewayError `invalid_request` that names the field that is wrong, or ambiguous (S21, S30).
 */
export function readEmbeddingsRequest(body: RequestBody): EmbeddingsRequest {
  checkGuardedNames(body, "embeddings");
  // Some servers also embed a conversation, with pictures whose tokens cannot be held.
  if (body.outline["input"] !== undefined && (body.outline["messages"] ?? null) !== null)
    throw new GatewayError("invalid_request", "`messages` belongs to POST /v1/chat/completions. Send `input` alone.", {
      field: "messages",
    });
  const result = fieldsSchema.safeParse(body.outline);
  // An error describes what it found, and a long string is not in the outline.
  if (!result.success) throw requestError(result.error.issues, body.whole());
  const { dimensions, encoding_format: format } = result.data;
  const instructionBytes = measureInstruction(body, KNOWN_FIELDS);
  return {
    inputs: readInputs(body, instructionBytes),
    instructionBytes,
    dimensions: dimensions ?? null,
    format: format ?? "float",
  };
}
