import type { ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import type { Protocol } from "../../../contract/protocol.ts";
import { chargeNanoUsd } from "../../../ledger/money.ts";
import { NO_USAGE } from "../../../contract/usage.ts";
import type { TestModelOfMany } from "../stacks/backend-manifests.ts";
import type { TestProduct } from "../stacks/product.ts";
import { DEAR, useScriptedModels } from "./scripted-models.ts";
import { flood, say, USAGE, type Words } from "./worded-models.ts";

const checkSchema = z.object({ input: z.array(z.string()) });
const markerIn = (text: string) => /marker-\d+/.exec(text)?.[0] ?? "";

/** On a busy machine, what is said while a window is checked would be one more, however long. */
interface CheckedWords extends Words {
  /** The server says no more than a window ahead of the checks, and nothing more once one of them finds something. */
  followsChecks?: boolean;
}

export interface CheckedModels {
  stack(): TestProduct;
  /** @returns the prompt for it: the answer begins with its marker. */
  script(words: CheckedWords): string;
  /** The texts of each call of the hook about this prompt's answer. */
  checksOf(prompt: string): readonly (readonly string[])[];
  /** Calls of the hook that the gateway ended without a verdict. */
  leftBehind(): number;
}

/**
 * Models whose answers a hook checks. It finds "forbidden" harmful, and what a text says to do it does: do-stall, do-fail,
 * do-flood, do-wait, and do-linger, for the first text that says so.
 * @param linger the verdict lingers until it resolves.
 */
export function useCheckedModels({ linger = async () => {} }: { linger?: () => Promise<void> } = {}): CheckedModels {
  /** What model servers say, and what hooks were asked, by the marker in the prompt: tests may run side by side. */
  const scripts = new Map<string, Words>();
  const checks = new Map<string, string[][]>();
  let leftBehind = 0;
  /** Once: the next window begins with the end of the one before. */
  let hasLingered = false;
  let markers = 0;
  /** Of the prompt that was answered last: a window may have no marker. */
  let latest = "";

  function judge(response: ServerResponse, input: readonly string[]): void {
    const all = input.join("\n");
    const reply = (status: number, body: string) => response.writeHead(status, { "content-type": "application/json" }).end(body);
    if (all.includes("do-stall")) return void response.on("close", () => (leftBehind += 1));
    if (all.includes("do-fail")) return void reply(500, "{}");
    if (all.includes("do-flood")) return flood(response);
    const results = input.map((text) => ({
      flagged: text.includes("forbidden"),
      categories: { violence: text.includes("forbidden"), hate: false },
    }));
    const isLingering = all.includes("do-linger") && !hasLingered;
    hasLingered ||= isLingering;
    const answer = () => reply(200, JSON.stringify({ results }));
    if (isLingering) void linger().then(answer);
    else setTimeout(answer, all.includes("do-wait") ? 2_500 : 0);
  }

  /** Until all that was sent was asked about, but for less than a window; for ever once the hook found something. */
  async function checked(marker: string, pieces: readonly string[], index: number): Promise<void> {
    const whole = pieces.join("");
    const sent = pieces.slice(0, index + 1).join("").length;
    for (;;) {
      const asked = (checks.get(marker) ?? []).flat();
      const ends = asked.map((text) => whole.indexOf(text) + text.length);
      const isFound = asked.some((text) => /do-|forbidden/.test(text));
      if (isFound) return await Promise.withResolvers<void>().promise;
      if (sent - Math.max(0, ...ends) < WINDOW) return;
      await sleep(5);
    }
  }

  const stack = useScriptedModels(async (request, response, body) => {
    if (request.url === "/v1/moderations") {
      const { input } = checkSchema.parse(JSON.parse(body));
      // Windows of one answer have the end of the one before.
      const marker = markerIn(body) || latest;
      checks.set(marker, [...(checks.get(marker) ?? []), input]);
      return judge(response, input);
    }
    latest = markerIn(body);
    const words = scripts.get(latest);
    if (words === undefined) return void response.writeHead(400).end("{}");
    await say(request, response, body, words);
  }, modelsOf);

  return {
    stack,
    script({ followsChecks = false, ...words }) {
      const marker = `marker-${(markers += 1)};`;
      const pieces = [marker, ...words.pieces];
      const onPiece = followsChecks ? (index: number) => checked(markerIn(marker), pieces, index) : words.onPiece;
      scripts.set(markerIn(marker), { ...words, pieces, ...(onPiece === undefined ? {} : { onPiece }) });
      return marker;
    },
    checksOf: (prompt) => checks.get(markerIn(prompt)) ?? [],
    leftBehind: () => leftBehind,
  };
}

/** Characters. */
const WINDOW = 100;
/** Over for hooks that stall, and not for others on a busy machine. */
export const SHORT_CHECK = "1500ms";

function modelsOf(url: string): TestModelOfMany[] {
  const hook = { url: `${url}/v1/moderations`, check: ["Answers"], timeout: "5s" };
  const backend = (protocol: Protocol) => ({ name: "only", protocol, url }) as const;
  const interfaces = ["ChatCompletions", "Messages", "Responses"];
  const guarded = (name: string, guardrail: object, protocol: Protocol = "chat", more: object = {}) => ({
    name,
    backends: [backend(protocol)],
    interfaces,
    pricing: DEAR,
    guardrail: { ...hook, ...guardrail },
    ...more,
  });
  const narrow = { streamWindow: { characters: WINDOW, time: "30s" } };
  return [
    ...(["chat", "messages", "responses"] as const).map((protocol) => guarded(`by-${protocol}`, narrow, protocol)),
    guarded("hurried", { ...narrow, timeout: SHORT_CHECK }),
    guarded("open", { ...narrow, timeout: SHORT_CHECK, onFailure: "Allow" }),
    guarded("patient", {}, "chat", { streaming: { keepAlive: "1s" } }),
    guarded("long", {}, "chat", { maxOutputTokens: 20_000_000, contextWindow: 40_000_000, pricing: CHEAP }),
    guarded("early", narrow, "chat", { streaming: { keepAlive: "1s", answerAfter: "1s" } }),
    guarded("both", { check: ["Requests", "Answers"] }),
    guarded("stores", {}, "chat", { responses: { storeHours: 1 } }),
    { name: "unguarded", backends: [backend("chat")], interfaces, pricing: DEAR },
  ];
}

const CHEAP = { inputPerMillion: "0.01", outputPerMillion: "0.01" };

const PRICE = {
  id: 0n,
  inputPicoUsd: 100_000_000n,
  cachedInputPicoUsd: 0n,
  cacheWritePicoUsd: 0n,
  outputPicoUsd: 100_000_000n,
  unitPicoUsd: 0n,
};
/** For a complete answer of these Models' servers, at the price of all but "long". */
export const CHECKED_CHARGE_NANO_USD = chargeNanoUsd(
  { ...NO_USAGE, inputTokens: USAGE.input, outputTokens: USAGE.output },
  PRICE,
);
