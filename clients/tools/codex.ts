import { statement } from "../setting.ts";
import type { ServedTool } from "../tool.ts";

export const codex: ServedTool = {
  kind: "served",
  id: "codex",
  name: "Codex CLI",
  tried: { registry: "npm", package: "@openai/codex", version: "0.169.0" },
  interfaces: ["responses"],
  commands: ["codex"],
  folders: [".codex"],
  files: [
    {
      interface: "responses",
      format: "toml",
      folderVariable: "CODEX_HOME",
      folder: ".codex",
      names: ["config.toml"],
      settings: [
        statement("model", ['model = "@model@"']),
        statement("model_provider", ['model_provider = "model-gateway"']),
        statement("model_context_window", ["model_context_window = @context@"]),
        // It offers the model a search that its vendor runs, which is refused by name.
        statement("web_search", ['web_search = "disabled"']),
        statement("[model_providers.model-gateway]", [
          "[model_providers.model-gateway]",
          'name = "Model Gateway"',
          'base_url = "@base@/v1"',
          'wire_api = "responses"',
          'experimental_bearer_token = "@key@"',
        ]),
      ],
    },
  ],
  clear: ["OPENAI_BASE_URL"],
  check: 'codex exec "Say hello."',
  afterwards: ["A profile selected with --profile takes precedence."],
  limits: [
    "It needs a model with the Responses interface; other models are a 404.",
    "Its own web search is not available.",
    "It sends usage statistics to its vendor, and checks for updates there and on GitHub.",
  ],
  otherHosts: ["ab.chatgpt.com", "api.github.com", "chatgpt.com", "github.com"],
};
