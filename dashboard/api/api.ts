import rateLimit from "@fastify/rate-limit";
import swagger from "@fastify/swagger";
import type { FastifyInstance } from "fastify";
import { serializerCompiler, type ZodTypeProvider } from "fastify-type-provider-zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { GatewayError } from "../../contract/errors.ts";
import { CLIENT_PATHS } from "../../contract/protocol.ts";
import { clientNetwork } from "../../ledger/sign-in/client-network.ts";
import type { AppDeps } from "../app-deps.ts";
import type { InFlight } from "../http/in-flight.ts";
import { prepareApiScope } from "../http/api-scope.ts";
import { recognizeCallers } from "./caller.ts";
import { describeApi } from "./describe.ts";
import { serveScim } from "./scim/scim.ts";
import { answerApiError } from "./failure.ts";
import { API_PATH, SCIM_PATH } from "./prefixes.ts";
import { accountApi } from "./routes/account.ts";
import { billingApi } from "./routes/billing.ts";
import { budgetApi } from "./routes/budgets.ts";
import { creditApi } from "./routes/credit.ts";
import { incidentApi } from "./routes/incidents.ts";
import { attributionApi } from "./routes/attribution.ts";
import { keyApi } from "./routes/keys.ts";
import { limitApi } from "./routes/limits.ts";
import { modelApi } from "./routes/models.ts";
import { projectApi } from "./routes/projects.ts";
import { promptLogApi } from "./routes/prompt-log.ts";
import { providerKeyApi } from "./routes/provider-keys.ts";
import { serviceApi } from "./routes/service.ts";
import { singleWebhookApi } from "./routes/single-webhook.ts";
import { traceDestinationApi } from "./routes/trace-destinations.ts";
import { usageApi } from "./routes/usage.ts";
import { webhookApi } from "./routes/webhooks.ts";
import { usageGroupsApi } from "./routes/usage-groups.ts";
import { validatorCompiler } from "./validation.ts";

const MODEL_PATHS = Object.values(CLIENT_PATHS);

/** OpenRouter has its models below this path, so its clients bring the base URL along. */
function explainUnknown(url: string): string {
  const meant = MODEL_PATHS.find((path) => url.startsWith(`/api${path}`));
  if (meant !== undefined)
    return `This is the management API. To call models, leave \`/api\` out of the base URL: POST ${meant}.`;
  return `Unknown method and path. See ${API_PATH}/openapi.json for all operations.`;
}

/**
 * The management API: what the pages do, for programs. Requests and answers follow the zod schemas of the routes, and so
 * does its description, `/api/v1/openapi.json` (docs/management-api.md).
 */
export async function serveApi(app: FastifyInstance, deps: AppDeps & { inFlight: InFlight }): Promise<void> {
  await app.register(
    async (scope) => {
      prepareApiScope(scope);
      scope.setValidatorCompiler(validatorCompiler);
      scope.setSerializerCompiler(serializerCompiler);
      scope.setErrorHandler((error, request, reply) => answerApiError({ error, request, reply, log: deps.log }));
      scope.setNotFoundHandler(({ url }) => {
        throw new GatewayError("not_found", explainUnknown(url));
      });
      recognizeCallers(scope, deps);
      await scope.register(swagger, describeApi(deps.publicBaseUrl));
      await scope.register(rateLimit, {
        max: ACCOUNT_BOUNDS.apiRequestsAMinute,
        timeWindow: "1 minute",
        // Per account: more tokens do not allow more requests.
        keyGenerator: ({ caller, ip }) => caller?.accountId ?? clientNetwork(ip).address,
        errorResponseBuilder: (_request, { ttl }) =>
          new GatewayError(
            "rate_limited",
            `The tokens of an account can together send ${ACCOUNT_BOUNDS.apiRequestsAMinute} requests per minute. Try again in ${Math.ceil(ttl / 1000)} seconds.`,
          ),
      });
      const api = scope.withTypeProvider<ZodTypeProvider>();
      accountApi(api, deps);
      limitApi(api, deps);
      attributionApi(api, deps);
      budgetApi(api, deps);
      webhookApi(api, deps);
      singleWebhookApi(api, deps);
      traceDestinationApi(api, deps);
      projectApi(api, deps);
      providerKeyApi(api, deps);
      keyApi(api, deps);
      promptLogApi(api, deps);
      usageApi(api, deps);
      usageGroupsApi(api, deps);
      creditApi(api, deps);
      billingApi(api, deps);
      modelApi(api, deps);
      incidentApi(api, deps);
      serviceApi(api, deps);
      await scope.register(serveScim, { ...deps, prefix: SCIM_PATH.slice(API_PATH.length) });
      scope.get("/openapi.json", { schema: { hide: true }, config: { isOpen: true } }, async (_request, reply) =>
        reply.type("application/json; charset=utf-8").send(JSON.stringify(scope.swagger())),
      );
    },
    { prefix: API_PATH },
  );
}
