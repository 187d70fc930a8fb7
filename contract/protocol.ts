/** The wire formats that clients and model servers speak: OpenAI's chat completions and Responses, Anthropic's messages (S1, S2, S8). */
export const PROTOCOLS = ["chat", "messages", "responses"] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** Where a model server answers prompts, below its base path. */
export const UPSTREAM_PATHS = {
  chat: "/chat/completions",
  messages: "/v1/messages",
  responses: "/responses",
} as const satisfies Record<Protocol, string>;

/** Where a server that speaks chat completions answers with vectors, below its base path. */
export const EMBEDDINGS_PATH = "/embeddings";

/** What clients may speak. A conversation reaches servers of every protocol; embeddings those that speak chat completions. */
export const INTERFACES = [...PROTOCOLS, "embeddings"] as const;
export type Interface = (typeof INTERFACES)[number];

/** The two shapes of errors and lists: Responses and embeddings share those of chat completions. */
export type Dialect = Exclude<Protocol, "responses">;
