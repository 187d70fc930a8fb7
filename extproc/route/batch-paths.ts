import { GatewayError } from "../../contract/errors.ts";

/**
 * Endpoints for files and batches, with their methods. They are the dashboard's: of the requests to them, Envoy sends only OPTIONS
 * here (operator/bootstrap/routes/dashboard.ts).
 */
const METHODS: readonly (readonly [path: RegExp, methods: readonly string[]])[] = [
  [/^\/v1\/(files|batches|messages\/batches)$/, ["GET", "POST"]],
  [/^\/v1\/(files|messages\/batches)\/[^/]+$/, ["DELETE", "GET"]],
  [/^\/v1\/batches\/[^/]+$/, ["GET"]],
  [/^\/v1\/files\/[^/]+\/content$/, ["GET"]],
  [/^\/v1\/messages\/batches\/[^/]+\/results$/, ["GET"]],
  [/^\/v1\/(messages\/)?batches\/[^/]+\/cancel$/, ["POST"]],
];

/** What OPTIONS gets there, as from all other endpoints; undefined for other paths. */
export function refuseOptions(path: string): GatewayError | undefined {
  const methods = METHODS.find(([pattern]) => pattern.test(path))?.[1];
  if (methods === undefined) return undefined;
  const allow = methods.flatMap((method) => (method === "GET" ? ["GET", "HEAD"] : [method])).join(", ");
  return new GatewayError(
    "method_not_allowed",
    `This path accepts ${methods.join(" and ")}, on a gateway with a dashboard, but not OPTIONS.`,
    { headers: { allow } },
  );
}
