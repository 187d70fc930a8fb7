/** A TCP address: `host` is an IP address, or a DNS name where Envoy resolves it. */
export interface SocketAddress {
  host: string;
  port: number;
}

/** As Envoy's configuration writes it. */
export function socketAddress({ host, port }: SocketAddress) {
  return { socket_address: { address: host, port_value: port } };
}
