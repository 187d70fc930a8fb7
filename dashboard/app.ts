import { randomUUID } from "node:crypto";
import { parse as parseQuery } from "node:querystring";
import { constants } from "node:zlib";
import compress from "@fastify/compress";
import cookie from "@fastify/cookie";
import formbody from "@fastify/formbody";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import * as z from "zod";
import { GatewayError } from "../contract/errors.ts";
import { serveApi } from "./api/api.ts";
import type { AppDeps } from "./app-deps.ts";
import { serveAssets } from "./assets.ts";
import { serveBatches } from "./batches/serve.ts";
import { boundInFlight } from "./http/in-flight.ts";
import { answerError, answerNotFound } from "./http/failure.ts";
import { recordMethods } from "./http/methods.ts";
import { MAX_HEADER_BYTES } from "./http/mutual-tls.ts";
import { registerRoutes } from "./routes.ts";
import { guard, NO_SUCH_PAGE } from "./session/guard.ts";
import { forgetPorts } from "./http/client-address.ts";
import { setSecurityHeaders } from "./http/security-headers.ts";
import { isTrustedHop } from "../runtime/trusted-proxies.ts";

const MAX_FORM_BYTES = 64 * 1024;
/** More than the largest form has: a key's list of models. Further fields are not read. */
const MAX_FORM_FIELDS = 1_000;

const NUL = "\0";

/** Postgres rejects a NUL in a text, and none of our names contains one. */
async function refuseNul({ params }: FastifyRequest): Promise<void> {
  const parameters = z.record(z.string(), z.string()).safeParse(params).data ?? {};
  if (Object.values(parameters).some((value) => value.includes(NUL))) throw new GatewayError("not_found", NO_SUCH_PAGE);
}

/**
 * The framework closes the connection of a body that it refuses while the rest is on its way: Envoy then loses the answer. On an
 * open connection, Node discards the rest.
 */
async function stayOpen(_request: FastifyRequest, reply: FastifyReply): Promise<void> {
  if (reply.statusCode >= 400 && reply.statusCode < 500) reply.removeHeader("connection");
}

/** The pages, under /dashboard, and the management API, under /api/v1. */
export async function createApp(deps: AppDeps): Promise<FastifyInstance> {
  const app = fastify({
    logger: false,
    bodyLimit: MAX_FORM_BYTES,
    // Envoy may send a request on a connection that is still open; by default, the framework answers with a bare JSON 503.
    return503OnClosing: false,
    // Envoy is the hop before this process, and reports the client's address.
    trustProxy: isTrustedHop(deps.trustedProxies ?? { hops: 0, networks: [] }),
    genReqId: () => randomUUID(),
    ...(deps.serverFactory === undefined ? { http: { maxHeaderSize: MAX_HEADER_BYTES } } : { serverFactory: deps.serverFactory }),
    routerOptions: { ignoreTrailingSlash: true },
  });
  app.addHook("onRequest", forgetPorts);
  const methods = recordMethods(app);
  if (deps.onRoute !== undefined) app.addHook("onRoute", deps.onRoute);
  await app.register(compress, { encodings: ["br", "gzip"], brotliOptions: { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } } });
  await app.register(cookie);
  await app.register(formbody, {
    bodyLimit: MAX_FORM_BYTES,
    parser: (text) => parseQuery(text, "&", "=", { maxKeys: MAX_FORM_FIELDS }),
  });
  setSecurityHeaders(app, deps);
  app.addHook("onRequest", refuseNul);
  app.addHook("onSend", stayOpen);
  serveAssets(app);
  const inFlight = boundInFlight(app);
  guard(app, { ...deps, inFlight });
  app.setErrorHandler((error, request, reply) =>
    answerError({ error, request, reply, log: deps.log, publicBaseUrl: deps.publicBaseUrl, support: deps.operator?.support }),
  );
  app.setNotFoundHandler((request, reply) =>
    answerNotFound({ request, reply, methods, publicBaseUrl: deps.publicBaseUrl, support: deps.operator?.support }),
  );
  registerRoutes(app, deps);
  await serveApi(app, { ...deps, inFlight });
  await serveBatches(app, { ...deps, inFlight });
  return app;
}
