import fastify from "fastify";
import { expect, test } from "vitest";
import { forgetPorts } from "../../../dashboard/http/client-address.ts";
import { clientAddress, isTrustedHop, trustedProxies, type TrustedProxies } from "../../../runtime/trusted-proxies.ts";

/** The client's address, as a page has it that Envoy was asked for with this header; the last entry is who came to Envoy. */
async function clientOf(forwarded: string, trusted: Partial<TrustedProxies> = {}): Promise<string> {
  const app = fastify({ trustProxy: isTrustedHop({ hops: 0, networks: [], ...trusted }) });
  app.addHook("onRequest", forgetPorts);
  app.get("/", async ({ ip }) => ip);
  const { body } = await app.inject({ url: "/", headers: { "x-forwarded-for": forwarded } });
  await app.close();
  return body;
}

test("without proxies the client is the peer that connected to Envoy, whatever it claims", async () => {
  expect(await clientOf("203.0.113.9, 192.0.2.1")).toBe("192.0.2.1");
});

test("behind a number of proxies the client is the peer that connected to the first of them", async () => {
  expect(await clientOf("203.0.113.9, 192.0.2.1", { hops: 1 })).toBe("203.0.113.9");
  expect(await clientOf("1.1.1.1, 203.0.113.9, 10.0.0.2, 10.0.0.1", { hops: 2 })).toBe("203.0.113.9");
});

test.for([
  ["1.1.1.1, 203.0.113.9, 10.0.0.2, 10.0.0.1", "203.0.113.9"],
  ["10.0.0.7, 203.0.113.9", "203.0.113.9"],
  ["1.1.1.1, 2001:db8::9, fd00::2", "2001:db8::9"],
  ["1.1.1.1, 203.0.113.9, ::ffff:10.0.0.1", "203.0.113.9"],
  ["1.1.1.1, nonsense, 10.0.0.1", "nonsense"],
  // As proxies write it that append ports.
  ["1.1.1.1:80, 203.0.113.9:51234, 10.0.0.2:443, 10.0.0.1", "203.0.113.9"],
  ["1.1.1.1, [2001:db8::9]:51234, [fd00::3], fd00::2", "2001:db8::9"],
  ["1.1.1.1, 2001:db8::9:443, fd00::2", "2001:db8::9:443"],
] as const)("of %s the first from the right outside the trusted networks is the client: %s", async ([forwarded, client]) => {
  expect(await clientOf(forwarded, { networks: ["10.0.0.0/8", "fd00::/8"] })).toBe(client);
});

test("hops and networks together are rejected", () => {
  expect(() => trustedProxies({ TRUSTED_PROXY_HOPS: 1, TRUSTED_PROXY_NETWORKS: ["10.0.0.0/8"] })).toThrow("cannot be combined");
});

test.for([
  ["203.0.113.9, 192.0.2.1", {}],
  ["203.0.113.9,192.0.2.1", { hops: 1 }],
  ["203.0.113.9", { hops: 2 }],
  ["1.1.1.1, 203.0.113.9, 10.0.0.2, 10.0.0.1", { hops: 2 }],
  ["1.1.1.1, 203.0.113.9, 10.0.0.2, 10.0.0.1", { networks: ["10.0.0.0/8"] }],
  ["10.0.0.7, 10.0.0.1", { networks: ["10.0.0.0/8"] }],
  ["1.1.1.1, nonsense, 10.0.0.1", { networks: ["10.0.0.0/8"] }],
  ["1.1.1.1, 203.0.113.9, ::ffff:10.0.0.1", { networks: ["10.0.0.0/8"] }],
  ["203.0.113.9:51234, 192.0.2.1", { hops: 1 }],
  ["1.1.1.1:80, [2001:db8::9]:51234, [fd00::2]:443, fd00::1", { networks: ["fd00::/8"] }],
] as const)("a model request from %s behind %o has the same client as a page", async ([forwarded, trusted]) => {
  const isTrusted = isTrustedHop({ hops: 0, networks: [], ...trusted });
  expect(clientAddress(forwarded, isTrusted)).toBe(await clientOf(forwarded, trusted));
});

test("a request without addresses has none", () => {
  expect(clientAddress("", isTrustedHop({ hops: 0, networks: [] }))).toBe("");
});
