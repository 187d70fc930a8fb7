import { randomUUID } from "node:crypto";
import { constants } from "node:zlib";
import compress from "@fastify/compress";
import cookie from "@fastify/cookie";
import formbody from "@fastify/formbody";
import fastify, { type FastifyInstance, type FastifyServerFactory, type RouteOptions } from "fastify";
import type { Database } from "../ledger/database.ts";
import type { Logger } from "../runtime/log.ts";
import { serveApi } from "./api/api.ts";
import { serveAssets } from "./assets.ts";
import type { Mailer } from "./mail/mailer.ts";
import type { Oidc } from "./oidc/provider.ts";
import type { SignUpRules } from "./sign-up-rules.ts";
import type { Payments } from "./payments/payments.ts";
import { answerError, answerNotFound } from "./failure.ts";
import { registerRoutes } from "./routes.ts";
import { guard } from "./session/guard.ts";
import { setSecurityHeaders } from "./security-headers.ts";

export interface AppDeps {
  database: Database;
  log: Logger;
  pepper: Buffer;
  publicBaseUrl: string;
  signUp: SignUpRules;
  /** The service's terms, plain text. */
  terms?: string | undefined;
  /** Not given: nobody can be written to. */
  mailer?: Mailer | undefined;
  /** Not given: nobody signs in elsewhere. */
  oidc?: Oidc | undefined;
  /** Not given: nobody can pay. */
  payments?: Payments | undefined;
  /** Not given: plain HTTP. */
  serverFactory?: FastifyServerFactory | undefined;
  /** Told of each route, so that a test can try them all. */
  onRoute?: (route: RouteOptions) => void;
}

const MOST_FORM_BYTES = 64 * 1024;

/** The pages, under /dashboard, and the management API, under /api/v1. */
export async function createApp(deps: AppDeps): Promise<FastifyInstance> {
  const app = fastify({
    logger: false,
    bodyLimit: MOST_FORM_BYTES,
    // Envoy is the one hop before this process, and says who came in.
    trustProxy: (_address, hop) => hop === 0,
    genReqId: () => randomUUID(),
    ...(deps.serverFactory === undefined ? {} : { serverFactory: deps.serverFactory }),
    routerOptions: { ignoreTrailingSlash: true },
  });
  if (deps.onRoute !== undefined) app.addHook("onRoute", deps.onRoute);
  await app.register(compress, { encodings: ["br", "gzip"], brotliOptions: { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } } });
  await app.register(cookie);
  await app.register(formbody, { bodyLimit: MOST_FORM_BYTES });
  setSecurityHeaders(app);
  await serveAssets(app);
  guard(app, deps);
  app.setErrorHandler((error, request, reply) => answerError({ error, request, reply, log: deps.log }));
  app.setNotFoundHandler((request, reply) => answerNotFound(request, reply));
  registerRoutes(app, deps);
  await serveApi(app, deps);
  return app;
}
