/** Clouds that serve the messages protocol in a form of their own, with the model in the path. */
export const PLATFORMS = ["bedrock", "vertex"] as const;
export type Platform = (typeof PLATFORMS)[number];

/** A model's endpoint for prompts on a platform, below the server's base path. */
export function platformPath(platform: Platform, { model, isStream }: { model: string; isStream: boolean }): string {
  return PATHS[platform](encodeSegment(model), isStream);
}

const VERTEX_MODELS = "/publishers/anthropic/models";

/** Where Vertex AI counts the tokens of a prompt, for all models. */
export const VERTEX_COUNT_PATH = `${VERTEX_MODELS}/count-tokens:rawPredict`;

const PATHS = {
  bedrock: (model, isStream) => `/model/${model}/${isStream ? "invoke-with-response-stream" : "invoke"}`,
  vertex: (model, isStream) => `${VERTEX_MODELS}/${model}:${isStream ? "streamRawPredict" : "rawPredict"}`,
} as const satisfies Record<Platform, (model: string, isStream: boolean) => string>;

/** As one segment of a path, in which `:` and `@` of model names are allowed as they are. */
function encodeSegment(text: string): string {
  return encodeURIComponent(text).replaceAll("%3A", ":").replaceAll("%40", "@");
}
