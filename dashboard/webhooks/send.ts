import { createHmac } from "node:crypto";
import type { TargetNetworks } from "../outbound/networks.ts";
import { postOutbound } from "../outbound/post.ts";

const TIMEOUT_MS = 10_000;

export interface SignedEvent {
  /** The same for every attempt. */
  id: string;
  url: string;
  body: string;
  /** Sign events, each with a signature of its own: more than one while a secret is being replaced. */
  keys: readonly Buffer[];
  at: Date;
}

/**
 * Posts an event, signed as Standard Webhooks defines (https://www.standardwebhooks.com): receivers verify it with a library.
 * Redirects are not followed, and only the status of the answer is read.
 * @throws Error that explains briefly why it was not accepted.
 */
export async function sendEvent(event: SignedEvent, { networks }: { networks: TargetNetworks }): Promise<void> {
  const headers = {
    "content-type": "application/json",
    "user-agent": "Model-Gateway-Webhooks/1",
    ...signatureHeaders(event),
  };
  const { url } = event;
  const body = Buffer.from(event.body);
  const { status } = await postOutbound({ url, headers, body, timeoutMs: TIMEOUT_MS, maxAnswerBytes: 0 }, networks);
  if (status < 200 || status >= 300) throw new Error(`The server responded with status ${status}.`);
}

function signatureHeaders({ id, body, keys, at }: Omit<SignedEvent, "url">): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const content = `${id}.${timestamp}.${body}`;
  const signatures = keys.map((key) => `v1,${createHmac("sha256", key).update(content).digest("base64")}`);
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}
