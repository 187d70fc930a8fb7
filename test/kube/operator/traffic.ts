import { setTimeout as sleep } from "node:timers/promises";
import { inject } from "vitest";
import type { Stage } from "./stage.ts";

export interface Traffic {
  /** @returns how many requests were served, and what the others were answered. */
  stop(): Promise<{ served: number; failed: string[] }>;
}

/** By day it notices whatever lasts for a tenth of a second. */
const PAUSE_MS = inject("isNight") ? 20 : 100;
/** So many are asked at least, however short the work was. */
const LEAST = 30;

/** One client that asks again and again. */
export function startTraffic(stage: Stage, { key, model }: { key: string; model: string }): Traffic {
  const stopping = new AbortController();
  let served = 0;
  const failed: string[] = [];
  async function run(): Promise<void> {
    while (!stopping.signal.aborted || served + failed.length < LEAST) {
      const { status, body } = await stage.ask(key, model);
      if (status === 200) served += 1;
      else failed.push(`${status} ${body}`);
      await sleep(PAUSE_MS);
    }
  }
  const ended = run();
  return {
    async stop() {
      stopping.abort();
      await ended;
      return { served, failed };
    },
  };
}
