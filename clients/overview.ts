import { INTERFACE_NAMES } from "./guide.ts";
import { seenOfSdks, seenOfTool, type Seen } from "./results.ts";
import { TOOLS } from "./table.ts";
import type { InterfaceName, ServedTool } from "./tool.ts";

const HEADINGS = ["Client", "Version", "Interface", "Text", "Stream", "Tools", "Reasoning", "Usage"];

/** The first page of docs/clients: what was tried, what it can, and what cannot be served. */
export function overviewMarkdown(): string {
  const served = TOOLS.filter((tool) => tool.kind === "served");
  const others = TOOLS.filter((tool) => tool.kind !== "served");
  return `${[
    "# Tools and SDKs",
    "Any client that can set a base address, a key and a model's name works with the gateway. The ones below have a page each, and `{base_url}/install.sh` sets them up; `{base_url}/install.md` tells an agent the same.",
    "## What the tests saw",
    "Each row is a real package, set up by the installer, that spoke with the simulated model server through the gateway: the tools answered in text and changed a file, the SDKs and what builds on them held a short conversation. Written by `npm run clients:update`.",
    table(HEADINGS, [...served.flatMap(toolRows), ...Object.entries(seenOfSdks()).map(sdkRow)]),
    "- **Tools**: the model called a tool, and the tool's result came back. Aider edits through its own text format.",
    "- **Reasoning**: the client asks for reasoning, or shows it, in the run of the tests.",
    "- **Usage**: every request was charged by the count that the model server gave.",
    "## Set up by hand, or not at all",
    table(
      ["Tool", "", "Why"],
      others.map((tool) => [link(tool.name, tool.id), tool.kind === "manual" ? "by hand" : "no", tool.because]),
    ),
  ].join("\n\n")}\n`;
}

function toolRows(tool: ServedTool): string[][] {
  const name = link(tool.name, tool.id);
  if (tool.tried === null)
    return [[name, "not run", tool.interfaces.map((each) => INTERFACE_NAMES[each]).join(", "), "", "", "", "", ""]];
  const { version } = tool.tried;
  return tool.interfaces.flatMap((speaks) => {
    const seen = seenOfTool(tool.id, speaks);
    return seen === undefined ? [] : [[name, version, INTERFACE_NAMES[speaks], ...marks(seen)]];
  });
}

const SDK_NAMES: Readonly<Record<string, string>> = {
  openai: "OpenAI SDK (Python)",
  "openai-responses": "OpenAI SDK (Python)",
  "openai-node": "OpenAI SDK (Node)",
  "openai-node-responses": "OpenAI SDK (Node)",
  anthropic: "Anthropic SDK (Python)",
  "anthropic-node": "Anthropic SDK (Node)",
  "ai-sdk-openai-compatible": "Vercel AI SDK, @ai-sdk/openai-compatible",
  "ai-sdk-openai": "Vercel AI SDK, @ai-sdk/openai",
  "ai-sdk-anthropic": "Vercel AI SDK, @ai-sdk/anthropic",
  "langchain-openai": "LangChain (Python), langchain-openai",
  "langchain-anthropic": "LangChain (Python), langchain-anthropic",
  "langchain-js-openai": "LangChain (JS), @langchain/openai",
  "langchain-js-openai-responses": "LangChain (JS), @langchain/openai",
  "langchain-js-anthropic": "LangChain (JS), @langchain/anthropic",
  "litellm-openai": "LiteLLM, `openai/…`",
  "litellm-anthropic": "LiteLLM, `anthropic/…`",
  llm: "llm (command)",
  "llm-responses": "llm (command)",
};

function sdkRow([name, seen]: [string, Seen]): string[] {
  const speaks: InterfaceName = seen.interface ?? "chat";
  return [SDK_NAMES[name] ?? name, seen.version ?? "", INTERFACE_NAMES[speaks], ...marks(seen)];
}

function marks({ text, stream, tools, reasoning, usage }: Seen): string[] {
  return [text, stream, tools, reasoning, usage].map((each) => (each ? "yes" : "–"));
}

function link(name: string, id: string): string {
  return `[${name}](${id}.md)`;
}

function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
  return [line(headings), `|${headings.map(() => "---").join("|")}|`, ...rows.map(line)].join("\n");
}
