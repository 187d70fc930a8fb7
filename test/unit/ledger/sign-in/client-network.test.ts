import { expect, test } from "vitest";
import { clientNetwork } from "../../../../ledger/sign-in/client-network.ts";

test.for([
  ["192.0.2.17", "192.0.2.17", "192.0.2.0/24"],
  ["::ffff:192.0.2.17", "192.0.2.17", "192.0.2.0/24"],
  ["2001:db8:1:2:aaaa:bbbb:cccc:dddd", "2001:db8:1:2::/64", "2001:db8:1::/48"],
  ["2001:DB8:1:2::1", "2001:db8:1:2::/64", "2001:db8:1::/48"],
  ["2001:db8::1", "2001:db8:0:0::/64", "2001:db8:0::/48"],
  ["::1", "0:0:0:0::/64", "0:0:0::/48"],
  ["fe80::1%eth0", "fe80:0:0:0::/64", "fe80:0:0::/48"],
  ["unknown", "unknown", "unknown"],
] as const)("%s counts as %s, in the network %s", ([address, one, network]) => {
  expect(clientNetwork(address)).toEqual({ address: one, network });
});
