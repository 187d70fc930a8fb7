import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { anyPack, BoolValueSchema, durationFromMs, type Any } from "@bufbuild/protobuf/wkt";
import { RouteConfigurationSchema } from "../../runtime/gen/envoy/config/route/v3/route_pb.js";
import type { VirtualHostSchema } from "../../runtime/gen/envoy/config/route/v3/route_components_pb.js";
import { ExtProcPerRouteSchema } from "../../runtime/gen/envoy/extensions/filters/http/ext_proc/v3/ext_proc_pb.js";
import { PICKER_FILTERS, POOL_ROUTES } from "../bootstrap/listeners/pools.ts";
import { SENT_AGAIN } from "../bootstrap/routes/upstream.ts";
import type { EndpointPool } from "./endpoint.ts";
import { pickerCluster, podsCluster } from "./pool-clusters.ts";
import { poolHost } from "./pool-host.ts";

export { POOL_ROUTES };

/** Of the listener for pools: which picker to ask, and the pods it chooses from. */
export function poolRoutes(pools: readonly { name: string; pool: EndpointPool }[]): Any {
  const routes = create(RouteConfigurationSchema, { name: POOL_ROUTES, virtualHosts: pools.map(virtualHost) });
  return anyPack(RouteConfigurationSchema, routes);
}

function virtualHost({ name, pool }: { name: string; pool: EndpointPool }): MessageInitShape<typeof VirtualHostSchema> {
  const filter = pool.picker.failsOpen ? PICKER_FILTERS.failOpen : PICKER_FILTERS.failClose;
  return {
    name,
    domains: [poolHost(name)],
    typedPerFilterConfig: { [filter]: anyPack(ExtProcPerRouteSchema, asking(pickerCluster(name))) },
    routes: [
      {
        match: { pathSpecifier: { case: "prefix", value: "/" } },
        action: {
          case: "route",
          value: {
            clusterSpecifier: { case: "cluster", value: podsCluster(name) },
            hostRewriteSpecifier: { case: "autoHostRewrite", value: create(BoolValueSchema, { value: true }) },
            // The routes that lead here measure the time.
            timeout: durationFromMs(0),
            idleTimeout: durationFromMs(3_600_000),
            retryPolicy: { retryOn: SENT_AGAIN.retry_on, numRetries: SENT_AGAIN.num_retries },
          },
        },
      },
    ],
  };
}

function asking(clusterName: string) {
  return create(ExtProcPerRouteSchema, {
    override: {
      case: "overrides",
      value: {
        grpcService: {
          // Servers refuse the cluster's name as their host, because of its slashes.
          targetSpecifier: { case: "envoyGrpc", value: { clusterName, authority: "picker", skipEnvoyHeaders: true } },
          // It would bound the whole request.
          timeout: durationFromMs(0),
        },
      },
    },
  });
}
