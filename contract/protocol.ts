/** The wire formats that clients and model servers speak: OpenAI's chat completions and Responses, Anthropic's messages (S1, S2, S8). */
export const PROTOCOLS = ["chat", "messages", "responses"] as const;
export type Protocol = (typeof PROTOCOLS)[number];

/** A model server's endpoint for prompts, below its base path. */
export const UPSTREAM_PATHS = {
  chat: "/chat/completions",
  messages: "/v1/messages",
  responses: "/responses",
} as const satisfies Record<Protocol, string>;

/**
 * Interfaces that are no conversations. A request is one JSON object, or a form for transcriptions and for edits of images, and it
 * and its answer pass to and from a server that speaks chat completions with nothing changed but the model's name. An answer is one JSON object, sound for
 * speech, or a text for transcriptions. Only the input is charged, except for images and transcriptions, whose answers are as well.
 */
export const INPUT_INTERFACES = ["embeddings", "rerank", "image_generation", "speech", "transcription"] as const;
export type InputInterface = (typeof INPUT_INTERFACES)[number];

/** Their endpoints on a server, below its base path. */
const INPUT_PATHS = {
  embeddings: "/embeddings",
  rerank: "/rerank",
  image_generation: "/images/generations",
  speech: "/audio/speech",
  transcription: "/audio/transcriptions",
} as const satisfies Record<InputInterface, string>;

/** Interfaces for clients. A conversation reaches servers of every protocol. */
export const INTERFACES = [...PROTOCOLS, ...INPUT_INTERFACES] as const;
export type Interface = (typeof INTERFACES)[number];

export function isInputInterface(client: string): client is InputInterface {
  return Object.hasOwn(INPUT_PATHS, client);
}

/** Where a server that speaks this protocol answers requests of this interface, below its base path. */
export function upstreamPath(client: Interface, spoken: Protocol): string {
  return isInputInterface(client) ? INPUT_PATHS[client] : UPSTREAM_PATHS[spoken];
}

/** Where clients send requests that a model answers, by interface. */
export const CLIENT_PATHS = {
  chat: "/v1/chat/completions",
  messages: "/v1/messages",
  responses: "/v1/responses",
  embeddings: "/v1/embeddings",
  rerank: "/v1/rerank",
  image_generation: "/v1/images/generations",
  speech: "/v1/audio/speech",
  transcription: "/v1/audio/transcriptions",
} as const satisfies Record<Interface, string>;

/** Of the same interface: the text is in English, whatever language was spoken. Clients add `/v1`. */
export const TRANSLATIONS_PATH = "/audio/translations";

/** Of the same interface as image generation: a form with the pictures to change. Clients add `/v1`. */
export const EDITS_PATH = "/images/edits";

/** The two formats of errors and lists: Responses and the input interfaces share those of chat completions. */
export type Dialect = Exclude<Protocol, "responses">;

export function dialectOf(client: Interface): Dialect {
  return client === "messages" ? "messages" : "chat";
}
