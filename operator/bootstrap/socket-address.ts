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

/** The same for either kind. */
export function endpointAddress(address: EndpointAddress) {
  return "path" in address ? { pipe: { path: address.path } } : socketAddress(address);
}
