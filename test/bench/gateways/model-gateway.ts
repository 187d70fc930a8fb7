import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { stringify } from "yaml";
import { startTestStack, type TestStack } from "../../support/stack.ts";
import { modelOf, pathOf } from "../pairs.ts";
import type { Gateway } from "./gateway.ts";

const CREDIT_NANO_USD = 1_000_000_000_000_000n;
/** What every request passes, and what carries its bill behind it. */
const PARTS = ["envoy", "extproc", "postgres", "operator"];

/** This product, whole and with billing on, as `npm start` runs it. */
export async function startModelGateway(
  place: { upstreamUrl: string; directory: string },
  { workers = 1 } = {},
): Promise<Gateway> {
  const manifestsDirectory = path.join(place.directory, `manifests-${workers}`);
  await mkdir(manifestsDirectory);
  const models = [benchModel("chat", `${place.upstreamUrl}/v1`), benchModel("messages", place.upstreamUrl)];
  await writeFile(path.join(manifestsDirectory, "models.yaml"), models.map((each) => stringify(each)).join("---\n"));
  const stack = await startTestStack({ isMeasured: true, manifestsDirectory, creditNanoUsd: CREDIT_NANO_USD, workers });
  const keyFile = path.join(place.directory, `key-${workers}`);
  await writeFile(keyFile, stack.apiKey, { mode: 0o600 });
  return {
    name: workers === 1 ? "Model Gateway" : `Model Gateway, ${workers} workers`,
    target: ({ client }) => ({ url: stack.baseUrl + pathOf(client), headers: { "x-api-key": `@${keyFile}` } }),
    parts: Object.fromEntries(PARTS.map((name) => [name, stack.pids[name] ?? 0])),
    settled: async () => void (await stack.idle()),
    loopDelayMs: () => readLoopDelay(stack),
    stop: () => stack.stop(),
  };
}

export function benchModel(protocol: "chat" | "messages", url: string): object {
  return {
    apiVersion: "modelgateway.dev/v1alpha1",
    kind: "Model",
    metadata: { name: modelOf(protocol) },
    spec: {
      modelName: modelOf(protocol),
      interfaces: ["ChatCompletions", "Messages"],
      limits: { contextWindow: 200_000, maxOutputTokens: 64_000 },
      pricing: {
        inputPerMillion: "3.00",
        cachedInputPerMillion: "0.30",
        cacheWritePerMillion: "3.75",
        outputPerMillion: "15.00",
      },
      backends: [{ name: "primary", protocol: protocol === "chat" ? "ChatCompletions" : "Messages", url }],
    },
  };
}

async function readLoopDelay(stack: TestStack): Promise<number> {
  const metrics = await stack.idle();
  return (metrics.get("nodejs_eventloop_lag_p99_seconds") ?? 0) * 1000;
}
