/** The wire formats that clients and model servers speak: OpenAI's chat completions and Responses, Anthropic's messages (S1, S2, S8). */
export const PROTOCOLS = ["chat", "messages", "responses"] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** A model server's endpoint for prompts, below its base path. */
export const UPSTREAM_PATHS = {
  chat: "/chat/completions",
  messages: "/v1/messages",
  responses: "/responses",
} as const satisfies Record<Protocol, string>;

/** The endpoint for vectors of a server that speaks chat completions, below its base path. */
export const EMBEDDINGS_PATH = "/embeddings";

/**
 * Interfaces for clients. A conversation reaches servers of every protocol; embeddings only those that speak chat completions.
 */
export const INTERFACES = [...PROTOCOLS, "embeddings"] as const;
export type Interface = (typeof INTERFACES)[number];

/** Where clients send requests that a model answers, by interface. */
export const CLIENT_PATHS = {
  chat: "/v1/chat/completions",
  messages: "/v1/messages",
  responses: "/v1/responses",
  embeddings: "/v1/embeddings",
} as const satisfies Record<Interface, string>;

/** The two formats of errors and lists: Responses and embeddings share those of chat completions. */
export type Dialect = Exclude<Protocol, "responses">;
