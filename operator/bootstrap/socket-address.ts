import { isIP } from "node:net";

/** A TCP address: `host` is an IP address, or a DNS name that Envoy resolves. */
export interface SocketAddress {
  host: string;
  port: number;
}

/** `path` is a Unix socket. */
export type EndpointAddress = SocketAddress | { path: string };

/** In Envoy's configuration format. */
export function socketAddress({ host, port }: SocketAddress) {
  return { socket_address: { address: host, port_value: port } };
}

/** To listen on. `::` takes IPv4 as well, whose clients keep their addresses, as pods of both families need. */
export function listeningAddress({ host, port }: SocketAddress) {
  // The chart's template has a placeholder, which may become one.
  const isEveryFamily = host === "::" || isIP(host) === 0;
  return { socket_address: { address: host, port_value: port, ...(isEveryFamily ? { ipv4_compat: true } : {}) } };
}

/** As `socketAddress`, for either kind. */
export function endpointAddress(address: EndpointAddress) {
  return "path" in address ? { pipe: { path: address.path } } : socketAddress(address);
}
