const LOOPBACK = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Whether the address leads only to this machine. */
export function isLoopback({ hostname }: Pick<URL, "hostname">): boolean {
  return LOOPBACK.has(hostname);
}
