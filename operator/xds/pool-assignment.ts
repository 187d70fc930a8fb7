import { create } from "@bufbuild/protobuf";
import { anyPack, type Any } from "@bufbuild/protobuf/wkt";
import { isIP } from "node:net";
import { ClusterLoadAssignmentSchema } from "../../runtime/gen/envoy/config/endpoint/v3/endpoint_pb.js";
import type { ServerAddress } from "../address/google.ts";
import type { EndpointPool } from "./endpoint.ts";
import { podsCluster } from "./pool-clusters.ts";

/** The ready pods, apart from their cluster: they come and go without a cut for the requests of the others. */
export function poolAssignment({ name, pool }: { name: string; pool: EndpointPool }): [cluster: string, assignment: Any] {
  const clusterName = podsCluster(name);
  const lbEndpoints = pool.members.map((member) => ({
    hostIdentifier: {
      case: "endpoint" as const,
      value: {
        hostname: hostOf(member),
        address: {
          address: {
            case: "socketAddress" as const,
            value: { address: member.host, portSpecifier: { case: "portValue" as const, value: member.port } },
          },
        },
      },
    },
  }));
  return [
    clusterName,
    anyPack(ClusterLoadAssignmentSchema, create(ClusterLoadAssignmentSchema, { clusterName, endpoints: [{ lbEndpoints }] })),
  ];
}

function hostOf({ host, port }: ServerAddress): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}
