import type { SocketAddress } from "../../operator/bootstrap/socket-address.ts";

/** A bootstrap with other addresses in the place of a pod's: by port, which each has one purpose of. */
export function withSockets(value: unknown, addresses: ReadonlyMap<number, SocketAddress>): unknown {
  if (Array.isArray(value)) return value.map((each) => withSockets(each, addresses));
  if (typeof value !== "object" || value === null) return value;
  if ("address" in value && "port_value" in value && typeof value.port_value === "number") {
    const address = addresses.get(value.port_value);
    if (address === undefined) throw new Error(`The bootstrap has port ${value.port_value}, of which nobody knows.`);
    return { ...value, address: address.host, port_value: address.port };
  }
  return Object.fromEntries(Object.entries(value).map(([key, content]) => [key, withSockets(content, addresses)]));
}
