import { jsonSetting } from "../setting.ts";
import type { ServedTool } from "../tool.ts";

/** Its settings' `env` overrides the shell's variables, and cannot unset one: an empty value stands for none. */
const ENVIRONMENT = {
  ANTHROPIC_BASE_URL: "@base@",
  ANTHROPIC_AUTH_TOKEN: "@key@",
  ANTHROPIC_API_KEY: "",
  ANTHROPIC_MODEL: "@model@",
  ANTHROPIC_DEFAULT_OPUS_MODEL: "@model@",
  ANTHROPIC_DEFAULT_SONNET_MODEL: "@model@",
  ANTHROPIC_DEFAULT_HAIKU_MODEL: "@small@",
  ANTHROPIC_SMALL_FAST_MODEL: "",
  ANTHROPIC_CUSTOM_HEADERS: "",
  CLAUDE_CODE_USE_BEDROCK: "",
  CLAUDE_CODE_USE_VERTEX: "",
  CLAUDE_CODE_USE_FOUNDRY: "",
  CLAUDE_CODE_MAX_CONTEXT_TOKENS: "@context@",
  CLAUDE_CODE_MAX_OUTPUT_TOKENS: "@output@",
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
};

export const claudeCode: ServedTool = {
  kind: "served",
  id: "claude-code",
  name: "Claude Code",
  tried: { registry: "npm", package: "@anthropic-ai/claude-code", version: "2.1.330" },
  interfaces: ["messages"],
  commands: ["claude"],
  folders: [".claude"],
  files: [
    {
      interface: "messages",
      format: "json",
      folderVariable: "CLAUDE_CONFIG_DIR",
      folder: ".claude",
      names: ["settings.json"],
      settings: Object.entries(ENVIRONMENT).map(([name, value]) => jsonSetting(["env", name], value)),
    },
  ],
  clear: [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_MODEL",
    "ANTHROPIC_SMALL_FAST_MODEL",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_USE_BEDROCK",
    "CLAUDE_CODE_USE_VERTEX",
    "CLAUDE_CODE_USE_FOUNDRY",
  ],
  check: 'claude -p "Say hello."',
  afterwards: ["A project's own .claude/settings.json takes precedence there."],
  limits: [
    "Web search runs on the vendor's servers and is not available with the gateway's models.",
    "Settings managed by an organization take precedence over these.",
  ],
  otherHosts: [],
};
