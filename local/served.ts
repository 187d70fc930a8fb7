import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";

/** Names of models that clients of each interface may use. */
export interface Served {
  chat: readonly string[];
  messages: readonly string[];
}

const listSchema = z.object({ data: z.array(z.object({ id: z.string() })) });
const POLL_MS = 100;
const WITHIN_MS = 10_000;
const ASK_WITHIN_MS = 2_000;

/**
 * What the gateway serves, requested as a client would. Waits for the first Model, which is published once Envoy has accepted its
 * cluster. Empty if there is none by then: all manifests may be invalid, which must not prevent the start.
 */
export async function listServed(gateway: { baseUrl: string; apiKey: string; signal: AbortSignal }): Promise<Served> {
  const deadline = performance.now() + WITHIN_MS;
  for (;;) {
    gateway.signal.throwIfAborted();
    const served = await listBoth(gateway);
    // They may have been published between the one list and the other.
    if (served.chat.length + served.messages.length > 0) return await listBoth(gateway);
    if (performance.now() >= deadline) return served;
    await sleep(POLL_MS);
  }
}

async function listBoth(gateway: { baseUrl: string; apiKey: string }): Promise<Served> {
  return { chat: await list(gateway, {}), messages: await list(gateway, { "anthropic-version": "2023-06-01" }) };
}

async function list(gateway: { baseUrl: string; apiKey: string }, headers: Record<string, string>): Promise<string[]> {
  try {
    const response = await fetch(`${gateway.baseUrl}/v1/models`, {
      headers: { authorization: `Bearer ${gateway.apiKey}`, ...headers },
      signal: AbortSignal.timeout(ASK_WITHIN_MS),
    });
    return listSchema.parse(await response.json()).data.map(({ id }) => id);
  } catch {
    return [];
  }
}
