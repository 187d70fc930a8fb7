import { statement } from "../setting.ts";
import type { ServedTool } from "../tool.ts";

export const codex: ServedTool = {
  kind: "served",
  id: "codex",
  name: "Codex CLI",
  tried: null,
  notTriedBecause: "It speaks the Responses interface alone: it is offered once a model has that interface.",
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
  afterwards: ["A profile that is named with --profile may say otherwise, and wins then."],
  limits: ["It needs a model with the Responses interface: others answer 404.", "Its own web search is not there."],
  otherHosts: ["api.github.com", "chatgpt.com", "github.com"],
};
