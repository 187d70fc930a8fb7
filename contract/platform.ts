/** Clouds that serve the messages protocol in a form of their own, with the model in the path. */
export const PLATFORMS = ["bedrock"] as const;
export type Platform = (typeof PLATFORMS)[number];

/** A model's endpoint for prompts on a platform, below the server's base path. */
export function platformPath(platform: Platform, { model, isStream }: { model: string; isStream: boolean }): string {
  return PATHS[platform](encodeSegment(model), isStream);
}

const PATHS = {
  bedrock: (model, isStream) => `/model/${model}/${isStream ? "invoke-with-response-stream" : "invoke"}`,
} as const satisfies Record<Platform, (model: string, isStream: boolean) => string>;

/** As one segment of a path, in which `:` and `@` of model names are allowed as they are. */
function encodeSegment(text: string): string {
  return encodeURIComponent(text).replaceAll("%3A", ":").replaceAll("%40", "@");
}
