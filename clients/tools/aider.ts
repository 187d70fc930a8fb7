import { jsonSetting, numberOf, statement } from "../setting.ts";
import type { ServedTool, SettingsFile } from "../tool.ts";

/** Aider's model names begin with the way to reach the model: `openai/…`. */
const LIMITS = {
  max_tokens: numberOf("output"),
  max_input_tokens: numberOf("context"),
  max_output_tokens: numberOf("output"),
  litellm_provider: "openai",
  mode: "chat",
};

const settings: SettingsFile = {
  interface: "chat",
  format: "yaml",
  folderVariable: null,
  folder: ".",
  names: [".aider.conf.yml"],
  settings: [
    statement("model", ["model: openai/@model@"]),
    statement("weak-model", ["weak-model: openai/@small@"]),
    statement("openai-api-base", ["openai-api-base: @base@/v1"]),
    statement("openai-api-key", ["openai-api-key: @key@"]),
    statement("show-model-warnings", ["show-model-warnings: false"], "default"),
  ],
};

const limits: SettingsFile = {
  interface: "chat",
  format: "json",
  folderVariable: null,
  folder: ".",
  names: [".aider.model.metadata.json"],
  settings: [jsonSetting(["openai/@id@"], LIMITS, "each")],
};

export const aider: ServedTool = {
  kind: "served",
  id: "aider",
  name: "Aider",
  tried: { registry: "PyPI", package: "aider-chat", version: "0.86.2" },
  interfaces: ["chat"],
  commands: ["aider"],
  folders: [".aider"],
  files: [settings, limits],
  clear: ["AIDER_MODEL", "AIDER_OPENAI_API_BASE", "AIDER_OPENAI_API_KEY"],
  check: 'aider --no-git --message "Say hello."',
  afterwards: ["An .aider.conf.yml in a project takes precedence there."],
  limits: ["It edits files through its own text format and calls no tools.", "It needs Python 3.10 to 3.12."],
  // One installation in ten is asked to send statistics.
  otherHosts: ["raw.githubusercontent.com", "us.i.posthog.com"],
};
