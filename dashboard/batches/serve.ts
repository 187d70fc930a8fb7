import type { FastifyInstance, FastifyRequest } from "fastify";
import { GatewayError } from "../../contract/errors.ts";
import { checkVersion, hasVersion } from "../../contract/messages-version.ts";
import { createBatchContent } from "../../ledger/batches/content.ts";
import { createBatchRoom } from "../../ledger/batches/room.ts";
import type { AppDeps } from "../app-deps.ts";
import type { InFlight } from "../http/in-flight.ts";
import { prepareApiScope } from "../http/api-scope.ts";
import { batchRoutes } from "./batch-routes.ts";
import { checkCallerAgain, recognizeKeys } from "./caller.ts";
import { answerBatchError, headerOf, idHeaders, isOfMessages } from "./failure.ts";
import { fileRoutes } from "./file-routes.ts";
import { messageBatchRoutes } from "./message-routes.ts";
import { recordMethods } from "../http/methods.ts";
import { createUploads } from "./uploads.ts";

/** OpenAI's files and batches, and Anthropic's batches of messages, for the holders of API keys (docs/batches.md). */
export async function serveBatches(app: FastifyInstance, deps: AppDeps & { inFlight: InFlight }): Promise<void> {
  await app.register(
    async (scope) => {
      prepareApiScope(scope);
      scope.setErrorHandler((error, request, reply) => answerBatchError(error, { request, reply, log: deps.log }));
      const methods = recordMethods(scope);
      scope.setNotFoundHandler(({ method, url }) => {
        const allowed = methods.of(url);
        if (allowed.length === 0)
          throw new GatewayError(
            "not_found",
            `This path does not exist. ${deps.publicBaseUrl}/dashboard/docs lists the endpoints.`,
          );
        const accepted = allowed.filter((each) => each !== "HEAD").join(" and ");
        throw new GatewayError("method_not_allowed", `This path accepts ${accepted}, not ${method}.`, {
          headers: { allow: allowed.join(", ") },
        });
      });
      scope.addHook("onSend", async (request, reply) => void reply.headers(idHeaders(request)));
      scope.addHook("onRequest", async (request) => {
        if (!request.is404 && isOfMessages(request)) checkVersion(headerOf(request));
      });
      recognizeKeys(scope, deps);
      scope.addHook("onRequest", async ({ headers }) => {
        if (/^(identity)?$/i.test(headers["content-encoding"] ?? "")) return;
        throw new GatewayError("invalid_request", COMPRESSED, { field: "content-encoding" });
      });
      const { database, pepper, publicBaseUrl } = deps;
      const batches = {
        database,
        publicBaseUrl,
        content: createBatchContent(pepper),
        checkCallerAgain: (request: FastifyRequest) => checkCallerAgain(deps, request),
        uploads: createUploads(),
        room: createBatchRoom({ maxBytes: deps.maxBatchBytes ?? DEFAULT_MAX_BYTES }),
      };
      await scope.register(async (files) => {
        files.addHook("onRequest", async (request) => {
          if (hasVersion(headerOf(request))) throw new GatewayError("not_found", NO_FILES_OF_MESSAGES);
        });
        fileRoutes(files, batches);
      });
      batchRoutes(scope, batches);
      messageBatchRoutes(scope, batches);
    },
    { prefix: "/v1" },
  );
}

const DEFAULT_MAX_BYTES = 20 * 1024 * 1024 * 1024;

const COMPRESSED = "Compressed request bodies are not supported. Send the body without `content-encoding`.";

const NO_FILES_OF_MESSAGES =
  "Anthropic's Files API is not supported. Send the content of images and documents in the request, in a source of type `base64` or `text`; for a batch, send its requests to POST /v1/messages/batches.";
