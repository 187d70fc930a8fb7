import type { Tool } from "../tool.ts";

/** Tools that another program cannot set up, and unsupported tools, each with the reason. */
export const BY_HAND: readonly Tool[] = [
  {
    kind: "manual",
    id: "cline-editor",
    name: "Cline in VS Code",
    interfaces: ["chat", "messages"],
    because: "The extension keeps its settings and the key in the editor's own store, which no other program can write.",
    steps: [
      "Open Cline's settings and choose the provider “OpenAI Compatible”.",
      "Base URL: @base@/v1",
      "API key: your key. Model ID: @model@",
      "Under Model Configuration, enter the model's context window and maximum output.",
    ],
    limits: [],
  },
  {
    kind: "manual",
    id: "cursor",
    name: "Cursor",
    interfaces: ["chat"],
    because: "Its settings are in its own database, and its requests come from the vendor's servers, not from your machine.",
    steps: [
      "The base URL must be reachable from the internet, over https.",
      "Settings › Models: add @model@ as a custom model and turn off the vendor's models.",
      "Turn on “Override OpenAI Base URL”: @base@/v1",
      "OpenAI API key: enter your key, then choose Verify.",
    ],
    limits: [
      "The vendor's servers see the key and what you send.",
      "Its agent sends requests in the Responses format to the chat address; these are refused. Chat in the sidebar works.",
    ],
  },
  {
    kind: "manual",
    id: "github-copilot",
    name: "GitHub Copilot",
    interfaces: ["chat", "messages", "responses"],
    because: "Its CLI takes the provider from environment variables alone, and VS Code from its own window.",
    steps: [
      "CLI: set COPILOT_PROVIDER_BASE_URL to @base@/v1, COPILOT_PROVIDER_API_KEY to your key, COPILOT_MODEL to @model@, and COPILOT_PROVIDER_MAX_PROMPT_TOKENS and COPILOT_PROVIDER_MAX_OUTPUT_TOKENS to the model's limits.",
      "For the Responses interface, also set COPILOT_PROVIDER_WIRE_API to responses. For Messages, set COPILOT_PROVIDER_TYPE to anthropic, and COPILOT_PROVIDER_BASE_URL to @base@.",
      "Start copilot. With COPILOT_OFFLINE=true it contacts no server but this one.",
      "VS Code 1.122 or later: Manage Models › Add Models › Custom Endpoint, with your key and the complete address, such as @base@/v1/chat/completions.",
    ],
    limits: [
      "Tried with the CLI 1.0.102, on each interface: it answered in text and changed a file. VS Code has not been tried.",
      "Completions while you type come from the vendor's servers, with the vendor's models.",
    ],
  },
  {
    kind: "unserved",
    id: "windsurf",
    name: "Windsurf",
    because: "Its models are a fixed menu served by the vendor; it has no setting for another base URL.",
  },
  {
    kind: "unserved",
    id: "gemini-cli",
    name: "Gemini CLI",
    because:
      "It supports only its vendor's own interface, which the gateway does not offer. Qwen Code is derived from it and is supported.",
  },
];
