import type { FastifyInstance } from "fastify";

/**
 * For routes that programs call: without sessions, and with JSON alone as a body, because no form of another site can send it. A
 * scope may add a parser for more.
 */
export function prepareApiScope(scope: FastifyInstance): void {
  scope.addHook("onRoute", (route) => {
    route.config = { ...route.config, isApi: true };
  });
  scope.removeContentTypeParser(["text/plain", "application/x-www-form-urlencoded"]);
  const parseJson = scope.getDefaultJsonParser("error", "error");
  scope.removeContentTypeParser("application/json");
  // Many clients send the content type with every request: an empty body counts as no body.
  scope.addContentTypeParser("application/json", { parseAs: "string" }, (request, body, done) => {
    if (body === "") done(null, undefined);
    else void parseJson(request, String(body), done);
  });
}
