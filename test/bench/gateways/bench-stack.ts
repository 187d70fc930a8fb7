import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { stringify } from "yaml";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";
import { modelOf } from "../pairs.ts";

const CREDIT_NANO_USD = 1_000_000_000_000_000n;

export interface BenchStack {
  readonly stack: TestStack;
  /** Holds the account's API key: command lines can be read by every process. */
  readonly keyFile: string;
}

/** The whole product with billing on, a Model for each protocol, and an account that does not run dry. */
export async function startBenchStack(
  name: string,
  setting: { upstreamUrl: string; directory: string },
  { workers = 1 } = {},
): Promise<BenchStack> {
  const manifestsDirectory = path.join(setting.directory, `manifests-${name}`);
  await mkdir(manifestsDirectory);
  const models = [benchModel("chat", `${setting.upstreamUrl}/v1`), benchModel("messages", setting.upstreamUrl)];
  await writeFile(path.join(manifestsDirectory, "models.yaml"), models.map((each) => stringify(each)).join("---\n"));
  const stack = await startTestStack({ isMeasured: true, manifestsDirectory, creditNanoUsd: CREDIT_NANO_USD, workers });
  const keyFile = path.join(setting.directory, `key-${name}`);
  await writeFile(keyFile, stack.apiKey, { mode: 0o600 });
  return { stack, keyFile };
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
