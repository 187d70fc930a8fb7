import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { anyPack } from "@bufbuild/protobuf/wkt";
import { RBAC_Action, type PermissionSchema } from "../../runtime/gen/envoy/config/rbac/v3/rbac_pb.js";
import { RBACSchema } from "../../runtime/gen/envoy/extensions/filters/http/rbac/v3/rbac_pb.js";
import type { HttpFilterSchema } from "../../runtime/gen/envoy/extensions/filters/network/http_connection_manager/v3/http_connection_manager_pb.js";
import { UpstreamIpPortMatcherSchema } from "../../runtime/gen/envoy/extensions/rbac/matchers/upstream_ip_port/v3/upstream_ip_port_matcher_pb.js";
import { parseCidr } from "../../runtime/address/cidr.ts";
import type { AddressGuard } from "../address/policy.ts";

/**
 * Checks the address that this request is about to connect to. The operator has checked the name before; but Envoy resolves it
 * again, and a malicious name server may answer differently.
 */
export function upstreamGuard({ shut, open }: AddressGuard): MessageInitShape<typeof HttpFilterSchema> {
  const isShut = oneOf(shut);
  const permissions = open.length === 0 ? [isShut] : [allOf([isShut, not(oneOf(open))])];
  const config = create(RBACSchema, {
    rules: {
      action: RBAC_Action.DENY,
      policies: { "addresses of backends": { permissions, principals: [{ identifier: { case: "any", value: true } }] } },
    },
  });
  return {
    name: "envoy.filters.http.upstream_rbac",
    configType: { case: "typedConfig", value: anyPack(RBACSchema, config) },
  };
}

type Permission = MessageInitShape<typeof PermissionSchema>;

function oneOf(cidrs: readonly string[]): Permission {
  return { rule: { case: "orRules", value: { rules: cidrs.map(lies) } } };
}

function allOf(rules: Permission[]): Permission {
  return { rule: { case: "andRules", value: { rules } } };
}

function not(rule: Permission): Permission {
  return { rule: { case: "notRule", value: rule } };
}

function lies(cidr: string): Permission {
  const { address, prefix } = parseCidr(cidr);
  const matcher = create(UpstreamIpPortMatcherSchema, { upstreamIp: { addressPrefix: address, prefixLen: prefix } });
  return {
    rule: {
      case: "matcher",
      value: { name: "envoy.rbac.matchers.upstream_ip_port", typedConfig: anyPack(UpstreamIpPortMatcherSchema, matcher) },
    },
  };
}
