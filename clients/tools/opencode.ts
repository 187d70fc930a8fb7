import { eachModel, jsonSetting } from "../setting.ts";
import type { ServedTool, SettingsFile } from "../tool.ts";

const MODEL = '"@id@":{"name":"@id@","limit":{"context":@context@,"output":@output@}}';

/** Both of its packages expect the address with /v1. */
function file(speaks: "chat" | "messages", npm: string): SettingsFile {
  return {
    interface: speaks,
    format: "jsonc",
    folderVariable: "XDG_CONFIG_HOME",
    folder: ".config",
    names: ["opencode/opencode.jsonc", "opencode/opencode.json"],
    settings: [
      jsonSetting(["$schema"], "https://opencode.ai/config.json", "default"),
      jsonSetting(["provider", "model-gateway"], {
        npm,
        name: "Model Gateway",
        options: { baseURL: "@base@/v1", apiKey: "@key@" },
        models: eachModel("object", MODEL),
      }),
      jsonSetting(["model"], "model-gateway/@model@"),
      jsonSetting(["small_model"], "model-gateway/@small@"),
    ],
  };
}

export const opencode: ServedTool = {
  kind: "served",
  id: "opencode",
  name: "opencode",
  tried: { registry: "npm", package: "opencode-ai", version: "1.18.33" },
  interfaces: ["chat", "messages"],
  commands: ["opencode"],
  folders: [".config/opencode"],
  files: [file("chat", "@ai-sdk/openai-compatible"), file("messages", "@ai-sdk/anthropic")],
  clear: [],
  check: 'opencode run "Say hello."',
  afterwards: ["A project's own opencode.json may name another model and takes precedence there."],
  limits: ["When it starts, it asks its vendor for a list of models and the package registry for updates."],
  otherHosts: ["models.opencode.ai", "registry.npmjs.org"],
};
