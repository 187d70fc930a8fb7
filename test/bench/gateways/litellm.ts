import { writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import path from "node:path";
import { freePort, LOOPBACK } from "../../../local/process/ports.ts";
import { modelOf, pathOf } from "../pairs.ts";
import { startChild } from "./child.ts";
import type { Gateway } from "./gateway.ts";
import { installPython } from "./python.ts";

const REQUIREMENTS = fileURLToPath(new URL("../peers/requirements.txt", import.meta.url));
const READY_WITHIN_MS = 120_000;

/** LiteLLM's proxy, a Python program, without its database: it keeps no account of what is used. */
export async function startLiteLlm(setting: { upstreamUrl: string; directory: string }): Promise<Gateway> {
  const port = await freePort();
  const python = await installPython("litellm", REQUIREMENTS);
  const config = path.join(setting.directory, "litellm.yaml");
  // JSON is YAML.
  await writeFile(config, JSON.stringify(configuration(setting.upstreamUrl)));
  const child = await startChild({
    name: "LiteLLM",
    program: python,
    // Its own script names the place where it was installed, which has moved since.
    parameters: [
      ["-c", "from litellm import run_server; run_server()"],
      ["--config", config, "--host", LOOPBACK, "--port", String(port), "--telemetry", "False"],
    ].flat(),
    environment: { LITELLM_LOG: "ERROR", LITELLM_LOCAL_MODEL_COST_MAP: "True", NO_PROXY: LOOPBACK },
    directory: setting.directory,
    readyUrl: `http://${LOOPBACK}:${port}/health/liveliness`,
    readyWithinMs: READY_WITHIN_MS,
    logFile: path.join(setting.directory, "litellm.log"),
  });
  return {
    name: "LiteLLM",
    target: ({ client }) => ({ url: `http://${LOOPBACK}:${port}${pathOf(client)}`, headers: {} }),
    parts: { litellm: child.pid },
    settled: async () => {},
    stop: () => child.stop(),
  };
}

function configuration(upstreamUrl: string): object {
  const entry = (protocol: "chat" | "messages", parameters: object) => ({
    model_name: modelOf(protocol),
    litellm_params: { api_key: "bench", ...parameters },
  });
  return {
    model_list: [
      entry("chat", { model: `openai/${modelOf("chat")}`, api_base: `${upstreamUrl}/v1` }),
      entry("messages", { model: `anthropic/${modelOf("messages")}`, api_base: upstreamUrl }),
    ],
    litellm_settings: { drop_params: true, callbacks: [] },
  };
}
