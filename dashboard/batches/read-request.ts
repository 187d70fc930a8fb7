import * as z from "zod";
import { BATCH_BOUNDS, type BatchInterface } from "../../contract/batches.ts";
import { CLIENT_PATHS } from "../../contract/protocol.ts";
import { rawMembers } from "./raw-members.ts";
import { excessOf } from "./structure.ts";

/** A request of a batch as it was written. */
export interface ReadRequest {
  customId: string;
  /** As it is sent to the model. */
  body: Buffer;
}

/** What is wrong with it, and where. */
export class RequestMistake extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

/** Postgres rejects a NUL in a text, and half of a surrogate pair is no text at all. */
const customId = z
  .string("must be a string")
  .min(1, "must not be empty")
  .max(BATCH_BOUNDS.customIdCharacters, `must have at most ${BATCH_BOUNDS.customIdCharacters} characters`)
  .refine((text) => !text.includes("\0") && text.isWellFormed(), "must be valid text without NUL characters");

const body = z.looseObject(
  {
    model: z.string("must be the name of a model").min(1, "must be the name of a model"),
    stream: z.union([z.literal(false), z.null()], "must not be true: batches do not stream answers").optional(),
  },
  "must be an object",
);

const line = z.strictObject(
  {
    custom_id: customId,
    method: z.literal("POST", "must be POST"),
    url: z.string("must be the endpoint of the batch"),
    body,
  },
  {
    error: (issue) =>
      issue.code === "unrecognized_keys" ? "must have no fields other than custom_id, method, url and body" : undefined,
  },
);

/** One line of a file. @throws RequestMistake */
export function readLine(bytes: Buffer, client: BatchInterface): ReadRequest {
  const text = decode(bytes);
  const parsed = parse(text, line);
  if (parsed.url !== CLIENT_PATHS[client])
    throw new RequestMistake("url", `must be ${CLIENT_PATHS[client]}, the endpoint of the batch`);
  return { customId: parsed.custom_id, body: Buffer.from(rawMembers(text).get("body") ?? "{}") };
}

const element = z.strictObject(
  {
    custom_id: customId.regex(/^[a-zA-Z0-9_-]{1,64}$/, "must be 1 to 64 letters, digits, _ and -"),
    params: body,
  },
  { error: (issue) => (issue.code === "unrecognized_keys" ? "must have no fields other than custom_id and params" : undefined) },
);

/** One element of a list of messages. @throws RequestMistake */
export function readElement(bytes: Buffer): ReadRequest {
  const text = decode(bytes);
  const parsed = parse(text, element);
  return { customId: parsed.custom_id, body: Buffer.from(rawMembers(text).get("params") ?? "{}") };
}

function decode(bytes: Buffer): string {
  const excess = excessOf(bytes, { parts: BATCH_BOUNDS.requestParts, members: BATCH_BOUNDS.requestMembers });
  if (excess === "parts") throw new RequestMistake("", `must have at most ${BATCH_BOUNDS.requestParts} JSON values`);
  if (excess === "members") throw new RequestMistake("", `must have at most ${BATCH_BOUNDS.requestMembers} members of objects`);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw mistake("", "must be valid UTF-8", error);
  }
}

function parse<Value>(text: string, schema: z.ZodType<Value>): Value {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw mistake("", "must be valid JSON", error);
  }
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  throw new RequestMistake(issue?.path.map(String).join(".") ?? "", claimOf(issue));
}

function mistake(field: string, message: string, cause: unknown): RequestMistake {
  const made = new RequestMistake(field, message);
  made.cause = cause;
  return made;
}

/** Zod's own texts say what it got, which may be the customer's text. */
function claimOf(issue: z.core.$ZodIssue | undefined): string {
  return issue?.message.startsWith("must ") === true ? issue.message : "is missing or has the wrong type";
}
