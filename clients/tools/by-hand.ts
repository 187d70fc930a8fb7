import type { Tool } from "../tool.ts";

/** Tools that another program cannot set up, and tools that cannot be served, each with the reason. */
export const BY_HAND: readonly Tool[] = [
  {
    kind: "manual",
    id: "cline-editor",
    name: "Cline in VS Code",
    interfaces: ["chat", "messages"],
    because: "The extension keeps its settings and the key in the editor's own store, which no other program may write.",
    steps: [
      "Open Cline's settings and choose the provider “OpenAI Compatible”.",
      "Base URL: @base@/v1",
      "API key: your key. Model ID: @model@",
      "Under Model Configuration, write the model's context window and longest answer.",
    ],
    limits: [],
  },
  {
    kind: "manual",
    id: "cursor",
    name: "Cursor",
    interfaces: ["chat"],
    because:
      "Its settings are in the program's own database, and its requests come from the vendor's servers, not from your machine.",
    steps: [
      "The base address must be reachable from the internet, over https.",
      "Settings › Models: add @model@ as a custom model and switch the vendor's models off.",
      "Switch “Override OpenAI Base URL” on: @base@/v1",
      "OpenAI API key: your key, then Verify.",
    ],
    limits: [
      "The vendor's servers see the key and what you send.",
      "Its agent sends requests of the Responses form to the chat address: those are refused. Chat in the side bar works.",
    ],
  },
  {
    kind: "unserved",
    id: "windsurf",
    name: "Windsurf",
    because: "Its models are a fixed menu that the vendor's servers answer: there is no setting for another base address.",
  },
  {
    kind: "unserved",
    id: "github-copilot",
    name: "GitHub Copilot",
    because:
      "Its completions and its agents run on the vendor's own servers, with the models of the vendor's menu: there is no base address to set.",
  },
  {
    kind: "unserved",
    id: "gemini-cli",
    name: "Gemini CLI",
    because:
      "It speaks its vendor's own interface only, which the gateway does not have. Qwen Code is made from it and can be set up.",
  },
];
