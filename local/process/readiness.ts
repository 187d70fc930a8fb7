import { setTimeout as sleep } from "node:timers/promises";
import type { Child } from "./child.ts";

const POLL_MS = 50;
const ASK_WITHIN_MS = 2_000;

/**
 * Waits until a child answers 200 at an address of its admin port.
 * @throws Error with one sentence that names the child and its log if it exits first, or is late.
 */
export async function untilReady(
  child: Child,
  { url, withinMs, signal }: { url: string; withinMs: number; signal: AbortSignal },
): Promise<void> {
  const deadline = performance.now() + withinMs;
  let end: string | undefined;
  void child.ended.then((how) => (end = how));
  let lastAnswer = "it does not answer";
  while (performance.now() < deadline) {
    signal.throwIfAborted();
    if (end !== undefined) throw new Error(`${child.name} did not start: ${end}. See its log: ${child.logFile}`);
    const answer = await ask(url, signal);
    if (answer === "ready") return;
    lastAnswer = answer;
    await sleep(POLL_MS);
  }
  throw new Error(
    `${child.name} was not ready within ${Math.round(withinMs / 1000)} seconds (${lastAnswer}). See its log: ${child.logFile}`,
  );
}

async function ask(url: string, signal: AbortSignal): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(ASK_WITHIN_MS)]) });
    const text = await response.text();
    return response.status === 200 ? "ready" : text.trim().slice(0, 300);
  } catch {
    return "it does not answer";
  }
}
