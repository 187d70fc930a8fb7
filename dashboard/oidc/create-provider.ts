import type { ProviderConfig } from "./config.ts";
import { createGithub } from "./github.ts";
import { createOidc } from "./openid-connect.ts";
import type { Provider } from "./provider.ts";

/** The provider is not contacted until somebody signs in. */
export function createProvider(config: ProviderConfig, options: { publicBaseUrl: string }): Provider {
  return config.id === "github" ? createGithub(config, options) : createOidc(config, options);
}
