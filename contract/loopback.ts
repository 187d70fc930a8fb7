const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Does it lead to this machine alone? */
export function isLoopback({ hostname }: Pick<URL, "hostname">): boolean {
  return LOOPBACK.has(hostname);
}
