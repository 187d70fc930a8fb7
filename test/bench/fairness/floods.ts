import type { FloodRequest } from "../load/flood.ts";
import { modelOf } from "../pairs.ts";

/** What one account, or nobody's, does to the gateway while another account is measured. */
export interface FloodCase {
  name: string;
  /** The flood itself. */
  through(target: Target): FloodRequest;
  /** Like it at the model server, past the gateway: what the machine is to blame for. */
  past(target: Target): FloodRequest;
}

export interface Target {
  gatewayUrl: string;
  upstreamUrl: string;
  /** Files of the flooding account's keys, with one key and with many, and of keys that do not exist. */
  keysFile: string;
  manyKeysFile: string;
  wrongKeysFile: string;
}

/** Tiny events, many in a write, for longer than any measurement. */
const FAST = "[[bench chunks=2000000000 burst=100]]";

const body = (
  content: string,
  { isStream = false, upstream = "chat" }: { isStream?: boolean; upstream?: "chat" | "messages" } = {},
) => JSON.stringify({ model: modelOf(upstream), max_tokens: 64_000, stream: isStream, messages: [{ role: "user", content }] });
const ONE_CHUNK = "[[bench chunks=1]]";

function fastStreams(count: number, pair: { client: "chat" | "messages"; upstream: "chat" | "messages" }): FloodCase {
  const path = { chat: "/v1/chat/completions", messages: "/v1/messages" };
  const sent = { connections: count, body: body(FAST, { isStream: true, upstream: pair.upstream }) };
  return {
    name: `${count} fast stream${count === 1 ? "" : "s"}, ${pair.client} from ${pair.upstream}`,
    through: ({ gatewayUrl, keysFile }) => ({ ...sent, url: gatewayUrl + path[pair.client], keysFile }),
    past: ({ upstreamUrl }) => ({ ...sent, url: upstreamUrl + path[pair.upstream] }),
  };
}

/** Requests that are cheap to send. Past the gateway it is always the model server that answers them. */
function requests(
  name: string,
  flood: { path: string; connections: number; body?: string; keys?: "keysFile" | "manyKeysFile" | "wrongKeysFile" },
): FloodCase {
  const { path, connections, keys = "keysFile" } = flood;
  return {
    name: `${name}, ${connections} connections`,
    through: (target) => ({
      url: target.gatewayUrl + path,
      connections,
      keysFile: target[keys],
      body: flood.body,
    }),
    past: ({ upstreamUrl }) => ({ url: `${upstreamUrl}/v1/chat/completions`, connections, body: body(ONE_CHUNK) }),
  };
}

const chat = "/v1/chat/completions";

export const FLOODS: readonly FloodCase[] = [
  fastStreams(1, { client: "chat", upstream: "chat" }),
  fastStreams(1, { client: "messages", upstream: "chat" }),
  fastStreams(10, { client: "chat", upstream: "chat" }),
  fastStreams(10, { client: "messages", upstream: "chat" }),
  requests("tiny JSON", { path: chat, connections: 600, body: body(ONE_CHUNK) }),
  requests("tiny JSON with 200 keys", { path: chat, connections: 600, body: body(ONE_CHUNK), keys: "manyKeysFile" }),
  requests("wrong keys", { path: chat, connections: 600, body: body(ONE_CHUNK), keys: "wrongKeysFile" }),
  requests("/v1/usage", { path: "/v1/usage", connections: 200 }),
  requests("/v1/models", { path: "/v1/models", connections: 200 }),
  requests("/v1/balance with 200 keys", { path: "/v1/balance", connections: 200, keys: "manyKeysFile" }),
  requests("count_tokens", {
    path: "/v1/messages/count_tokens",
    connections: 200,
    body: body("Count.", { upstream: "messages" }),
  }),
  requests("unknown paths", { path: "/v1/nothing", connections: 200 }),
];
