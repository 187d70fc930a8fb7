import type { FastifyInstance } from "fastify";
import { GatewayError } from "../../contract/errors.ts";
import { createBatchContent } from "../../ledger/batches/content.ts";
import { createBatchRoom } from "../../ledger/batches/room.ts";
import type { AppDeps } from "../app-deps.ts";
import type { InFlight } from "../http/in-flight.ts";
import { prepareApiScope } from "../http/api-scope.ts";
import { batchRoutes } from "./batch-routes.ts";
import { recognizeKeys } from "./caller.ts";
import { answerBatchError, idHeaders } from "./failure.ts";
import { fileRoutes } from "./file-routes.ts";
import { messageBatchRoutes } from "./message-routes.ts";
import { createUploads } from "./uploads.ts";

/** OpenAI's files and batches, and Anthropic's batches of messages, for the holders of API keys (docs/batches.md). */
export async function serveBatches(app: FastifyInstance, deps: AppDeps & { inFlight: InFlight }): Promise<void> {
  await app.register(
    async (scope) => {
      prepareApiScope(scope);
      scope.setErrorHandler((error, request, reply) => answerBatchError(error, { request, reply, log: deps.log }));
      scope.setNotFoundHandler(() => {
        throw new GatewayError("not_found", `Unknown method and path. ${deps.publicBaseUrl}/dashboard/docs lists the endpoints.`);
      });
      scope.addHook("onSend", async (request, reply) => void reply.headers(idHeaders(request)));
      recognizeKeys(scope, deps);
      const { database, pepper, publicBaseUrl } = deps;
      const batches = {
        database,
        publicBaseUrl,
        content: createBatchContent(pepper),
        uploads: createUploads(),
        room: createBatchRoom({ maxBytes: deps.maxBatchBytes ?? DEFAULT_MAX_BYTES }),
      };
      fileRoutes(scope, batches);
      batchRoutes(scope, batches);
      messageBatchRoutes(scope, batches);
    },
    { prefix: "/v1" },
  );
}

const DEFAULT_MAX_BYTES = 20 * 1024 * 1024 * 1024;
