import http, { type IncomingHttpHeaders, type IncomingMessage } from "node:http";
import https from "node:https";
import type { TargetNetworks } from "./networks.ts";
import { guardedLookup, hostOf, objectionTo } from "./target.ts";

/** A request to an address that a customer chose. */
export interface OutboundPost {
  /** As `checkTargetUrl` returned it. */
  url: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  /** For everything, from the name's resolution to the end of the answer. */
  timeoutMs: number;
  /** Of the answer's body; what follows is not read. */
  maxAnswerBytes: number;
  /** Ends it earlier. */
  signal?: AbortSignal | undefined;
}

export interface OutboundAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  /** As it was sent, perhaps compressed, and perhaps only its beginning: the answer's status does not wait for a slow body. */
  body: Buffer;
}

/**
 * Posts to an address that a customer chose. Its host is checked as it is resolved, and redirects are not followed.
 * @throws Error that explains briefly why there is no answer.
 */
export async function postOutbound(post: OutboundPost, networks: TargetNetworks): Promise<OutboundAnswer> {
  const url = new URL(post.url);
  const objection = objectionTo(hostOf(url), networks);
  if (objection !== undefined) throw new Error(objection);
  const { promise, resolve, reject } = Promise.withResolvers<OutboundAnswer>();
  const { request } = url.protocol === "https:" ? https : http;
  const late = AbortSignal.timeout(post.timeoutMs);
  const signal = post.signal === undefined ? late : AbortSignal.any([late, post.signal]);
  const headers = { ...post.headers, "content-length": String(post.body.length) };
  const options = { method: "POST", headers, agent: false, lookup: guardedLookup(networks), signal };
  const sent = request(url, options, (response) => resolve(readAnswer(response, post.maxAnswerBytes)));
  sent.on("error", (error) =>
    reject(new Error(late.aborted ? `The endpoint did not answer within ${post.timeoutMs / 1000} seconds.` : reasonOf(error))),
  );
  sent.end(post.body);
  return promise;
}

async function readAnswer(response: IncomingMessage, maxBytes: number): Promise<OutboundAnswer> {
  const body = await readBody(response, maxBytes);
  response.destroy();
  return { status: response.statusCode ?? 0, headers: response.headers, body };
}

/** What arrives of it, up to a number of bytes. */
async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    if (maxBytes > 0)
      for await (const chunk of response.iterator({ destroyOnReturn: true })) {
        chunks.push(chunk);
        bytes += chunk.length;
        if (bytes >= maxBytes) break;
      }
  } catch {
    // It broke off, or took too long.
  }
  return Buffer.concat(chunks).subarray(0, maxBytes);
}

function reasonOf(error: Error): string {
  return error.message === "" ? "The endpoint could not be reached." : `The endpoint could not be reached: ${error.message}.`;
}
