import { createHmac } from "node:crypto";
import http from "node:http";
import https from "node:https";
import { guardedLookup, hostOf, objectionTo } from "./target.ts";
import type { WebhookNetworks } from "./networks.ts";

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
export async function sendEvent(event: SignedEvent, { networks }: { networks: WebhookNetworks }): Promise<void> {
  const url = new URL(event.url);
  const objection = objectionTo(hostOf(url), networks);
  if (objection !== undefined) throw new Error(objection);
  const status = await post(url, event, networks);
  if (status < 200 || status >= 300) throw new Error(`The endpoint answered with status ${status}.`);
}

function signatureHeaders({ id, body, keys, at }: Omit<SignedEvent, "url">): Record<string, string> {
  const timestamp = String(Math.floor(at.getTime() / 1000));
  const content = `${id}.${timestamp}.${body}`;
  const signatures = keys.map((key) => `v1,${createHmac("sha256", key).update(content).digest("base64")}`);
  return { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures.join(" ") };
}

function post(url: URL, event: SignedEvent, networks: WebhookNetworks): Promise<number> {
  const headers = {
    "content-type": "application/json",
    "content-length": String(Buffer.byteLength(event.body)),
    "user-agent": "Model-Gateway-Webhooks/1",
    ...signatureHeaders(event),
  };
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const { request } = url.protocol === "https:" ? https : http;
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const sent = request(url, { method: "POST", headers, agent: false, lookup: guardedLookup(networks), signal }, (response) => {
    resolve(response.statusCode ?? 0);
    response.destroy();
  });
  sent.on("error", (error) =>
    reject(new Error(signal.aborted ? `The endpoint did not answer within ${TIMEOUT_MS / 1000} seconds.` : reasonOf(error))),
  );
  sent.end(event.body);
  return promise;
}

function reasonOf(error: Error): string {
  return error.message === "" ? "The endpoint could not be reached." : `The endpoint could not be reached: ${error.message}.`;
}
