import { homedir } from "node:os";
import path from "node:path";

/** Where this user's programs keep what they can make anew: XDG_CACHE_HOME, else ~/.cache; in it, our own folder. */
export function cacheDirectory(environment: Readonly<Record<string, string | undefined>>): string {
  const configured = environment.XDG_CACHE_HOME;
  // The XDG rule: a relative path there is to be ignored.
  const base =
    configured !== undefined && path.isAbsolute(configured) ? configured : path.join(environment.HOME ?? homedir(), ".cache");
  return path.join(base, "model-gateway");
}
