/** The wire formats that clients and model servers speak: OpenAI's chat completions and Responses, Anthropic's messages (S1, S2, S8). */
export const PROTOCOLS = ["chat", "messages", "responses"] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** Where a model server answers prompts, below its base path. */
export const UPSTREAM_PATHS = {
  chat: "/chat/completions",
  messages: "/v1/messages",
  responses: "/responses",
} as const satisfies Record<Protocol, string>;

/** What clients may speak; each interface reaches servers of every protocol. */
export const INTERFACES = [...PROTOCOLS] as const;
export type Interface = Protocol;

/** The two shapes of errors and lists: Responses shares those of chat completions. */
export type Dialect = Exclude<Protocol, "responses">;
