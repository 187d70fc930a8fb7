import { Agent } from "node:http";
import { connect } from "node:net";
import type { Plane } from "./supervised-stack.ts";
import { pause } from "../../../runtime/wait.ts";

/**
 * Acts as a Service in front of gateway pods: a new connection goes to a pod that is ready. Existing connections
 * stay where they are.
 */
export interface Service {
  /** For one client. */
  createAgent(): Agent;
  readonly readyPlanes: readonly Plane[];
  stop(): Promise<void>;
}

const PROBE_MS = 100;
/**
 * Clients give up a connection that was idle for some seconds, and a drain takes longer than that: else one could be used in
 * the moment in which its pod goes.
 */
const IDLE_MS = 1_000;

export function startService(planes: readonly Plane[]): Service {
  const stopping = new AbortController();
  let ready: readonly Plane[] = planes;
  let turn = 0;

  async function probe(): Promise<void> {
    while (!stopping.signal.aborted) {
      const states = await Promise.all(planes.map(async (plane) => ({ plane, isReady: await isReady(plane) })));
      ready = states.filter(({ isReady }) => isReady).map(({ plane }) => plane);
      await pause(PROBE_MS, stopping.signal);
    }
  }

  const probing = probe();
  return {
    get readyPlanes() {
      return ready;
    },
    createAgent() {
      const agent = new Agent({ keepAlive: true, timeout: IDLE_MS });
      agent.createConnection = () => {
        const plane = ready[(turn += 1) % Math.max(1, ready.length)];
        if (plane === undefined) throw new Error("no gateway is ready");
        return connect({ host: "127.0.0.1", port: Number(new URL(plane.baseUrl).port) });
      };
      return agent;
    },
    async stop() {
      stopping.abort();
      await probing;
    },
  };
}

/** As the probes of both containers of a pod. */
async function isReady({ envoyAdminUrl, extprocAdminUrl }: Plane): Promise<boolean> {
  const answers = await Promise.all([`${envoyAdminUrl}/ready`, `${extprocAdminUrl}/readyz`].map(isGood));
  return answers.every(Boolean);
}

async function isGood(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.text();
    return response.status === 200;
  } catch {
    return false;
  }
}
