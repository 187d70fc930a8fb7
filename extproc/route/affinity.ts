import { isObject, type JsonObject } from "../protocol/json/object.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";

/** Headers by which clients name the session of a request. */
const SESSION_HEADERS = ["x-session-id", "x-session-affinity", "x-conversation-id", "x-claude-code-session-id"];

const PREFIX_CHARACTERS = 4_096;

/**
 * What requests that share a prompt cache have in common: the key, and the session that the client names, or the beginning of the
 * conversation up to the first user message. Later turns of a conversation have the same, other conversations do not.
 */
export function affinityOf(request: { keyId: string; headers: ReadonlyMap<string, string>; body: RequestBody }): string {
  return `${request.keyId}\n${sessionOf(request) ?? beginningOf(request.body.whole())}`;
}

function sessionOf({ headers, body }: { headers: ReadonlyMap<string, string>; body: RequestBody }): string | undefined {
  const named = SESSION_HEADERS.map((name) => headers.get(name)).find((value) => value !== undefined && value !== "");
  if (named !== undefined) return named;
  const { prompt_cache_key: cacheKey, metadata } = body.whole();
  if (typeof cacheKey === "string" && cacheKey !== "") return cacheKey;
  // Coding tools put their session's id here.
  const userId = isObject(metadata) ? metadata["user_id"] : undefined;
  return typeof userId === "string" && userId !== "" ? userId : undefined;
}

/** Chat has all of it in `messages`, messages a `system` beside them, Responses `instructions` and an `input` that may be a text. */
function beginningOf({ system, messages, instructions, input }: JsonObject): string {
  const history = messages ?? input;
  const turns: unknown[] = Array.isArray(history) ? history : [{ role: "user", content: history }];
  const firstUser = turns.findIndex((turn) => isObject(turn) && turn["role"] === "user");
  const contents = turns.slice(0, firstUser + 1).map((turn) => (isObject(turn) ? turn["content"] : ""));
  return [system ?? instructions, ...contents].map(textOf).join("\n").slice(0, PREFIX_CHARACTERS);
}

function textOf(content: unknown): string {
  if (typeof content === "string") return content.slice(0, PREFIX_CHARACTERS);
  if (!Array.isArray(content)) return "";
  const texts = content.map((part: unknown) => (isObject(part) ? part["text"] : ""));
  return texts
    .filter((text) => typeof text === "string")
    .join("\n")
    .slice(0, PREFIX_CHARACTERS);
}
