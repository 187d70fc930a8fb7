import type { Protocol } from "../../contract/protocol.ts";

/** What the client speaks, and what the upstream speaks. */
export interface Pair {
  client: Protocol;
  upstream: Protocol;
}

export const PAIRS: readonly Pair[] = [
  { client: "chat", upstream: "chat" },
  { client: "messages", upstream: "messages" },
  { client: "messages", upstream: "chat" },
  { client: "chat", upstream: "messages" },
];

export function pathOf(client: Protocol): string {
  return client === "chat" ? "/v1/chat/completions" : "/v1/messages";
}

/** Name of the model whose upstream speaks this. */
export function modelOf(upstream: Protocol): string {
  return `bench-${upstream}`;
}
