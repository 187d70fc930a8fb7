import type { ServerResponse } from "node:http";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { PROTOCOLS, type Protocol } from "../../../contract/protocol.ts";
import type { TestBackend } from "../../support/stacks/backend-manifests.ts";
import { onlyRow } from "../../support/billing/settlement.ts";
import { DEAR, useScriptedModels } from "../../support/servers/scripted-models.ts";

/**
 * Model servers that answer a request for a stream with one document. Envoy has little room for it (docs/decisions/0034): a longer
 * one used to fill that room before extproc had seen the headers, and then nothing moved until the idle timeout.
 */
const SHORT_BYTES = 200_000;
const LONG_BYTES = [400_000, 5_000_000];
/** Nobody waits for a timeout. */
const ANSWERED_WITHIN_MS = 30_000;

let respond: (response: ServerResponse) => void;
const stack = useScriptedModels(
  (_request, response) => respond(response),
  (url) =>
    PROTOCOLS.flatMap((protocol) => {
      const backend = { name: "a", protocol, url } as const satisfies TestBackend;
      const other = { ...backend, name: "b", priority: 1 };
      return [
        { name: `one-${protocol}`, backends: [backend], pricing: DEAR },
        { name: `two-${protocol}`, backends: [backend, other], pricing: DEAR },
        { name: `early-${protocol}`, backends: [backend], streaming: { keepAlive: "10s", answerAfter: "10s" }, pricing: DEAR },
      ];
    }),
);

const REQUESTS = {
  chat: { path: "/v1/chat/completions", body: { messages: [{ role: "user", content: "hi" }], max_tokens: 1_000_000 } },
  messages: { path: "/v1/messages", body: { messages: [{ role: "user", content: "hi" }], max_tokens: 1_000_000 } },
  responses: { path: "/v1/responses", body: { input: "hi" } },
} as const satisfies Record<Protocol, { path: string; body: object }>;

async function ask(client: Protocol, model: string): Promise<{ status: number; text: string; requestId: string }> {
  const { path, body } = REQUESTS[client];
  const response = await fetch(stack().baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack().apiKey}` },
    body: JSON.stringify({ model, stream: true, ...body }),
    signal: AbortSignal.timeout(ANSWERED_WITHIN_MS),
  });
  return { status: response.status, text: await response.text(), requestId: response.headers.get("x-request-id") ?? "" };
}

const textOf = (bytes: number) => "word ".repeat(bytes / 5);
const ANSWERS = {
  chat: (bytes) => ({
    id: "c",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message: { role: "assistant", content: textOf(bytes) }, finish_reason: "stop" }],
  }),
  messages: (bytes) => ({
    id: "m",
    type: "message",
    role: "assistant",
    model: "m",
    stop_reason: "end_turn",
    content: [{ type: "text", text: textOf(bytes) }],
  }),
  responses: (bytes) => ({
    id: "r",
    object: "response",
    status: "completed",
    model: "m",
    output: [
      { id: "o", type: "message", role: "assistant", content: [{ type: "output_text", text: textOf(bytes), annotations: [] }] },
    ],
  }),
} as const satisfies Record<Protocol, (bytes: number) => object>;
const failureOf = (bytes: number) => ({ error: { type: "server_error", message: textOf(bytes) } });

const FRAMINGS = {
  "with its length": (response, status, body) =>
    response.writeHead(status, { "content-type": "application/json", "content-length": body.length }).end(body),
  "in chunks": (response, status, body) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.write(body.subarray(0, 1_000));
    response.end(body.subarray(1_000));
  },
  "behind its headers": (response, status, body) => {
    response.writeHead(status, { "content-type": "application/json" }).flushHeaders();
    setTimeout(() => response.end(body), 50);
  },
  compressed(response, status, body) {
    const packed = gzipSync(body, { level: 0 });
    const headers = { "content-type": "application/json", "content-encoding": "gzip", "content-length": packed.length };
    response.writeHead(status, headers).end(packed);
  },
} as const satisfies Record<string, (response: ServerResponse, status: number, body: Buffer) => void>;
const FRAMING_NAMES = ["with its length", "in chunks", "behind its headers", "compressed"] as const;

/** Each interface with each protocol, and the three routes through Envoy in turn. */
const ROUTE_KINDS = ["one", "two", "early"] as const;
const ROUTES = PROTOCOLS.flatMap((client, row) =>
  PROTOCOLS.map((upstream, column) => ({
    client,
    model: `${ROUTE_KINDS[(row + column) % ROUTE_KINDS.length]}-${upstream}`,
    upstream,
  })),
);

describe.for(FRAMING_NAMES)("a document %s instead of a stream", (framing) => {
  test.for(ROUTES)("$client from $model: a short one is answered as a stream", async ({ client, model, upstream }) => {
    const body = Buffer.from(JSON.stringify(ANSWERS[upstream](SHORT_BYTES)));
    respond = (response) => FRAMINGS[framing](response, 200, body);
    const { status, text, requestId } = await ask(client, model);
    expect(status).toBe(200);
    expect(text).toContain("word word");
    expect(text.length).toBeGreaterThan(SHORT_BYTES);
    expect((await onlyRow(stack(), requestId)).outcome).toBe("complete");
  });

  test.for(ROUTES)(
    "$client from $model: a long one is the server's error, at once and free",
    async ({ client, model, upstream }) => {
      for (const bytes of LONG_BYTES) {
        const body = Buffer.from(JSON.stringify(ANSWERS[upstream](bytes)));
        respond = (response) => FRAMINGS[framing](response, 200, body);
        const { status, text, requestId } = await ask(client, model);
        expect({ bytes, status }).toEqual({ bytes, status: 502 });
        expect(text).toContain("larger than the gateway supports");
        expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "failed", httpStatus: 502, chargeNanoUsd: 0n });
      }
    },
  );

  test.for(ROUTES)("$client from $model: a long error keeps its status", async ({ client, model }) => {
    for (const bytes of LONG_BYTES) {
      const body = Buffer.from(JSON.stringify(failureOf(bytes)));
      for (const failed of [400, 500]) {
        respond = (response) => FRAMINGS[framing](response, failed, body);
        const { status, requestId } = await ask(client, model);
        expect({ bytes, status }).toEqual({ bytes, status: failed });
        expect(await onlyRow(stack(), requestId)).toMatchObject({ outcome: "failed", httpStatus: failed, chargeNanoUsd: 0n });
      }
    }
  });
});
