import type { SocketAddress } from "../../operator/bootstrap/socket-address.ts";

/** A bootstrap with other addresses in the place of a pod's: by port, which each has one purpose of. */
export function withSockets(value: unknown, places: ReadonlyMap<number, SocketAddress>): unknown {
  if (Array.isArray(value)) return value.map((each) => withSockets(each, places));
  if (typeof value !== "object" || value === null) return value;
  if ("address" in value && "port_value" in value && typeof value.port_value === "number") {
    const place = places.get(value.port_value);
    if (place === undefined) throw new Error(`The bootstrap has port ${value.port_value}, of which nobody knows.`);
    return { ...value, address: place.host, port_value: place.port };
  }
  return Object.fromEntries(Object.entries(value).map(([key, content]) => [key, withSockets(content, places)]));
}
