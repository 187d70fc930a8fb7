import { request as httpRequest } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { startSimulator, type Simulator } from "../../../../local/simulator/simulator.ts";

let simulator: Simulator;

beforeAll(async () => {
  simulator = await startSimulator();
});
afterAll(() => simulator.close());
beforeEach(async () => void (await fetch(`${simulator.url}/simulator/requests`, { method: "DELETE" })));

function post(directive: string, more: object = {}, init: RequestInit = {}): Promise<Response> {
  const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: `Hi [[sim ${directive}]]` }], ...more });
  return fetch(`${simulator.url}/v1/chat/completions`, { method: "POST", body, ...init });
}

function postMessages(directive: string, more: object = {}): Promise<Response> {
  const body = JSON.stringify({
    model: "m",
    max_tokens: 99,
    messages: [{ role: "user", content: `[[sim ${directive}]]` }],
    ...more,
  });
  return fetch(`${simulator.url}/v1/messages`, { method: "POST", body });
}

const answerSchema = z.object({
  choices: z.array(
    z.object({
      message: z.looseObject({
        content: z.string().nullish(),
        tool_calls: z
          .array(z.looseObject({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }))
          .nullish(),
      }),
    }),
  ),
});

function dataLines(text: string): string[] {
  return text.split(/\r?\n/).filter((line) => line.startsWith("data:"));
}

