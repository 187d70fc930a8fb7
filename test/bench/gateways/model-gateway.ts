import type { TestStack } from "../../support/stacks/stack.ts";
import { pathOf } from "../pairs.ts";
import { startBenchStack } from "./bench-stack.ts";
import type { Gateway } from "./gateway.ts";

/** What every request passes, and what carries its bill behind it. */
const PARTS = ["envoy", "extproc", "postgres", "operator"];

/** This product, whole and with billing on, as `npm start` runs it. */
export async function startModelGateway(
  setting: { upstreamUrl: string; directory: string },
  { workers = 1 } = {},
): Promise<Gateway> {
  const { stack, keyFile } = await startBenchStack(`${workers}`, setting, { workers });
  return {
    name: workers === 1 ? "Model Gateway" : `Model Gateway, ${workers} workers`,
    target: ({ client }) => ({ url: stack.baseUrl + pathOf(client), headers: { "x-api-key": `@${keyFile}` } }),
    parts: Object.fromEntries(PARTS.map((name) => [name, stack.pids[name] ?? 0])),
    settled: async () => void (await stack.idle()),
    loopDelayMs: () => readLoopDelay(stack),
    stop: () => stack.stop(),
  };
}

async function readLoopDelay(stack: TestStack): Promise<number> {
  const metrics = await stack.idle();
  return (metrics.get("nodejs_eventloop_lag_p99_seconds") ?? 0) * 1000;
}
