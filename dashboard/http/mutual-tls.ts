import { createServer } from "node:https";
import type { FastifyServerFactory } from "fastify";
import type { TlsFiles, TlsIdentity } from "../../runtime/tls-files.ts";

/** As fastify has it for the servers that it makes. */
export const KEEP_ALIVE_MS = 72_000;

/**
 * Envoy takes 64 KiB of headers and adds some. What Node.js finds too large it refuses by closing the connection, on which the
 * requests of others come, too.
 */
export const MAX_HEADER_BYTES = 96 * 1024;

/** A server that takes callers with a certificate of its authority and no others. Follows renewals. */
export function mutualTlsServer(files: TlsFiles): FastifyServerFactory {
  const contextOf = ({ ca, certificate, key }: TlsIdentity) => ({ ca, cert: certificate, key });
  return (handler) => {
    const options = {
      ...contextOf(files.current()),
      requestCert: true,
      rejectUnauthorized: true,
      keepAliveTimeout: KEEP_ALIVE_MS,
      maxHeaderSize: MAX_HEADER_BYTES,
    };
    const server = createServer(options, handler);
    files.onChange((identity) => server.setSecureContext(contextOf(identity)));
    return server;
  };
}
