import type * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";

/**
 * A failed check of a messages request as the caller's error: which field, what it holds, what to send (S21). The schemas' error
 * texts are noun phrases ("a positive integer"); values are never repeated.
 */
export function requestError(issues: readonly z.core.$ZodIssue[], request: unknown): GatewayError {
  const issue = issues[0];
  const path = issue?.path ?? [];
  const field = fieldName(path);
  const expected = issue?.message ?? "a messages request";
  const message = `\`${field}\` ${describe(request, path)}. Send ${expected}.${elsewhere(field, request)}`;
  return new GatewayError("invalid_request", message, { field });
}

/** A body that was written for another interface. */
function elsewhere(field: string, request: unknown): string {
  if (field === "input" && isThere(request, "messages") && !isThere(request, "input"))
    return " `messages` belongs to POST /v1/chat/completions or POST /v1/messages.";
  if (field === "messages" && isThere(request, "input") && !isThere(request, "messages"))
    return " `input` belongs to POST /v1/responses or POST /v1/embeddings.";
  return "";
}

function isThere(request: unknown, member: string): boolean {
  return typeof request === "object" && request !== null && Object.hasOwn(request, member);
}

/** `messages[2].content`: the notation of every field in an error. */
function fieldName(path: readonly PropertyKey[]): string {
  let name = "";
  for (const step of path) {
    if (typeof step === "number") name += `[${step}]`;
    else name += name === "" ? String(step) : `.${String(step)}`;
  }
  return name === "" ? "body" : name;
}

function describe(request: unknown, path: readonly PropertyKey[]): string {
  let value = request;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return "is missing";
    value = Reflect.get(value, step);
  }
  return describeValue(value);
}

/** What a member holds, without repeating it. */
export function describeValue(value: unknown): string {
  if (value === undefined) return "is missing";
  if (value === null) return "is null";
  if (Array.isArray(value)) return value.length === 0 ? "is an empty array" : "is an array";
  if (typeof value === "object") return "is an object";
  if (typeof value === "string") return value === "" ? "is an empty string" : "is a string that is not accepted there";
  return `is a ${typeof value} that is not accepted there`;
}
