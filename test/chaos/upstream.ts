import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { PROTOCOLS as ALL, UPSTREAM_PATHS, type Protocol } from "../../contract/protocol.ts";
import { createAnswer } from "../../local/simulator/answer.ts";
import { deliver, PLAIN, PROTOCOLS, type Delivery } from "./delivery.ts";
import { answerTo, readPrompt } from "./question.ts";

export interface Upstream {
  readonly url: string;
  readonly deliveries: readonly Delivery[];
  readonly openAnswers: number;
  stop(): Promise<void>;
}

/** A path that begins so is a server without faults. */
export const SPARE = "/spare";

/** A model server that runs no model and fails as the prompt says. */
export async function startUpstream(): Promise<Upstream> {
  const deliveries: Delivery[] = [];
  let openAnswers = 0;

  const server = createServer((request, response) => {
    openAnswers += 1;
    response.once("close", () => (openAnswers -= 1));
    response.on("error", () => response.destroy());
    void serve(request, response).catch(() => response.destroy());
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const isSpare = request.url?.startsWith(SPARE) ?? false;
    const protocol = protocolAt(request.url ?? "");
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk));
    const json: unknown = JSON.parse(Buffer.concat(chunks).toString("utf8"));
    const prompt = PROTOCOLS[protocol].parse(json);
    const question = readPrompt(prompt.lastUserText);
    const say = answerTo(question);
    const answer = createAnswer(prompt, { ...PLAIN, say }, "");
    const { promptTokens, cachedTokens, outputTokens, reasoningTokens } = answer.usage;
    const inputTokens = promptTokens - cachedTokens;
    const delivery: Delivery = {
      number: question.number,
      requestId: String(request.headers["x-request-id"]),
      sentBytes: 0,
      usage: { inputTokens, cachedInputTokens: cachedTokens, cacheWriteTokens: 0, outputTokens, reasoningTokens },
    };
    deliveries.push(delivery);
    await deliver(
      { socket: request.socket, response, delivery, protocol, json, prompt, answer },
      isSpare ? "none" : question.fault,
    );
  }

  server.keepAliveTimeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the model server has no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    deliveries,
    get openAnswers() {
      return openAnswers;
    },
    async stop() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function protocolAt(url: string): Protocol {
  return ALL.find((protocol) => url.endsWith(UPSTREAM_PATHS[protocol])) ?? "chat";
}
