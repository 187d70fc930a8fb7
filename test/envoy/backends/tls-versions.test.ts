import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import type { SecureVersion, TLSSocket } from "node:tls";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeBackendManifests } from "../../support/stacks/backend-manifests.ts";
import { makeCompletion } from "../../support/servers/completions.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";
import { makeAuthority, type Authority } from "../../support/servers/tls-certificates.ts";

/** Model servers that accept one version of TLS alone. */
const VERSIONS = ["TLSv1.2", "TLSv1.3"] as const satisfies readonly SecureVersion[];
const servers: Server[] = [];
let used: string | null = null;
let authority: Authority;
let manifests: Awaited<ReturnType<typeof makeBackendManifests>>;
let stack: TestProduct;

beforeAll(async () => {
  authority = await makeAuthority();
  const { ca, certificate, key } = await authority.issue("model-server", { address: "127.0.0.1", usage: "serverAuth" });
  const ports = await Promise.all(VERSIONS.map((version) => listen({ cert: certificate, key, version })));
  manifests = await makeBackendManifests(
    VERSIONS.map((version, index) => ({
      name: version.toLowerCase(),
      backends: [{ name: "only", protocol: "chat", url: `https://127.0.0.1:${ports[index]}`, ca }],
    })),
  );
  stack = await borrowStack({ manifestsDirectory: manifests.directory });
});
afterAll(async () => {
  await stack?.stop();
  for (const server of servers) server.close();
  await manifests?.remove();
  await authority?.remove();
});

async function listen({ version, ...secrets }: { cert: string; key: string; version: SecureVersion }): Promise<number> {
  const server = createServer({ ...secrets, minVersion: version, maxVersion: version }, (request, response) => {
    request.resume().on("end", () => response.setHeader("content-type", "application/json").end(makeCompletion()));
  });
  server.on("secureConnection", (socket: TLSSocket) => void (used = socket.getProtocol()));
  servers.push(server);
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address: AddressInfo | string | null = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the model server has no port");
  return address.port;
}

test.for(VERSIONS)("a model server that accepts %s alone is used", async (version) => {
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({ model: version.toLowerCase(), max_tokens: 100, messages: [{ role: "user", content: "Hello" }] }),
  });
  expect(await response.json()).toMatchObject({ choices: [{ message: { content: "one two three" } }] });
  expect(response.status).toBe(200);
  expect(used).toBe(version);
});
