import { setTimeout as sleep } from "node:timers/promises";

const POLL_MS = 50;
const ASK_WITHIN_MS = 2_000;

/** Tells clients to go elsewhere and waits until no request is running, or the deadline. Never throws: Envoy may be gone. */
export async function drainEnvoy(adminUrl: string, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs;
  const isDraining = await ask(`${adminUrl}/drain_listeners?graceful`, "POST");
  if (isDraining === undefined) return;
  while (performance.now() < deadline) {
    const text = await ask(`${adminUrl}/stats?filter=^http\\.clients\\.downstream_rq_active$`, "GET");
    const active = /downstream_rq_active: (\d+)/.exec(text ?? "")?.[1];
    if (active === undefined || active === "0") return;
    await sleep(POLL_MS);
  }
}

async function ask(url: string, method: string): Promise<string | undefined> {
  try {
    const response = await fetch(url, { method, signal: AbortSignal.timeout(ASK_WITHIN_MS) });
    return await response.text();
  } catch {
    return undefined;
  }
}
