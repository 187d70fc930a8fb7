import { expect, test } from "vitest";
import { pickTrustedProxies } from "../../../local/trusted-proxies.ts";

test.for([
  [{}, {}],
  [{ TRUSTED_PROXY_HOPS: "", TRUSTED_PROXY_NETWORKS: "", PATH: "/bin" }, {}],
  [{ TRUSTED_PROXY_HOPS: "1" }, { TRUSTED_PROXY_HOPS: "1" }],
  [{ TRUSTED_PROXY_NETWORKS: "10.0.0.0/8,fd00::/8" }, { TRUSTED_PROXY_NETWORKS: "10.0.0.0/8,fd00::/8" }],
  [{ TRUSTED_PROXY_NETWORKS: "10.0.0.9/32, fd00:0::/16" }, { TRUSTED_PROXY_NETWORKS: "10.0.0.9/32, fd00:0::/16" }],
] as const)("of %j, the processes get %j", ([environment, variables]) => {
  expect(pickTrustedProxies(environment)).toEqual(variables);
});

test.for([
  [{ TRUSTED_PROXY_HOPS: "one" }, "Invalid environment: TRUSTED_PROXY_HOPS"],
  [{ TRUSTED_PROXY_NETWORKS: "10.0.0.1" }, "must be networks such as 10.0.0.0/8"],
  [{ TRUSTED_PROXY_NETWORKS: "fd00::/8,10.1.2.3/8" }, "each from its first address"],
  [{ TRUSTED_PROXY_NETWORKS: "fd00::1/8" }, "each from its first address"],
  [{ TRUSTED_PROXY_HOPS: "1", TRUSTED_PROXY_NETWORKS: "10.0.0.0/8" }, "cannot be combined"],
] as const)("%j stops the start with a sentence", ([environment, words]) => {
  expect(() => pickTrustedProxies(environment)).toThrow(words);
});
