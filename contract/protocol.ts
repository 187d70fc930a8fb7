/** The wire formats that model servers speak: OpenAI's chat completions and Anthropic's messages (S1, S2). */
export const PROTOCOLS = ["chat", "messages"] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** Where a model server answers prompts, below its base path. */
export const UPSTREAM_PATHS = { chat: "/chat/completions", messages: "/v1/messages" } as const satisfies Record<Protocol, string>;

/** What clients may speak. Responses is translated for every server, and only on where a Model says so (S8). */
export const INTERFACES = [...PROTOCOLS, "responses"] as const;
export type Interface = (typeof INTERFACES)[number];
