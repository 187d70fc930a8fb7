import { createServer } from "node:https";
import type { FastifyServerFactory } from "fastify";
import type { TlsFiles, TlsIdentity } from "../../runtime/tls-files.ts";

/** As fastify passes it to the servers that it creates. */
export const KEEP_ALIVE_MS = 72_000;

/**
 * Envoy accepts 32 KiB of headers, in earlier versions 64, and adds some. Node.js refuses longer ones by closing the connection,
 * which also carries other clients' requests.
 */
export const MAX_HEADER_BYTES = 96 * 1024;

/** A server that only accepts callers with a certificate of its authority. Follows renewals. */
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
