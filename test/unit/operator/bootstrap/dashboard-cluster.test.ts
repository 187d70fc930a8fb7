import fastify from "fastify";
import { expect, test } from "vitest";
import * as z from "zod";
import { KEEP_ALIVE_MS } from "../../../../dashboard/http/mutual-tls.ts";
import { dashboardCluster } from "../../../../operator/bootstrap/routes/dashboard.ts";

const OPTIONS = "envoy.extensions.upstreams.http.v3.HttpProtocolOptions";
const schema = z.object({
  typed_extension_protocol_options: z.object({
    [OPTIONS]: z.object({ common_http_protocol_options: z.object({ idle_timeout: z.string().regex(/^\d+s$/) }) }),
  }),
});

/** A form that meets the end of its connection would be lost: Envoy may not send it again. */
test("Envoy closes an idle connection to the dashboard before the dashboard does", () => {
  const cluster = schema.parse(dashboardCluster({ host: "dashboard", port: 8090 }));
  const idleMs =
    Number.parseInt(cluster.typed_extension_protocol_options[OPTIONS].common_http_protocol_options.idle_timeout) * 1000;
  expect(idleMs).toBeLessThan(KEEP_ALIVE_MS);
  expect(idleMs).toBeLessThan(fastify().server.keepAliveTimeout);
});
