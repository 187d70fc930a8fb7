import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { inWords } from "../in-words.ts";
import { measureInstruction } from "../instruction.ts";
import { isObject } from "../json/object.ts";
import type { RequestBody } from "../json/request-body.ts";
import { scanElements } from "../json/scan.ts";
import { checkGuardedNames, RERANK_NAMES } from "../output/guarded-names.ts";
import { requestError } from "../request-error.ts";

/** What Cohere recommends and Voyage allows. */
export const MAX_DOCUMENTS = 1_000;
/** Servers read query and instruction again with each document: a short request may cost much. */
export const MAX_READ_TOKENS = 2_000_000;
/** This many bytes of text have at least one token: a request refused for its length is too long for every server. */
const MAX_BYTES_PER_TOKEN = 8;

/** The texts of a request, by their sizes: bytes as JSON writes them. */
export interface RerankRequest {
  readonly queryBytes: number;
  /** Read with each document (instruction.ts). */
  readonly instructionBytes: number;
  readonly documentBytes: readonly number[];
}

const KNOWN_FIELDS: ReadonlySet<string> = new Set(RERANK_NAMES);

const ABOVE_ZERO = "a whole number above 0";
const wholeNumber = z.int({ error: ABOVE_ZERO }).min(1, { error: ABOVE_ZERO }).nullish();

const fieldsSchema = z.object({
  top_n: wholeNumber,
  return_documents: z.boolean({ error: "true or false" }).nullish(),
  max_tokens_per_doc: wholeNumber,
  max_chunks_per_doc: wholeNumber,
  user: z.string({ error: "a string" }).nullish(),
});

/**
 * The content of a request for a ranking, in the form that Cohere, Jina and vLLM share. Texts are not parsed; of fields that only
 * the model server knows, only the size is read.
 * @throws GatewayError `invalid_request` that names the field that is wrong, or ambiguous (S21, S30).
 */
export function readRerankRequest(body: RequestBody): RerankRequest {
  checkGuardedNames(body, "rerank");
  const result = fieldsSchema.safeParse(body.outline);
  // An error describes what it found, and a long string is not in the outline.
  if (!result.success) throw requestError(result.error.issues, body.whole());
  const request = {
    queryBytes: readQuery(body),
    instructionBytes: measureInstruction(body, KNOWN_FIELDS),
    documentBytes: readDocuments(body),
  };
  checkTokens(request);
  return request;
}

/** For a request that was read before. */
export function documentCount({ outline }: RequestBody): number {
  const { documents } = outline;
  return Array.isArray(documents) ? documents.length : 0;
}

function readQuery(body: RequestBody): number {
  const bytes = typeof body.outline["query"] === "string" ? (body.raw("query")?.length ?? 0) - QUOTES : 0;
  if (bytes <= 0) throw misfit(body, ["query"], "a text of at least one character");
  return bytes;
}

const QUOTES = 2;

function readDocuments(body: RequestBody): number[] {
  const { documents } = body.outline;
  if (!Array.isArray(documents)) throw misfit(body, ["documents"], "an array of strings, or of objects with a `text`");
  if (documents.length === 0) throw misfit(body, ["documents"], "at least one document");
  if (documents.length > MAX_DOCUMENTS)
    throw new GatewayError(
      "invalid_request",
      `\`documents\` has ${inWords(documents.length)} documents, and a request may have ${inWords(MAX_DOCUMENTS)}. Send the others in further requests.`,
      { field: "documents" },
    );
  for (const [index, document] of documents.entries()) checkDocument(body, document, index);
  return scanElements(body.raw("documents") ?? NOTHING).map(({ length }) => length - QUOTES);
}

const NOTHING = Buffer.alloc(0);

/** Servers also rank pictures, and objects of which they choose the fields: no hold would cover those. */
function checkDocument(body: RequestBody, document: unknown, index: number): void {
  if (typeof document === "string") return;
  if (!isObject(document)) throw misfit(body, ["documents", index], "a string, or an object with a `text`");
  if (typeof document["text"] !== "string") throw misfit(body, ["documents", index, "text"], "the document's text as a string");
  const other = Object.keys(document).find((name) => name !== "text");
  if (other === undefined) return;
  // The name is the client's text, and may be of any length.
  const field = `documents[${index}]`;
  throw new GatewayError(
    "invalid_request",
    `\`${field}\` has other members than \`text\`. Send what is to be ranked as \`text\`.`,
    {
      field,
    },
  );
}

function checkTokens({ queryBytes, instructionBytes, documentBytes }: RerankRequest): void {
  const bytes = documentBytes.reduce((sum, each) => sum + each, (queryBytes + instructionBytes) * documentBytes.length);
  if (bytes <= MAX_READ_TOKENS * MAX_BYTES_PER_TOKEN) return;
  throw new GatewayError(
    "invalid_request",
    `\`documents\` comes to ${inWords(bytes)} bytes of text, with \`query\` and any instruction once for each of them, and a request may have ${inWords(MAX_READ_TOKENS)} tokens. Send fewer documents in each request, or a shorter query.`,
    { field: "documents" },
  );
}

function misfit(body: RequestBody, path: (string | number)[], expected: string): GatewayError {
  return requestError([{ code: "custom", path, message: expected }], body.whole());
}
