import { eachModel, jsonSetting } from "../setting.ts";
import type { ServedTool, SettingsFile } from "../tool.ts";

const MODEL = '{"id":"@id@","name":"@id@","context_window":@context@,"default_max_tokens":@output@}';

function file(speaks: "chat" | "messages", type: string, baseUrl: string): SettingsFile {
  return {
    interface: speaks,
    format: "json",
    folderVariable: "XDG_CONFIG_HOME",
    folder: ".config",
    names: ["crush/crush.json"],
    settings: [
      jsonSetting(["$schema"], "https://charm.land/crush.json", "default"),
      jsonSetting(["providers", "model-gateway"], {
        name: "Model Gateway",
        type,
        base_url: baseUrl,
        api_key: "@key@",
        models: eachModel("list", MODEL),
      }),
      jsonSetting(["models", "large"], { model: "@model@", provider: "model-gateway" }),
      jsonSetting(["models", "small"], { model: "@small@", provider: "model-gateway" }),
    ],
  };
}

export const crush: ServedTool = {
  kind: "served",
  id: "crush",
  name: "Crush",
  tried: null,
  notTriedBecause:
    "Its npm package contains no program and downloads one from elsewhere during installation, which the tests do not do, and its source could not be fetched from the Go module proxy (403).",
  interfaces: ["chat", "messages"],
  commands: ["crush"],
  folders: [".config/crush"],
  files: [file("chat", "openai-compat", "@base@/v1"), file("messages", "anthropic", "@base@")],
  clear: [],
  check: 'crush run "Say hello."',
  afterwards: ["A project's own crush.json takes precedence there."],
  limits: ["These settings follow its documentation; the tests do not run it."],
  otherHosts: [],
};
