import { GatewayError } from "../../contract/errors.ts";
import {
  END_USER,
  LABEL_BOUNDS,
  problemOfLabelValue,
  problemOfTagName,
  tagDimension,
  TAGS_HEADER,
  type Label,
} from "../../contract/labels.ts";
import type { Interface } from "../../contract/protocol.ts";
import { isObject } from "../protocol/json/object.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import { opaqueUserId } from "../translate/conversation/user-id.ts";
import { looksLikeSecret } from "./secret-forms.ts";
import { parseTagsHeader } from "./tags-header.ts";

interface LabelledRequest {
  protocol: Interface;
  headers: ReadonlyMap<string, string>;
  body: RequestBody;
}

/**
 * Tags and end user of a request whose account keeps them. A tag of the header goes before one of the body.
 * @throws GatewayError `invalid_request` that names the header or the field; values are never repeated.
 */
export function readLabels({ protocol, headers, body }: LabelledRequest): Label[] {
  const tags = new Map<string, string>();
  for (const { name, value } of SOURCES[protocol].hasTags ? readMetadata(body) : []) tags.set(name, value);
  for (const { name, value } of parseTagsHeader(headers.get(TAGS_HEADER) ?? "")) tags.set(name, value);
  if (tags.size > LABEL_BOUNDS.tagsOfRequest) throw tooManyTags(headers.has(TAGS_HEADER) ? TAGS_HEADER : "metadata");
  const endUser = readEndUser(protocol, body);
  const labels = [...tags].map(([name, value]): Label => ({ dimension: tagDimension(name), value }));
  if (endUser !== undefined) labels.push({ dimension: END_USER, value: endUser });
  if (bytesOf(labels) > LABEL_BOUNDS.bytesOfRequest) throw tooManyBytes(headers.has(TAGS_HEADER) ? TAGS_HEADER : "metadata");
  return labels;
}

/** What labels occupy, in the journal and in memory. */
export function bytesOf(labels: readonly Label[]): number {
  return labels.reduce((sum, { dimension, value }) => sum + Buffer.byteLength(dimension) + Buffer.byteLength(value), 0);
}

/** Where the body of each interface has them. The first end user that is there counts. */
const SOURCES = {
  chat: { hasTags: true, endUser: ["safety_identifier", "user"] },
  responses: { hasTags: true, endUser: ["safety_identifier", "user"] },
  embeddings: { hasTags: false, endUser: ["user"] },
  rerank: { hasTags: false, endUser: ["user"] },
  image_generation: { hasTags: false, endUser: ["safety_identifier", "user"] },
  speech: { hasTags: false, endUser: ["user"] },
  transcription: { hasTags: false, endUser: ["user"] },
  messages: { hasTags: false, endUser: ["metadata.user_id"] },
} as const satisfies Record<Interface, { hasTags: boolean; endUser: readonly string[] }>;

/** Sixteen values of OpenAI's length, escaped, are less. */
const MAX_METADATA_BYTES = 64 * 1024;

function readMetadata(body: RequestBody): { name: string; value: string }[] {
  const metadata = readMember(body, "metadata");
  if (!isObject(metadata)) return [];
  const tags: { name: string; value: string }[] = [];
  for (const [name, given] of Object.entries(metadata)) {
    // Servers and proxies have objects and lists of their own there: those are no tags.
    if (typeof given !== "string" && typeof given !== "number" && typeof given !== "boolean") continue;
    const value = String(given).trim();
    if (value === "") continue;
    const wrongName = problemOfTagName(name);
    if (wrongName !== undefined) throw refuse("metadata", `has a name that ${wrongName}`, TAG_NAME_REMEDY);
    checkValue(`metadata.${name}`, value);
    tags.push({ name, value });
  }
  return tags;
}

function readEndUser(protocol: Interface, body: RequestBody): string | undefined {
  for (const field of SOURCES[protocol].endUser) {
    const [member, within] = field.split(".");
    const found = readMember(body, member ?? field);
    const given = within === undefined ? found : isObject(found) ? found[within] : undefined;
    if (typeof given !== "string" || given.trim() === "") continue;
    // Coding tools send long ids: they keep their user, by a shorter name.
    const value = given.length > LABEL_BOUNDS.value ? opaqueUserId(given) : given.trim();
    checkValue(field, value);
    return value;
  }
  return undefined;
}

function checkValue(field: string, value: string): void {
  const problem = problemOfLabelValue(value);
  if (problem !== undefined)
    throw refuse(field, problem, `Send 1 to ${LABEL_BOUNDS.value} printable characters, or leave it out.`);
  if (looksLikeSecret(value)) throw refuse(field, "looks like a credential", "It is not stored. Leave it out.");
}

/** One member, whole: in an outline long strings are empty. */
function readMember(body: RequestBody, name: string): unknown {
  if (!Object.hasOwn(body.outline, name)) return undefined;
  const raw = body.raw(name);
  if (raw === undefined) return undefined;
  if (raw.length > MAX_METADATA_BYTES) throw tooManyBytes(name);
  try {
    return JSON.parse(raw.toString("utf8"));
  } catch {
    // A long string may hold what is no JSON: reading all of the body says where.
    return body.whole()[name];
  }
}

const TAG_NAME_REMEDY = `Send 1 to ${LABEL_BOUNDS.tagName} printable characters without \`,\` and \`=\`.`;

function tooManyTags(field: string): GatewayError {
  return refuse(
    field,
    `brings this request to more than ${LABEL_BOUNDS.tagsOfRequest} tags`,
    "Send fewer. The header's and those of `metadata` count together.",
  );
}

function tooManyBytes(field: string): GatewayError {
  const problem = `brings the request's tags and end user to more than ${LABEL_BOUNDS.bytesOfRequest} bytes`;
  return refuse(field, problem, "Send fewer or shorter ones.");
}

function refuse(field: string, problem: string, remedy: string): GatewayError {
  const because = "This account keeps tags and end users with its requests.";
  return new GatewayError("invalid_request", `\`${field}\` ${problem}. ${remedy} ${because}`, { field });
}
