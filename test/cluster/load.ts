import { Agent, request } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";

export interface LoadOptions {
  url: string;
  key: string;
  model: string;
  perSecond: number;
  /**
   * So many are opened at once and used in turn: half of them lead to each of two pods, and every process there goes on serving
   * the account. Without it, requests that do not overlap share one connection.
   */
  connections?: number;
}

export interface Result {
  /** When the request was sent, since the load began. */
  sentMs: number;
  /** When it ended. */
  endedMs: number;
  /** "whole", or what the client saw instead. */
  outcome: string;
}

export interface Load {
  /** Milliseconds since it began. */
  nowMs(): number;
  /** Requests sent so far. */
  sent(): number;
  /** Sends no more, and waits for all answers. */
  stop(): Promise<Result[]>;
}

const MAX_CONNECTIONS = 64;

/**
 * Asks at an even rate over connections that are kept, one half for a stream, whether earlier requests have been answered or
 * not. A request is never sent twice.
 */
export function startLoad({ url, key, model, perSecond, connections = 0 }: LoadOptions): Load {
  const agent = new Agent({ keepAlive: true, maxSockets: MAX_CONNECTIONS, scheduling: connections > 0 ? "fifo" : "lifo" });
  const startedMs = performance.now();
  const nowMs = () => performance.now() - startedMs;
  const running: Promise<Result>[] = [];
  const stopping = new AbortController();

  async function ask(isStream: boolean): Promise<Result> {
    const sentMs = nowMs();
    const body = JSON.stringify({
      model,
      stream: isStream,
      messages: [{ role: "user", content: "Say hello. [[sim tokens=5]]" }],
    });
    const outcome = await send(new URL("/v1/chat/completions", url), {
      agent,
      key,
      body,
      end: isStream ? "[DONE]" : "completion_tokens",
    });
    return { sentMs, endedMs: nowMs(), outcome };
  }

  for (let opened = 0; opened < connections; opened++) running.push(ask(opened % 2 === 0));
  const sending = (async () => {
    for (let sent = 0; !stopping.signal.aborted;) {
      for (const due = (nowMs() / 1000) * perSecond; sent < due; sent++) running.push(ask(sent % 2 === 0));
      await sleep(1000 / perSecond);
    }
  })();

  return {
    nowMs,
    sent: () => running.length,
    async stop() {
      stopping.abort();
      await sending;
      const results = await Promise.all(running);
      agent.destroy();
      return results;
    },
  };
}

const WARM_UP_REQUESTS = 80;
const WARM_UP_AT_ONCE = 8;

/**
 * Lets every process of the gateway serve the account, so that each holds some of its credit. They are chosen at random: that
 * one of four is left out happens once in two billion times.
 */
export async function warmUp({ url, key, model }: Pick<LoadOptions, "url" | "key" | "model">): Promise<void> {
  const body = JSON.stringify({ model, messages: [{ role: "user", content: "Say hello. [[sim tokens=5]]" }] });
  const target = new URL("/v1/chat/completions", url);
  for (let asked = 0; asked < WARM_UP_REQUESTS; asked += WARM_UP_AT_ONCE) {
    // Each over a connection of its own.
    const agent = new Agent();
    const asking = Array.from({ length: WARM_UP_AT_ONCE }, () => send(target, { agent, key, body, end: "completion_tokens" }));
    expect(new Set(await Promise.all(asking))).toStrictEqual(new Set(["whole"]));
  }
}

/** Of an answer after which the connection is not used again. */
export const CLOSED = " (closed)";

export function failures(results: readonly Result[]): Result[] {
  return results.filter(({ outcome }) => outcome !== "whole");
}

interface SendOptions {
  agent: Agent;
  key: string;
  body: string;
  /** What a whole answer says last. */
  end: string;
}

function send(url: URL, { agent, key, body, end }: SendOptions): Promise<string> {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return new Promise((resolve) => {
    const sent = request(url, { method: "POST", agent, headers }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("error", (error) => resolve(`a broken answer: ${error.message}`));
      response.on("end", () => {
        const isWhole = response.statusCode === 200 && text.includes(end);
        const closed = response.headers.connection === "close" ? CLOSED : "";
        resolve(isWhole ? "whole" : `${response.statusCode}${closed} ${text.slice(0, 200)}`);
      });
    });
    sent.on("error", (error) => resolve(`a broken connection: ${error.message}${sent.reusedSocket ? " (kept)" : ""}`));
    sent.end(body);
  });
}
