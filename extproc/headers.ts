import type { Backend } from "../contract/catalogue.ts";
import { ATTEMPTS_CLUSTER, HEADERS, attemptPath } from "../contract/headers.ts";
import type { HeaderChanges } from "./reply.ts";
import type { Translation } from "./translate/translation.ts";

/** Client headers that an upstream may see. All others are dropped: credentials, cookies, addresses. */
const PASSED_UPSTREAM = new Set([
  "content-type",
  "content-length",
  "accept",
  "user-agent",
  // Without it Envoy finds no route; the route removes it (operator/bootstrap/routes/upstream.ts).
  "x-forwarded-proto",
]);

/** Upstream headers that a client may see; the others describe the operator's own account with the provider. */
const PASSED_DOWNSTREAM = new Set(["content-type", "content-length", "cache-control", "date", "transfer-encoding"]);

export interface RequestChangesInput {
  headers: ReadonlyMap<string, string>;
  backend: Backend;
  upstream: Translation["upstream"];
  requestId: string;
  /** The Model sets timeouts, which this process enforces. */
  isTimed?: boolean;
  /** The answer will be a stream: it goes through the relay. */
  isStream?: boolean;
  /** The request passes through this process, which may answer early. */
  early?: EarlyRelay | null;
}

/** Routes a request to the process that relays it. */
export interface EarlyRelay {
  /** That process's address. */
  worker: string;
}

/** Turns the client's request headers into those of the upstream request. */
export function requestChanges(input: RequestChangesInput): HeaderChanges {
  const { headers, backend, upstream, requestId, isTimed = false, isStream = false, early = null } = input;
  const set: Record<string, string> = {
    ":path": pathOn(backend, upstream.path),
    [HEADERS.backend]: backend.cluster,
    [HEADERS.requestId]: requestId,
    "content-type": "application/json",
    // Compressed streams can be neither read nor metered.
    "accept-encoding": "identity",
    ...upstream.headers,
    ...earlyHeaders(early),
  };
  if (isTimed) set[HEADERS.timed] = "1";
  if (isStream && early === null) set[HEADERS.streamed] = "1";
  return { set, remove: namesToRemove(headers, (name) => PASSED_UPSTREAM.has(name) || Object.hasOwn(set, name)) };
}

function pathOn({ basePath, apiVersion }: Backend, path: string): string {
  return apiVersion === undefined ? basePath + path : `${basePath}${path}?api-version=${apiVersion}`;
}

function earlyHeaders(early: EarlyRelay | null): Readonly<Record<string, string>> {
  return early === null ? {} : { [HEADERS.earlyAnswer]: "1", [HEADERS.worker]: early.worker };
}

interface AttemptsChangesInput extends Pick<RequestChangesInput, "headers" | "requestId"> {
  /** The answer will be a stream. */
  isStream: boolean;
  /** This process's number. */
  worker: number;
  early: EarlyRelay | null;
}

/**
 * Sends a request to the listener where each attempt names its backend; it converts the remaining headers into the upstream's.
 */
export function attemptsChanges({ headers, requestId, worker, isStream, early }: AttemptsChangesInput): HeaderChanges {
  const set = {
    ":path": attemptPath(worker),
    [HEADERS.backend]: ATTEMPTS_CLUSTER,
    [HEADERS.requestId]: requestId,
    ...(isStream ? { [HEADERS.streamed]: "1" } : {}),
    ...earlyHeaders(early),
  };
  return { set, remove: namesToRemove(headers, (name) => PASSED_UPSTREAM.has(name) || Object.hasOwn(set, name)) };
}

export interface ResponseChangesInput {
  headers: ReadonlyMap<string, string>;
  isStream: boolean;
  /** Of events, not of sound. */
  isEvents: boolean;
  /** Of a complete answer that is no JSON. */
  contentType?: string | undefined;
  /** The body keeps the model server's length, or gets a new one. */
  hasLength: boolean;
  requestId: string;
  dropped: readonly string[];
  /** The caller's remaining limits; the upstream's are about our account, and never pass. */
  limits: Readonly<Record<string, string>>;
  /** The model's announcement of its removal. */
  notice: Readonly<Record<string, string>>;
}

/** Turns the upstream's response headers into those for the client. */
export function responseChanges({
  headers,
  isStream,
  isEvents,
  contentType = "application/json",
  hasLength,
  requestId,
  dropped,
  limits,
  notice,
}: ResponseChangesInput): HeaderChanges {
  const set: Record<string, string> = { ...requestIdHeaders(requestId), ...limits, ...notice };
  if (isOtherSuccess(headers.get(":status"))) set[":status"] = "200";
  if (dropped.length > 0) set[HEADERS.dropped] = encodeFieldNames(dropped);
  if (isStream) set["cache-control"] = "no-cache";
  // Some clients compare it, case by case.
  if (isEvents && headers.get("content-type")?.startsWith(EVENTS) !== true) set["content-type"] = EVENTS;
  if (!isStream) set["content-type"] = contentType;
  const remove = [...headers.keys()].filter(
    (name) => !name.startsWith(":") && !PASSED_DOWNSTREAM.has(name) && !Object.hasOwn(set, name),
  );
  return { set, remove: hasLength ? remove : [...remove, "content-length"] };
}

/** Some servers answer 201 or 202, as their frameworks do by default; OpenAI's SDK for .NET takes these for errors. */
function isOtherSuccess(status: string | undefined): boolean {
  return status !== undefined && status !== "200" && status.startsWith("2");
}

/** One id under both names (S17). */
export function requestIdHeaders(requestId: string): Readonly<Record<string, string>> {
  return { [HEADERS.requestId]: requestId, [HEADERS.requestIdMessages]: requestId };
}

function namesToRemove(headers: ReadonlyMap<string, string>, isKept: (name: string) => boolean): string[] {
  // Envoy rejects changes to routing headers. The listener removes Envoy's own headers sent by clients.
  return [...headers.keys()].filter(
    (name) => !name.startsWith(":") && name !== "host" && !name.startsWith("x-envoy-") && !isKept(name),
  );
}

const MAX_DROPPED_HEADER_CHARACTERS = 1024;

// Field names may come from the client: nothing passes that could end or inflate the header.
function encodeFieldNames(names: readonly string[]): string {
  return names
    .filter((name) => /^[\w.[\]-]{1,128}$/.test(name))
    .join(", ")
    .slice(0, MAX_DROPPED_HEADER_CHARACTERS);
}

const EVENTS = "text/event-stream";

/** Of server-sent events, or framed. */
export function isEventStream(headers: ReadonlyMap<string, string>): boolean {
  return hasType(headers, EVENTS) || isFramed(headers);
}

/** Frameworks write no type, or that of any text or bytes, for a stream to which its server gives none. */
export function isUntyped(headers: ReadonlyMap<string, string>): boolean {
  return /^(?:text\/plain|application\/octet-stream)?[ \t]*(?:;|$)/i.test(headers.get("content-type") ?? "");
}

/** An event stream of AWS, whose events have binary frames: no translation but its platform's can read it. */
export function isFramed(headers: ReadonlyMap<string, string>): boolean {
  return hasType(headers, "application/vnd.amazon.eventstream");
}

function hasType(headers: ReadonlyMap<string, string>, type: string): boolean {
  return headers.get("content-type")?.toLowerCase().startsWith(type) ?? false;
}

/** Null if the client does not state it. Envoy has checked that it is a number. */
export function readLength(headers: ReadonlyMap<string, string>): number | null {
  const length = headers.get("content-length");
  return length === undefined ? null : Number(length);
}
