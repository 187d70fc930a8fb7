/** A coding agent's side of a conversation, over one of the official SDKs; it streams, thinks and keeps the history. */
export interface Agent {
  ask(question: string): Promise<AgentAnswer>;
  /** Sends one result a call of the last answer, in the order of the calls. */
  answer(results: readonly ToolResult[]): Promise<AgentAnswer>;
}

/** One answer of the model, as the client parsed it. */
export interface AgentAnswer {
  thinking: string;
  text: string;
  calls: { id: string; name: string; input: unknown }[];
  stop: "tools" | "end" | "other";
}

export interface ToolResult {
  text: string;
  /** Base64 of a PNG. */
  image?: string;
}

export interface AgentOptions {
  baseUrl: string;
  apiKey: string;
  model: string;
  fetch: typeof globalThis.fetch;
}

export const AGENT_SYSTEM = "You are an agent that works on a program.";

/** The agent's tools: both protocols wrap the same schemas. */
export const AGENT_TOOLS = [
  { name: "shoot", description: "Takes a screenshot", schema: schemaOf({ page: { type: "string" } }) },
  { name: "read", description: "Reads lines", schema: schemaOf({ path: { type: "string" }, line: { type: "integer" } }) },
];

function schemaOf(properties: Record<string, { type: string }>) {
  return { type: "object" as const, properties, required: Object.keys(properties) };
}
