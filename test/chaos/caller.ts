import { Agent, request as openRequest, type IncomingMessage } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { readStream, readWhole } from "./answer-reader.ts";
import { bodyOf, PATHS, type Question } from "./question.ts";
import { readRefusal } from "./refusal-shape.ts";
import type { Result } from "./upstream-faults.ts";

/** How a caller behaves. */
export type Manner = "reads on" | "reads slowly" | "leaves";

/** What one caller saw. */
export interface Seen {
  result: Result;
  /** Undefined where no headers came. */
  status: number | undefined;
  requestId: string | undefined;
  /** Codes that the refusal may stand for. */
  codes: readonly string[];
  hasRetryAfter: boolean;
  text: string;
  /** A stream had an event that no client can read. */
  hasGarbage: boolean;
  startedMs: number;
  endedMs: number;
  /** What must never be, whatever fails. */
  faults: readonly string[];
}

/** Longer than anything is stopped, and than any time that a Model names. */
const HUNG_MS = 90_000;

export interface Caller {
  ask(question: Question, options: { apiKey: string; manner: Manner }): Promise<Seen>;
  close(): void;
}

/** @param agent as SDKs do, connections are used again. */
export function createCaller(baseUrl: string, agent = new Agent({ keepAlive: true })): Caller {
  async function ask(question: Question, { apiKey, manner }: { apiKey: string; manner: Manner }): Promise<Seen> {
    const startedMs = performance.now();
    const received = await exchange(question, apiKey, manner);
    return { ...interpret(question, received, manner), startedMs, endedMs: performance.now() };
  }

  async function exchange(question: Question, apiKey: string, manner: Manner): Promise<Received> {
    const { promise, resolve } = Promise.withResolvers<IncomingMessage | undefined>();
    const body = Buffer.from(JSON.stringify(bodyOf(question)));
    const hung = AbortSignal.timeout(HUNG_MS);
    const request = openRequest(baseUrl + PATHS[question.interface], {
      method: "POST",
      agent,
      signal: hung,
      headers: { "content-type": "application/json", "content-length": body.length, authorization: `Bearer ${apiKey}` },
    });
    request.on("response", resolve);
    request.on("error", () => resolve(undefined));
    request.end(body);
    const response = await promise;
    if (response === undefined) return { response, body: "", isWhole: false, isHung: hung.aborted };
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of response) {
        chunks.push(Buffer.from(chunk));
        if (manner === "leaves") break;
        if (manner === "reads slowly") await sleep(20);
      }
    } catch {
      // It was cut: what came until then counts.
    }
    return { response, body: Buffer.concat(chunks).toString("utf8"), isWhole: response.complete, isHung: hung.aborted };
  }

  return { ask, close: () => agent.destroy() };
}

interface Received {
  response: IncomingMessage | undefined;
  body: string;
  /** HTTP says that all of it came. */
  isWhole: boolean;
  isHung: boolean;
}

type Interpreted = Omit<Seen, "startedMs" | "endedMs">;

function interpret(question: Question, { response, body, isWhole, isHung }: Received, manner: Manner): Interpreted {
  const seen: Interpreted = {
    result: "broken",
    status: response?.statusCode,
    requestId: headerOf(response, "x-request-id"),
    codes: [],
    hasRetryAfter: response?.headers["retry-after"] !== undefined,
    text: "",
    hasGarbage: false,
    faults: isHung ? [`nothing came for ${HUNG_MS / 1000} s`] : [],
  };
  if (response?.statusCode === undefined || isHung) return seen;
  try {
    if (response.statusCode === 200) return answered(question, seen, { body, isWhole, manner });
    if (!isWhole) return seen;
    const codes = readRefusal(question.interface, response.statusCode, body);
    const isJson = response.headers["content-type"] === "application/json";
    const hasOneId = seen.requestId !== undefined && seen.requestId === headerOf(response, "request-id");
    const faults = [
      ...(codes.length === 0 ? ["a refusal that is not documented"] : []),
      ...(isJson ? [] : ["a refusal that is not called JSON"]),
      ...(hasOneId ? [] : ["a refusal without its request id"]),
    ];
    return {
      ...seen,
      result: "refused",
      codes,
      faults: faults.map((each) => `${each}: ${response.statusCode} ${body.slice(0, 300)}`),
    };
  } catch (error) {
    return { ...seen, faults: [`${response.statusCode}: ${String(error).slice(0, 200)}: ${body.slice(0, 300)}`] };
  }
}

function answered(
  question: Question,
  seen: Interpreted,
  { body, isWhole, manner }: { body: string; isWhole: boolean; manner: Manner },
): Interpreted {
  if (!question.isStream) return isWhole ? { ...seen, ...readWhole(question.interface, body), result: "answered" } : seen;
  const { text, hasEnd, hasError, hasGarbage } = readStream(body);
  if (hasEnd && !hasError && !hasGarbage) return { ...seen, text, result: "answered" };
  const isCleanEnd = isWhole && !hasError && !hasGarbage && manner !== "leaves";
  return { ...seen, text, hasGarbage, faults: isCleanEnd ? [`a stream without its end looks whole: … ${body.slice(-300)}`] : [] };
}

function headerOf(response: IncomingMessage | undefined, name: string): string | undefined {
  const value = response?.headers[name];
  return typeof value === "string" ? value : undefined;
}
