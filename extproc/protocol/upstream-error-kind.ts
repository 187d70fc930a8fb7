import { ERRORS, type ErrorKind } from "../../contract/errors.ts";
import { dialectOf, type Interface, type Protocol } from "../../contract/protocol.ts";
import { isObject, type JsonObject } from "./json/object.ts";
import type { ErrorDetails } from "./upstream-error-details.ts";
import { logText } from "./upstream-error-text.ts";

/** A protocol's own names. Servers also send class names, numbers and sentences here, which clients must not see. */
const NAME = /^[a-z][a-z0-9_]{0,63}$/;
/** A text is refused for what it says, whoever refuses it. */
const CONTENT_REFUSED = ERRORS.content_refused.chat.code;
/** Names that a client would read as a problem with its own key, balance or model; only the gateway's own errors may say that. */
const RESERVED: ReadonlySet<string> = new Set([
  ...Object.values(ERRORS).flatMap(({ chat }) => (chat.code === null || chat.code === CONTENT_REFUSED ? [] : [chat.code])),
  "authentication_error",
  "permission_error",
  "billing_error",
  "not_found_error",
  "insufficient_quota",
  "rate_limit_error",
  "overloaded_error",
]);

const MAX_MEMBERS = 16;
const MAX_ELEMENTS = 32;
const MAX_TEXT = 200;

/** The server's names for its refusal; null unless the client's protocol shares them. */
export function keptKind(details: ErrorDetails, upstream: Protocol, client: Interface): ErrorKind | null {
  // Protocols of one dialect share their error names.
  if (dialectOf(upstream) !== dialectOf(client)) return null;
  return { type: keptName(details.type), code: keptName(details.code) };
}

/** `error.details`, from which messages SDKs recover: bounded, without addresses and credentials. */
export function keptDetails({ details }: ErrorDetails, upstream: Protocol, client: Interface): JsonObject | null {
  if (details === null || upstream !== "messages" || client !== "messages") return null;
  const kept = Object.entries(details)
    .slice(0, MAX_MEMBERS)
    .flatMap(([name, value]) => {
      const safe = NAME.test(name) ? safeValue(value) : undefined;
      return safe === undefined ? [] : [[name, safe] as const];
    });
  return kept.length === 0 ? null : Object.fromEntries(kept);
}

function keptName(name: string): string | null {
  return NAME.test(name) && !RESERVED.has(name) ? name : null;
}

/** Undefined for anything nested deeper than a list of texts. */
function safeValue(value: unknown): unknown {
  if (Array.isArray(value))
    return value
      .slice(0, MAX_ELEMENTS)
      .filter((element) => typeof element === "string")
      .map(safeText);
  if (isObject(value)) return undefined;
  return typeof value === "string" ? safeText(value) : value;
}

function safeText(text: string): string {
  return logText(text).slice(0, MAX_TEXT).toWellFormed();
}
