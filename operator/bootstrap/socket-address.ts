/** A TCP address: `host` is an IP address, or a DNS name where Envoy resolves it. */
export interface SocketAddress {
  host: string;
  port: number;
}

/** `path` is a Unix socket. */
export type EndpointAddress = SocketAddress | { path: string };

/** As Envoy's configuration writes it. */
export function socketAddress({ host, port }: SocketAddress) {
  return { socket_address: { address: host, port_value: port } };
}

/** The same of either kind. */
export function endpointAddress(address: EndpointAddress) {
  return "path" in address ? { pipe: { path: address.path } } : socketAddress(address);
}
