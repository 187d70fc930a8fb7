import { GatewayError } from "../../contract/errors.ts";
import { CLIENT_PATHS, EDITS_PATH, TRANSLATIONS_PATH, type Dialect, type Interface } from "../../contract/protocol.ts";
import type { FormKind } from "../protocol/form/form-rules.ts";
import { refuseOptions } from "./batch-paths.ts";
import { describeUnknownPath } from "./unknown-path.ts";

/** What a request asks for, known from its method and path alone. */
export type Endpoint =
  | GenerateEndpoint
  | { kind: "count_tokens"; protocol: "messages" | "responses" }
  | { kind: "models"; id: string | null; protocol: Dialect }
  | { kind: "balance"; protocol: "chat" }
  | { kind: "usage"; protocol: "chat"; query: URLSearchParams }
  | { kind: "request_usage"; protocol: "chat"; id: string }
  | StoredResponseEndpoint
  | { kind: "root"; protocol: "chat" };

interface GenerateEndpoint {
  kind: "generate";
  protocol: Interface;
  /** Absent if the request is JSON. */
  form?: FormKind;
}

/** A response by its id, or the `input` of its request. Only Models that store responses have them. */
export interface StoredResponseEndpoint {
  kind: "stored_response";
  protocol: "chat";
  method: "GET" | "DELETE";
  part: "response" | "input_items";
  id: string;
  query: URLSearchParams;
}

export interface RequestLine {
  method: string;
  /** `:path`, with its query. */
  path: string;
  hasVersion: boolean;
  /** Does any Model store responses? */
  storesResponses?: boolean;
}

/** The dialect that errors about a path are written in: that of the interface it belongs to (S17, S20). */
export function protocolOf({ path, hasVersion }: RequestLine): Dialect {
  return hasVersion || /^\/+(v1\/+)*messages(\/|\?|$)/.test(path) ? "messages" : "chat";
}

/** @throws GatewayError `not_found` or `method_not_allowed` (S20). */
export function findEndpoint(line: RequestLine): Endpoint {
  const [pathname, query] = split(line.path);
  const path = withoutTrailingSlashes(pathname);
  switch (path) {
    case CLIENT_PATHS.chat:
      return only(line, "POST", { kind: "generate", protocol: "chat" });
    case CLIENT_PATHS.messages:
      return only(line, "POST", { kind: "generate", protocol: "messages" });
    case "/v1/messages/count_tokens":
      return only(line, "POST", { kind: "count_tokens", protocol: "messages" });
    case "/v1/responses/input_tokens":
      return only(line, "POST", { kind: "count_tokens", protocol: "responses" });
    case CLIENT_PATHS.responses:
      return only(line, "POST", { kind: "generate", protocol: "responses" });
    case CLIENT_PATHS.embeddings:
      return only(line, "POST", { kind: "generate", protocol: "embeddings" });
    case CLIENT_PATHS.rerank:
    // Cohere's newer clients: their requests differ only in fields that pass unread.
    case "/v2/rerank":
      return only(line, "POST", { kind: "generate", protocol: "rerank" });
    case CLIENT_PATHS.image_generation:
      return only(line, "POST", { kind: "generate", protocol: "image_generation" });
    case `/v1${EDITS_PATH}`:
      return only(line, "POST", { kind: "generate", protocol: "image_generation", form: "edit" });
    case CLIENT_PATHS.speech:
      return only(line, "POST", { kind: "generate", protocol: "speech" });
    case CLIENT_PATHS.transcription:
    case `/v1${TRANSLATIONS_PATH}`:
      return only(line, "POST", { kind: "generate", protocol: "transcription", form: "recording" });
    case "/v1/models":
      return only(line, "GET", { kind: "models", id: null, protocol: protocolOf(line) });
    case "/v1/balance":
      return only(line, "GET", { kind: "balance", protocol: "chat" });
    case "/v1/usage":
      return only(line, "GET", { kind: "usage", protocol: "chat", query: new URLSearchParams(query) });
    case "/":
    case "":
      return only(line, "GET", { kind: "root", protocol: "chat" });
  }
  const requestId = /^\/v1\/usage\/([^/]+)$/.exec(path)?.[1];
  if (requestId !== undefined) return only(line, "GET", { kind: "request_usage", protocol: "chat", id: decode(requestId) });
  const modelId = /^\/v1\/models\/(.+)$/.exec(path)?.[1];
  if (modelId !== undefined) return only(line, "GET", { kind: "models", id: decode(modelId), protocol: protocolOf(line) });
  const [, responseId, inputItems] = /^\/v1\/responses\/([^/]+)(\/input_items)?$/.exec(path) ?? [];
  if (responseId !== undefined && line.storesResponses === true && path !== "/v1/responses/compact") {
    const named = { id: decode(responseId), query: new URLSearchParams(query) };
    return inputItems === undefined
      ? storedResponse(line, named)
      : only(line, "GET", { kind: "stored_response", protocol: "chat", method: "GET", part: "input_items", ...named });
  }
  throw (line.method === "OPTIONS" ? refuseOptions(path) : undefined) ?? new GatewayError("not_found", describeUnknownPath(path));
}

function storedResponse({ method }: RequestLine, named: Pick<StoredResponseEndpoint, "id" | "query">): Endpoint {
  const endpoint = { kind: "stored_response", protocol: "chat", part: "response", ...named } as const;
  if (method === "GET" || method === "HEAD") return { ...endpoint, method: "GET" };
  if (method === "DELETE") return { ...endpoint, method };
  throw new GatewayError("method_not_allowed", `This path accepts GET and DELETE, not ${described(method)}.`, {
    headers: { allow: "GET, HEAD, DELETE" },
  });
}

function only(line: RequestLine, method: "GET" | "POST", endpoint: Endpoint): Endpoint {
  if (line.method === method || (method === "GET" && line.method === "HEAD")) return endpoint;
  const allow = method === "GET" ? "GET, HEAD" : "POST";
  throw new GatewayError(
    "method_not_allowed",
    `This path accepts ${method}, not ${described(line.method)}.${method === "POST" ? " To try a key, GET /v1/models." : ""}`,
    { headers: { allow } },
  );
}

/** The method is the client's text; only known ones are repeated. */
function described(method: string): string {
  return /^(GET|HEAD|POST|PUT|PATCH|DELETE|OPTIONS)$/.test(method) ? method : "that method";
}

/** Not a regular expression: for a path of 60,000 slashes and a letter, it would try each of them, for seconds. */
function withoutTrailingSlashes(path: string): string {
  let end = path.length;
  while (end > 1 && path[end - 1] === "/") end -= 1;
  return path.slice(0, end);
}

function split(path: string): [string, string] {
  const at = path.indexOf("?");
  return at < 0 ? [path, ""] : [path.slice(0, at), path.slice(at + 1)];
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    // A broken escape names no model; the lookup answers 404.
    return segment;
  }
}
