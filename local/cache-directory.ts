import { homedir } from "node:os";
import path from "node:path";

/** Where this user's programs keep data that can be recreated: XDG_CACHE_HOME, otherwise ~/.cache; in it, our own folder. */
export function cacheDirectory(environment: Readonly<Record<string, string | undefined>>): string {
  const configured = environment.XDG_CACHE_HOME;
  // The XDG rule: a relative path there must be ignored.
  const base =
    configured !== undefined && path.isAbsolute(configured) ? configured : path.join(environment.HOME ?? homedir(), ".cache");
  return path.join(base, "model-gateway");
}

/** Where Node.js keeps what it has compiled of the parts of `npm start`. */
export function compiledDirectory(environment: Readonly<Record<string, string | undefined>>): string {
  return path.join(cacheDirectory(environment), "compiled");
}