describe("directives", () => {
  test("status, type, code and retry-after create an error of the protocol", async () => {
    const chat = await post("status=429 retry-after=3 type=tokens code=slow_down");
    expect([chat.status, chat.headers.get("retry-after")]).toStrictEqual([429, "3"]);
    expect(await chat.json()).toMatchObject({ error: { type: "tokens", code: "slow_down" } });
    const messages = await postMessages("status=529");
    expect(await messages.json()).toMatchObject({ type: "error", error: { type: "overloaded_error" } });
  });

  test("several are a script: one for each round of tools, with the arguments that it names", async () => {
    const script = [
      `[[sim tool=read arguments=${encodeURIComponent('{"path": "a b"}')}]]`,
      `[[sim tool=edit arguments=${encodeURIComponent('{"path": "c", "lines": [1]}')}]]`,
    ].join(" ");
    const tools = ["read", "edit"].map((name) => ({ type: "function", function: { name } }));
    const seen: unknown[] = [];
    const messages: object[] = [{ role: "user", content: `Do it. ${script}` }];
    for (let round = 0; round < 3; round++) {
      const body = JSON.stringify({ model: "m", tools, messages });
      const response = await fetch(`${simulator.url}/v1/chat/completions`, { method: "POST", body });
      const message = answerSchema.parse(await response.json()).choices[0]?.message;
      const call = message?.tool_calls?.[0];
      seen.push(call === undefined ? message?.content : [call.function.name, call.function.arguments]);
      messages.push({ role: "assistant", ...message }, { role: "tool", tool_call_id: call?.id, content: `round ${round}` });
    }
    expect(seen).toStrictEqual([
      ["read", '{"path":"a b"}'],
      ["edit", '{"path":"c","lines":[1]}'],
      expect.stringContaining("The tools returned: “round 1”"),
    ]);
  });

  test("a script works for the messages protocol, too", async () => {
    const content = `[[sim tool=read]] [[sim tool=edit arguments=${encodeURIComponent('{"path":"c"}')}]]`;
    const turns = [
      { role: "user", content },
      { role: "assistant", content: [{ type: "tool_use", id: "1", name: "read", input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "1", content: "text" }] },
    ];
    const response = await postMessages("", { messages: turns, tools: [{ name: "edit" }] });
    expect(await response.json()).toMatchObject({ content: [{ type: "tool_use", name: "edit", input: { path: "c" } }] });
  });

  test("no-tools answers in text although a tool is offered; say is that text", async () => {
    const tools = [{ type: "function", function: { name: "hi" } }];
    expect(await (await post("no-tools", { tools })).json()).toMatchObject({ choices: [{ finish_reason: "stop" }] });
    const answer = await post(`no-tools say=${encodeURIComponent("a [b] c")}`, { tools });
    expect(await answer.json()).toMatchObject({ choices: [{ message: { content: "a [b] c" } }] });
  });

  test("html is a proxy's error page", async () => {
    const response = await post("html status=503");
    expect([response.status, response.headers.get("content-type")]).toStrictEqual([503, "text/html"]);
  });

  test("garbage is not JSON, streamed or not", async () => {
    await expect((await post("garbage")).json()).rejects.toThrow(SyntaxError);
    expect(dataLines(await (await post("garbage", { stream: true })).text())[1]).toBe("data: {this is not JSON");
  });

  test("json answers JSON although a stream was requested", async () => {
    expect((await post("json", { stream: true })).headers.get("content-type")).toBe("application/json");
  });

  test("tokens is the length of the answer, one event each", async () => {
    const whole = await post("tokens=30");
    expect(await whole.json()).toMatchObject({ usage: { completion_tokens: 30 } });
    const streamed = dataLines(await (await post("tokens=30", { stream: true })).text());
    expect(streamed.filter((line) => /"content":"[^"]/.test(line))).toHaveLength(30);
  });

  test("cached is the number of cached tokens in either protocol", async () => {
    const chat = await post("cached=1000");
    expect(await chat.json()).toMatchObject({ usage: { prompt_tokens: 1000, prompt_tokens_details: { cached_tokens: 1000 } } });
    const messages = await postMessages("cached=1000");
    expect(await messages.json()).toMatchObject({ usage: { input_tokens: 0, cache_read_input_tokens: 1000 } });
  });

  test("no-usage leaves usage out everywhere", async () => {
    for (const response of [post("no-usage"), post("no-usage", { stream: true, stream_options: { include_usage: true } })]) {
      expect(await (await response).text()).not.toContain('"usage":{');
    }
    for (const response of [postMessages("no-usage"), postMessages("no-usage", { stream: true })]) {
      expect(await (await response).text()).not.toContain("usage");
    }
  });

  test("cut-after closes cleanly, without the protocol's end", async () => {
    const text = await (await post("cut-after=4 tokens=20", { stream: true })).text();
    expect(dataLines(text)).toHaveLength(4);
    expect(text).not.toContain("[DONE]");
  });

  test("reset-after breaks the connection, before or within the answer", async () => {
    await expect(post("reset-after=0")).rejects.toThrow("fetch failed");
    const within = await post("reset-after=3 tokens=20", { stream: true });
    expect(within.status).toBe(200);
    await expect(within.text()).rejects.toThrow("terminated");
    await expect((await post("reset-after=1")).text()).rejects.toThrow("terminated");
  });

  test("error-after sends the protocol's error event and ends", async () => {
    const chat = dataLines(await (await post("error-after=2 tokens=20", { stream: true })).text());
    expect(chat).toHaveLength(3);
    expect(chat[2]).toContain('{"error":{"message"');
    const messages = await (await postMessages("error-after=2", { stream: true })).text();
    expect(messages).toMatch(/event: error\ndata: \{"type":"error","error":\{"type":"overloaded_error".*\n\n$/);
  });

  test("stall sends nothing more, and the journal records that the client disconnected", async () => {
    const abort = new AbortController();
    const response = await post("stall=2 tokens=20", { stream: true }, { signal: abort.signal });
    const reader = response.body?.getReader();
    await reader?.read();
    abort.abort();
    await expect.poll(async () => (await journal())[0]?.isAborted).toBe(true);
    await expect(post("stall", {}, { signal: AbortSignal.timeout(50) })).rejects.toThrow("timeout");
  });

  test("delay-ms and chunk-ms take time", async () => {
    const startedAt = performance.now();
    await (await post("delay-ms=60 chunk-ms=5 tokens=10", { stream: true })).text();
    expect(performance.now() - startedAt).toBeGreaterThan(60 + 5 * 10);
  });

  test("tool calls a tool, even one that the request does not have", async () => {
    const response = await post("tool=unknown_tool");
    expect(await response.json()).toMatchObject({
      choices: [{ message: { tool_calls: [{ function: { name: "unknown_tool" } }] } }],
    });
  });

  test("stop is the reported reason", async () => {
    expect(await (await post("stop=content_filter")).json()).toMatchObject({ choices: [{ finish_reason: "content_filter" }] });
    expect(await (await postMessages("stop=refusal")).json()).toMatchObject({ stop_reason: "refusal" });
  });

  test("one-chunk, split and crlf change the bytes on the wire, not the events", async () => {
    const plain = await chunksOf("", true);
    const one = await chunksOf("one-chunk", true);
    const split = await chunksOf("split=7", true);
    const crlf = await chunksOf("crlf", true);
    expect(plain.length).toBeGreaterThan(1);
    expect(one).toHaveLength(1);
    expect(Math.max(...split.map(({ length }) => length))).toBe(7);
    expect(crlf.join("")).toContain("\r\n\r\n");
    const events = [plain, one, split, crlf].map((chunks) => dataLines(chunks.join("")).length);
    expect(new Set(events).size).toBe(1);
  });

  test("echo answers the request body as received", async () => {
    const body = '{"model":"m",  "messages":[{"role":"user","content":"é [[sim echo]]"}], "unknown":1}';
    const response = await fetch(`${simulator.url}/v1/chat/completions`, { method: "POST", body });
    expect(await response.json()).toMatchObject({ choices: [{ message: { content: body } }] });
  });
});

describe("the journal", () => {
  test("shows requests, and of credentials only the header that they came in", async () => {
    await post("", {}, { headers: { authorization: "Bearer a-secret-value" } });
    const [entry] = await journal();
    expect(entry).toMatchObject({ method: "POST", path: "/v1/chat/completions", isAborted: false });
    expect(entry?.credentials).toStrictEqual([{ header: "authorization", sha256Prefix: expect.stringMatching(/^[0-9a-f]{8}$/) }]);
    expect(JSON.stringify(entry)).not.toContain("a-secret-value");
    expect(entry?.body).toContain("[[sim ]]");
  });

  test("keeps the last hundred", async () => {
    for (let count = 0; count < 103; count++) await post("");
    expect(await journal()).toHaveLength(100);
  });
});

const journalSchema = z.object({
  requests: z.array(z.looseObject({ isAborted: z.boolean(), body: z.string(), credentials: z.array(z.unknown()) })),
});

async function journal() {
  const response = await fetch(`${simulator.url}/simulator/requests`);
  return journalSchema.parse(await response.json()).requests;
}

/** fetch joins chunks; node:http shows each as it came. */
async function chunksOf(directive: string, stream: boolean): Promise<string[]> {
  const { promise, resolve, reject } = Promise.withResolvers<string[]>();
  const chunks: string[] = [];
  const outgoing = httpRequest(`${simulator.url}/v1/chat/completions`, { method: "POST" }, (response) => {
    response.on("data", (chunk: Buffer) => chunks.push(chunk.toString("latin1")));
    response.on("end", () => resolve(chunks));
  });
  outgoing.on("error", reject);
  outgoing.end(JSON.stringify({ model: "m", messages: [{ role: "user", content: `[[sim tokens=20 ${directive}]]` }], stream }));
  return await promise;
}
