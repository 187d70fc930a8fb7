import { statement } from "../setting.ts";
import type { ServedTool, SettingsFile } from "../tool.ts";

/** The first line of a list item has the dash. */
function file(speaks: "chat" | "messages", lines: readonly string[]): SettingsFile {
  return {
    interface: speaks,
    format: "yaml",
    folderVariable: null,
    folder: ".continue",
    names: ["config.yaml"],
    settings: [
      statement("name", ["name: Local"], "default"),
      statement("version", ["version: 1.0.0"], "default"),
      statement("schema", ["schema: v1"], "default"),
      statement("models[name=Model Gateway]", [
        "- name: Model Gateway",
        ...lines,
        "  model: @model@",
        "  apiKey: @key@",
        "  defaultCompletionOptions:",
        "    contextLength: @context@",
        "  roles:",
        "    - chat",
        "    - edit",
        "    - apply",
      ]),
    ],
  };
}

export const continueDev: ServedTool = {
  kind: "served",
  id: "continue",
  name: "Continue",
  tried: { registry: "npm", package: "@continuedev/cli", version: "1.5.47" },
  interfaces: ["chat", "messages"],
  commands: ["cn"],
  folders: [".continue"],
  files: [
    file("chat", ["  provider: openai", "  apiBase: @base@/v1"]),
    file("messages", ["  provider: anthropic", "  apiBase: @base@/v1"]),
  ],
  clear: [],
  check: 'cn -p "Say hello."',
  afterwards: ["In the editor, choose Model Gateway in the list of models."],
  limits: [
    "Its older config.json is not changed: Continue reads config.yaml if both exist.",
    "Autocompletion needs a different completions interface, which the gateway does not offer.",
  ],
  otherHosts: [],
};
