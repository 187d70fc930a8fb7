import type { IncomingMessage, ServerResponse } from "node:http";
import { parseDirective } from "../../../local/simulator/directive.ts";
import { parseSpeechRequest } from "../../../local/simulator/speech/request.ts";
import { soundPieces, speechEvents } from "../../../local/simulator/speech/response.ts";
import type { TestBackend, TestModelOfMany } from "../stacks/backend-manifests.ts";
import type { TestProduct } from "../stacks/product.ts";
import { backendAt, useScriptedModels } from "./scripted-models.ts";

export type SpeechServer = (response: ServerResponse, body: string, request: IncomingMessage) => void;

/** Of the Models' characters, but for `by-tokens`, which has a price for tokens alone. */
export const EACH_NANO_USD = 1_000_000n;

/** Without a model. The text has twelve characters. */
export const ASKED = { input: "Good morning", voice: "alloy" };
export const SOUND = { "content-type": "audio/mpeg" };
export const EVENTS = { "content-type": "text/event-stream" };
export const PIECE = Buffer.alloc(4_096, 7);
export const DELTA = `data: ${JSON.stringify({ type: "speech.audio.delta", audio: PIECE.toString("base64") })}\n\n`;

interface Asked {
  path?: string;
  apiKey?: string;
  signal?: AbortSignal;
}

export interface SpeechModels {
  stack(): TestProduct;
  /** What the server of this name got last. */
  received: Map<string, { path: string; body: string }>;
  /** From now on the server `scripted` does this. */
  script(server: SpeechServer): void;
  /** @returns the answer as soon as it begins. */
  ask(body: object | string, options?: Asked): Promise<{ response: Response; requestId: string }>;
  /** @returns the whole answer. */
  post(body: object | string, options?: Asked): Promise<SpokenAnswer>;
}

interface SpokenAnswer {
  status: number;
  headers: Headers;
  text: string;
  requestId: string;
}

/** The product with Models of speech, for all tests of a file. */
export function useSpeechModels(): SpeechModels {
  const received = new Map<string, { path: string; body: string }>();
  let answer: SpeechServer = () => {};
  const servers: Readonly<Record<string, SpeechServer>> = {
    simulated: simulate,
    scripted: (response, body, request) => answer(response, body, request),
    failing: (response) =>
      response.writeHead(500, { "content-type": "application/json" }).end('{"error":{"message":"out of memory"}}'),
  };
  const stack = useScriptedModels((request, response, body) => {
    const [, name = ""] = (request.url ?? "").split("/");
    received.set(name, { path: request.url ?? "", body });
    servers[name]?.(response, body, request);
  }, speechModels);

  async function ask(body: object | string, { path = "/v1/audio/speech", apiKey = stack().apiKey, signal }: Asked = {}) {
    const response = await fetch(stack().baseUrl + path, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}` },
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...(signal === undefined ? {} : { signal }),
    });
    return { response, requestId: response.headers.get("x-request-id") ?? "" };
  }

  return {
    stack,
    received,
    script(server) {
      answer = server;
    },
    ask,
    async post(body, options = {}) {
      const { response, requestId } = await ask(body, options);
      return { status: response.status, headers: response.headers, text: await response.text(), requestId };
    },
  };
}

function simulate(response: ServerResponse, body: string): void {
  const asked = parseSpeechRequest(JSON.parse(body));
  if (asked.hasEvents) {
    response.writeHead(200, EVENTS);
    for (const { data } of speechEvents(asked, parseDirective(""))) response.write(`data: ${data}\n\n`);
  } else {
    response.writeHead(200, { "content-type": "audio/wav" });
    for (const piece of soundPieces(asked)) response.write(piece);
  }
  response.end();
}

function speechModels(url: string): TestModelOfMany[] {
  return [
    speech("simulated", [backendAt(url, "simulated")]),
    speech("scripted", [backendAt(url, "scripted")]),
    speech("scripted-two", [backendAt(url, "scripted"), { ...backendAt(url, "simulated"), name: "second", priority: 1 }]),
    { ...speech("impatient", [backendAt(url, "scripted")]), timeouts: { idle: "1s" } },
    { ...speech("hurried", [backendAt(url, "scripted")]), timeouts: { whole: "2s" } },
    speech("fails", [backendAt(url, "failing")]),
    speech("falls-back", [backendAt(url, "failing"), { ...backendAt(url, "simulated"), name: "second", priority: 1 }]),
    { ...speech("by-tokens", [backendAt(url, "simulated")]), pricing: { inputPerMillion: "600.00" } },
    { name: "chat-only", backends: [backendAt(url, "simulated")] },
  ];
}

function speech(name: string, backends: TestBackend[]): TestModelOfMany {
  return { name, interfaces: ["Speech"], pricing: { charactersPerMillion: "1000.00" }, backends };
}
