import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { formatNanoUsd } from "../../../ledger/money.ts";
import { makeCompletion, makeCompletionStream } from "../../support/servers/completions.ts";
import { onlyRow } from "../../support/billing/settlement.ts";
import { DEAR, useScriptedModels } from "../../support/servers/scripted-models.ts";

/** Status and headers of a model server, in front of an answer that would be charged. */
let answer: (response: ServerResponse) => void = () => {};
const stack = useScriptedModels(
  (_request, response) => answer(response),
  (url) => [
    { name: "single", backends: [{ name: "only", protocol: "chat", url }], pricing: DEAR },
    {
      name: "several",
      backends: ["first", "spare"].map((name, priority) => ({ name, protocol: "chat", url, priority })),
      pricing: DEAR,
    },
  ],
);

interface Asked {
  model: string;
  isStream: boolean;
}

const EACH = ["single", "several"].flatMap((model) => [true, false].map((isStream) => ({ model, isStream })));

function ask({ model, isStream }: Asked, path = "/v1/chat/completions"): Promise<Response> {
  const prompt = path === "/v1/responses" ? { input: "hi" } : { max_tokens: 5_000, messages: [{ role: "user", content: "hi" }] };
  return fetch(stack().baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack().apiKey}` },
    body: JSON.stringify({ model, stream: isStream, ...prompt }),
    signal: AbortSignal.timeout(10_000),
  });
}

const rowOf = (response: Response) => onlyRow(stack(), response.headers.get("x-request-id") ?? "");

function send(response: ServerResponse, { isStream }: Asked, { status = 200, headers = {} } = {}): void {
  const type = isStream ? "text/event-stream" : "application/json";
  response.writeHead(status, { "content-type": type, ...headers }).end(isStream ? makeCompletionStream() : makeCompletion());
}

describe.for(EACH)("$model, stream: $isStream", (asked) => {
  test("a status that forbids a body is an error, and free (S38)", async () => {
    answer = (response) => send(response, asked, { status: 205 });
    const response = await ask(asked);
    expect(response.status).toBe(502);
    expect(await response.json()).toMatchObject({ error: { message: "The model server's answer is empty." } });
    expect(await rowOf(response)).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
  });

  test.for([201, 202])("a complete answer with status %i is a 200, which is all that some SDKs accept", async (status) => {
    answer = (response) => send(response, asked, { status });
    const response = await ask(asked);
    expect(response.status).toBe(200);
    expect(await response.text()).toContain(asked.isStream ? "data: [DONE]" : '"finish_reason":"stop"');
    expect(await rowOf(response)).toMatchObject({ outcome: "complete" });
  });

  test("a server's headers are not passed on, whatever their names (S17)", async () => {
    const headers = {
      "x-internal": "secret",
      "x-envoy-internal": "secret",
      "x-envoy-ratelimited": "true",
      "x-envoy-upstream-service-time": "9",
      "x-gateway-local-reply": "secret",
      "x-gateway-try-next": "1",
      "x-gateway-cost": "secret",
      "x-request-id": "secret",
    };
    answer = (response) => send(response, asked, { headers });
    const response = await ask(asked);
    await response.text();
    expect(response.status).toBe(200);
    const row = await rowOf(response);
    expect(row).toMatchObject({ outcome: "complete", isEstimated: false });
    expect([...response.headers].filter(([name, value]) => /^x-(envoy|gateway)-/.test(name) || value === "secret")).toEqual(
      asked.isStream ? [] : [["x-gateway-cost", formatNanoUsd(row.chargeNanoUsd)]],
    );
  });

  test("a server's error is attributed to the server, even if it claims to come from the gateway (S22)", async () => {
    answer = (response) =>
      response
        .writeHead(422, { "content-type": "application/json", "x-gateway-local-reply": "cluster_not_found" })
        .end('{"error":{"message":"`top_p` is too high"}}');
    const response = await ask(asked);
    expect(response.status).toBe(422);
    expect(await response.json()).toMatchObject({ error: { message: expect.stringContaining("`top_p` is too high") } });
  });
});

/** Types of streams as their servers write them: some name none, or that of any text. */
const TYPES = [undefined, "text/plain; charset=utf-8", "application/octet-stream", "Text/Event-Stream;Charset=UTF-8"];

const WORDS = 3_000;
const [BEGIN = "", ...END] = makeCompletionStream().split(/(?<=\n\n)/);
/** Longer than a document may be. */
const LONG_STREAM = BEGIN.replace("one two three", "word ").repeat(WORDS) + END.join("");

describe.for(["single", "several"])("%s: a stream whose type is", (model) => {
  test.for(TYPES.flatMap((type) => ["/v1/chat/completions", "/v1/messages", "/v1/responses"].map((path) => ({ type, path }))))(
    "$type reaches clients of $path as it comes, however long it is (S14)",
    async ({ type, path }) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      answer = (response) => {
        // Node.js would add a type of its own.
        response.writeHead(200, type === undefined ? {} : { "content-type": type });
        response.write(LONG_STREAM.slice(0, 1_000));
        void promise.then(() => response.end(LONG_STREAM.slice(1_000)));
      };
      const response = await ask({ model, isStream: true }, path);
      expect(response.headers.get("content-type")).toBe("text/event-stream");
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
      const begin = (await reader?.read())?.value ?? "";
      expect(begin).toMatch(/^(?:data|event): /);
      resolve();
      let text = begin;
      for (let part = await reader?.read(); part?.done === false; part = await reader?.read()) text += part.value;
      expect(text).toMatch(/\[DONE\]|message_stop|response\.completed/);
      expect(text.match(/"(?:content|text|delta)":"word "/g)).toHaveLength(WORDS);
      expect(await rowOf(response)).toMatchObject({ outcome: "complete" });
    },
  );

  test("that of a text is read if it is one document", async () => {
    answer = (response) => response.writeHead(200, { "content-type": "text/plain" }).end(makeCompletion());
    const response = await ask({ model, isStream: true });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(await response.text()).toContain("data: [DONE]");
    expect(await rowOf(response)).toMatchObject({ outcome: "complete", isEstimated: false });
  });

  test("followed by a charset in place of a coding is not compressed", async () => {
    const asked = { model, isStream: true };
    answer = (response) => send(response, asked, { headers: { "content-encoding": "UTF-8" } });
    const response = await ask(asked);
    expect(await response.text()).toContain("data: [DONE]");
    expect(response.headers.get("content-encoding")).toBeNull();
    expect(await rowOf(response)).toMatchObject({ outcome: "complete", isEstimated: false });
  });
});
