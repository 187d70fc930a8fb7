import type { GatewayAddress } from "./span.ts";

const DEFAULT_PORTS: Readonly<Record<string, number>> = { "http:": 80, "https:": 443 };

/** @param publicBaseUrl the address that clients use. */
export function gatewayAddressOf(publicBaseUrl: string): GatewayAddress {
  const { hostname, port, protocol } = new URL(publicBaseUrl);
  return { host: hostname, port: port === "" ? (DEFAULT_PORTS[protocol] ?? 443) : Number(port) };
}
