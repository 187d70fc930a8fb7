type Environment = Record<string, string | undefined>;

/**
 * Makes requests of this process to the loopback address bypass a proxy: with NODE_USE_ENV_PROXY, Node would use the proxy for
 * them, which cannot reach this machine. The other processes get no proxy in their environment.
 */
export function passLoopback(environment: Environment, address: string): void {
  const excepted = environment["no_proxy"] ?? environment["NO_PROXY"] ?? "";
  const value = excepted === "" ? address : `${excepted},${address}`;
  // Node and Python read the lower-case name first.
  environment["no_proxy"] = value;
  environment["NO_PROXY"] = value;
}

const PROXIES = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"] as const;

/** Whether curl, called from a shell with this environment, would use a proxy for a plain HTTP address. */
export function hasProxy(environment: Readonly<Environment>): boolean {
  return PROXIES.some((name) => (environment[name] ?? "") !== "");
}
