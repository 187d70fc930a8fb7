import process from "node:process";
import { expect } from "vitest";
import { checkLedger } from "../../ledger/upkeep/check.ts";
import type { TestStack } from "../support/stacks/stack.ts";
import { seeded, type Random } from "../support/random.ts";

/** The usual run tries the same inputs on every machine; by night a fuzzer runs for so many seconds. */
const INPUTS = 500;
const SECONDS = Number(process.env["FUZZ_SECONDS"] ?? "0");
/** The seed of the first input; each further one has the next number. */
const SEED = Number(process.env["FUZZ_SEED"] ?? "1");

/** @returns how many tries there were. @throws with the seed, which makes the same inputs again. */
export async function fuzz(work: (random: Random) => Promise<void>, atOnce = 16): Promise<number> {
  const endMs = performance.now() + SECONDS * 1000;
  let tries = 0;
  async function loop(): Promise<void> {
    while (SECONDS > 0 ? performance.now() < endMs : tries < INPUTS) {
      const seed = SEED + tries++;
      try {
        await work(seeded(seed));
      } catch (error) {
        throw new Error(`FUZZ_SEED=${seed} fails: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, loop));
  console.log(`${tries} inputs from seed ${SEED} on`);
  return tries;
}

/** After whatever was sent: nothing is gone, nothing hangs, money agrees, and a good request is answered. */
export async function expectSound(stack: TestStack): Promise<void> {
  for (const [name, pid] of Object.entries(stack.pids)) expect(isRunning(pid), `${name} runs`).toBe(true);
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({ model: "modelx-v4-pro", messages: [{ role: "user", content: "Hello." }] }),
  });
  expect([response.status, (await response.text()).includes('"usage"')]).toEqual([200, true]);
  const metrics = await stack.idle();
  expect(metrics.get("gateway_open_holds") ?? 0).toBe(0);
  expect(await checkLedger(stack.database)).toEqual([]);
  expect(stack.complaints.filter((complaint) => /unhandled|uncaught|TypeError|RangeError/i.test(complaint))).toEqual([]);
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
