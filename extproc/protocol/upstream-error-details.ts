import { ANSWER_BOUNDS, parseWithin } from "./json/bounds.ts";
import { isObject, type JsonObject } from "./json/object.ts";

/** The content of an upstream's error in any dialect. Absent texts are empty. */
export interface ErrorDetails {
  message: string;
  type: string;
  code: string;
  /** The request field at fault, in the upstream's own words. */
  field: string | null;
  /** An HTTP status given in the body. */
  status: number | null;
  /** The messages protocol's `error.details`. */
  details: JsonObject | null;
  /** Token counts that llama.cpp adds to its text. */
  promptTokens: number | null;
  contextTokens: number | null;
}

const NOTHING: ErrorDetails = {
  message: "",
  type: "",
  code: "",
  field: null,
  status: null,
  details: null,
  promptTokens: null,
  contextTokens: null,
};
const FIELD = /^[A-Za-z0-9_.[\]-]{1,100}$/;

/**
 * Reads OpenAI's, Anthropic's, vLLM's (nested and flat), SGLang's, FastAPI's, Mistral's, llama.cpp's and OpenRouter's shapes. HTML
 * and plain text come from proxies, not from the model server: they contain nothing useful to a caller.
 * @param body the text of an error response, or the parsed payload of an error inside a stream.
 */
export function readErrorDetails(body: unknown): ErrorDetails {
  const json = typeof body === "string" ? parseOrNull(body) : body;
  const holder = Array.isArray(json) ? json[0] : json;
  if (!isObject(holder)) return NOTHING;
  const error = holder["error"];
  if (typeof error === "string" && error !== "") return { ...NOTHING, ...read(holder), message: error };
  if (isObject(error)) return read(error);
  const detail = holder["detail"] ?? detailIn(holder["message"]);
  if (detail !== undefined && detail !== null) return { ...NOTHING, ...readDetail(detail) };
  return read(holder);
}

function read(error: Readonly<Record<string, unknown>>): ErrorDetails {
  const { message, type, code, param, status, http_status: httpStatus } = error;
  return {
    message: text(message),
    type: text(type),
    code: text(code),
    field: typeof param === "string" && FIELD.test(param) ? param : null,
    status: httpStatusOf(code) ?? httpStatusOf(status) ?? httpStatusOf(httpStatus),
    details: isObject(error["details"]) ? error["details"] : null,
    promptTokens: count(error["n_prompt_tokens"]),
    contextTokens: count(error["n_ctx"]),
  };
}

/** Mistral writes FastAPI's body in place of the text. */
function detailIn(message: unknown): unknown {
  return isObject(message) ? message["detail"] : undefined;
}

/** FastAPI: a sentence, or a list of errors with their locations. */
function readDetail(detail: unknown): Partial<ErrorDetails> {
  if (!Array.isArray(detail)) return isObject(detail) ? read(detail) : { message: text(detail) };
  const first: unknown = detail[0];
  if (!isObject(first)) return { message: text(first) };
  const { loc } = first;
  const steps = Array.isArray(loc) ? loc.slice(loc[0] === "body" ? 1 : 0) : [];
  const field = steps
    .map((step) => (typeof step === "number" ? `[${step}]` : `.${String(step)}`))
    .join("")
    .replace(/^\./, "");
  return {
    message: field === "" ? text(first["msg"]) : `${field}: ${text(first["msg"])}`,
    field: FIELD.test(field) ? field : null,
  };
}

function parseOrNull(body: string): unknown {
  try {
    return parseWithin(body, ANSWER_BOUNDS);
  } catch {
    // Not JSON: a proxy's page. Only the status is available.
    return null;
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function httpStatusOf(value: unknown): number | null {
  const status = typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value;
  return typeof status === "number" && Number.isInteger(status) && status >= 400 && status < 600 ? status : null;
}

function count(value: unknown): number | null {
  return typeof value === "number" && Number.isSafeInteger(value) && value > 0 ? value : null;
}
