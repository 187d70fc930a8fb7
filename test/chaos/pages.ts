import { setTimeout as sleep } from "node:timers/promises";
import type { ProcessFault } from "./process-faults.ts";
import type { Result } from "./upstream-faults.ts";

/** Somebody who loads a page of the dashboard again and again. */
export interface Pages {
  run(signal: AbortSignal): Promise<void>;
  judge(happened: readonly ProcessFault[]): JudgedPage[];
}

export interface JudgedPage {
  name: string;
  result: Result;
  problems: readonly string[];
}

interface Load {
  status: number | undefined;
  hasRetryAfter: boolean;
  isPage: boolean;
  startedMs: number;
  endedMs: number;
}

const NAME = "pages of the dashboard";
const PAUSE_MS = 200;
const GRACE_MS = 2_000;

export function createPages(baseUrl: string): Pages {
  const loads: Load[] = [];

  async function load(): Promise<void> {
    const startedMs = performance.now();
    const seen = await fetch(`${baseUrl}/dashboard/sign-in`, { redirect: "manual", signal: AbortSignal.timeout(60_000) })
      .then(async (response) => ({
        status: response.status,
        hasRetryAfter: response.headers.has("retry-after"),
        isPage: (await response.text()).includes("</h1>"),
      }))
      .catch(() => ({ status: undefined, hasRetryAfter: false, isPage: false }));
    loads.push({ ...seen, startedMs, endedMs: performance.now() });
  }

  return {
    async run(signal) {
      while (!signal.aborted) {
        await load();
        await sleep(PAUSE_MS);
      }
    },
    judge: (happened) => loads.map((each) => judgeOne(each, happened)),
  };
}

/** A page is there, or a page says that it is away: that only while the dashboard, its database or Envoy is. */
function judgeOne({ status, hasRetryAfter, isPage, startedMs, endedMs }: Load, happened: readonly ProcessFault[]): JudgedPage {
  const members = new Set(
    happened.filter(({ fromMs, untilMs }) => fromMs <= endedMs && startedMs <= untilMs + GRACE_MS).map(({ member }) => member),
  );
  if (status === 200 && isPage) return { name: NAME, result: "answered", problems: [] };
  if (status === 503 && hasRetryAfter && isPage) {
    const isExplained = members.has("dashboard") || members.has("postgres") || members.has("envoy");
    return { name: NAME, result: "refused", problems: isExplained ? [] : ["it is away, and every process is there"] };
  }
  const isExplained = status === undefined && members.has("envoy");
  return {
    name: NAME,
    result: "broken",
    problems: isExplained ? [] : [`status ${status ?? "none"}, ${isPage ? "a" : "no"} page`],
  };
}
