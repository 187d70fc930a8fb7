import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { connect, type ConnectionOptions } from "node:tls";
import fastify, { type FastifyInstance } from "fastify";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mutualTlsServer } from "../../../dashboard/http/mutual-tls.ts";
import { internalTlsSecrets } from "../../../operator/bootstrap/tls/internal.ts";
import { mutualTlsCredentials } from "../../../runtime/grpc-tls.ts";
import { startTlsFiles, type TlsFiles } from "../../../runtime/tls-files.ts";
import { eventually } from "../../support/eventually.ts";
import { mountSecret } from "../../support/stacks/mounted-secret.ts";
import { makeAuthority, type Authority, type TlsCertificates } from "../../support/servers/tls-certificates.ts";
import { startXdsStack, type XdsStack } from "../../support/stacks/xds-stack.ts";

const LOOPBACK = "127.0.0.1";

/** Envoy, the operator's port and the dashboard's, each with a certificate of the gateway's own authority. */
let directory: string;
let authority: Authority;
let files: { operator: TlsFiles; dashboard: TlsFiles };
let dashboard: FastifyInstance;
let stack: XdsStack;
const failures: unknown[] = [];

const mount = (part: string, { ca, certificate, key }: TlsCertificates) =>
  mountSecret(path.join(directory, part), { "ca.crt": ca, "tls.crt": certificate, "tls.key": key });

async function mountAll(by: Authority): Promise<void> {
  await mount("gateway", await by.issue("gateway", { usage: "clientAuth" }));
  for (const part of ["operator", "dashboard"])
    await mount(part, await by.issue("localhost", { address: LOOPBACK, usage: "serverAuth" }));
}

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "gateway-internal-tls-"));
  authority = await makeAuthority();
  await mountAll(authority);
  const start = (part: string) =>
    startTlsFiles({
      directory: path.join(directory, part),
      everyMs: 50,
      onFailure: (error) => failures.push(error),
      onRenewed: () => {},
    });
  files = { operator: await start("operator"), dashboard: await start("dashboard") };
  dashboard = fastify({ serverFactory: mutualTlsServer(files.dashboard), forceCloseConnections: true });
  dashboard.get("/dashboard", () => "a page");
  await dashboard.listen({ host: LOOPBACK, port: 0 });

  const [certificateFile, authorityFile] = ["certificate.json", "authority.json"].map((name) => path.join(directory, name));
  const internalTls = {
    certificateFile: certificateFile ?? "",
    authorityFile: authorityFile ?? "",
    directory: path.join(directory, "gateway"),
  };
  const secrets = internalTlsSecrets(internalTls);
  await writeFile(internalTls.certificateFile, JSON.stringify(secrets.certificate));
  await writeFile(internalTls.authorityFile, JSON.stringify(secrets.authority));
  stack = await startXdsStack({
    internalTls,
    dashboard: { host: LOOPBACK, port: portOf(dashboard.server) },
    xdsCredentials: () => mutualTlsCredentials(files.operator),
  });
});
afterAll(async () => {
  await stack?.stop();
  await dashboard?.close();
  await files?.operator.stop();
  await files?.dashboard.stop();
  await authority?.remove();
  await rm(directory, { recursive: true });
});

function portOf(server: Server): number {
  const address: AddressInfo | string | null = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

/** What a client gets that connects and speaks: "taken", or that it was refused. */
async function attempt(port: number, options: ConnectionOptions): Promise<"taken" | "refused"> {
  const socket = connect({ host: LOOPBACK, port, servername: "localhost", rejectUnauthorized: false, ...options });
  const { promise, resolve } = Promise.withResolvers<"taken" | "refused">();
  // TLS 1.3: a server looks at the certificate after the client has its handshake; only what comes back tells.
  socket.once("secureConnect", () => {
    const isHttp2 = socket.alpnProtocol === "h2";
    socket.write(
      isHttp2 ? "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0" : "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n",
    );
  });
  socket.once("data", () => resolve("taken"));
  socket.once("error", () => resolve("refused"));
  socket.once("close", () => resolve("refused"));
  try {
    return await promise;
  } finally {
    socket.destroy();
  }
}

const ports = () => ({
  operator: { port: stack.xds.port, alpn: "h2" },
  dashboard: { port: portOf(dashboard.server), alpn: "http/1.1" },
});
const asClient = ({ certificate, key }: TlsCertificates) => ({ cert: certificate, key });
const page = async () => {
  const response = await fetch(`${stack.url}/dashboard`);
  return { status: response.status, body: await response.text() };
};

async function expectConnected(): Promise<void> {
  await eventually(() => expect(stack.xds.connected).toBe(1), { withinMs: 30_000 });
  await eventually(async () => expect(await page()).toEqual({ status: 200, body: "a page" }), { withinMs: 30_000 });
}

test("Envoy gets its configuration, and pages, over TLS", async () => {
  await expectConnected();
  expect(await stack.envoy.admin("/ready")).toContain("LIVE");
});

test("other clients are refused: without a certificate, with another authority's, or with one for servers", async () => {
  const stranger = await makeAuthority();
  const foreign = asClient(await stranger.issue("gateway", { usage: "clientAuth" }));
  const server = asClient(await authority.issue("localhost", { address: LOOPBACK, usage: "serverAuth" }));
  const own = asClient(await authority.issue("gateway", { usage: "clientAuth" }));
  await stranger.remove();
  for (const { port, alpn } of Object.values(ports())) {
    const options = { ALPNProtocols: [alpn] };
    expect(await attempt(port, options)).toBe("refused");
    expect(await attempt(port, { ...options, ...foreign })).toBe("refused");
    expect(await attempt(port, { ...options, ...server })).toBe("refused");
    expect(await attempt(port, { ...options, ...own })).toBe("taken");
  }
  await expect(fetch(`http://${LOOPBACK}:${ports().dashboard.port}/`)).rejects.toThrow("fetch failed");
});

test("Envoy does not trust an operator of another authority", async () => {
  const stranger = await makeAuthority();
  await mount("stranger", await stranger.issue("localhost", { address: LOOPBACK, usage: "serverAuth" }));
  await stranger.remove();
  const strangeFiles = await startTlsFiles({
    directory: path.join(directory, "stranger"),
    onFailure: () => {},
    onRenewed: () => {},
  });
  const own = files.operator;
  files.operator = strangeFiles;
  await stack.restartXds();
  const failed = async () => {
    const stats = await stack.envoy.admin("/stats?filter=^cluster.xds.ssl.fail_verify");
    return [...stats.matchAll(/: (\d+)$/gm)].reduce((sum, [, count]) => sum + Number(count), 0);
  };
  await eventually(async () => expect(await failed()).toBeGreaterThan(0), { withinMs: 30_000 });
  expect(stack.xds.connected).toBe(0);
  files.operator = own;
  await strangeFiles.stop();
  await stack.restartXds();
  await expectConnected();
});

test("mismatched files change nothing, and are reported", async () => {
  const [first, second] = [
    await authority.issue("localhost", { address: LOOPBACK }),
    await authority.issue("localhost", { address: LOOPBACK }),
  ];
  const before = files.operator.current();
  await mount("operator", { ...first, key: second.key });
  await eventually(() => expect(String(failures.at(-1))).toContain("must contain ca.crt, tls.crt and the matching tls.key"));
  expect(files.operator.current()).toBe(before);
  await mount("operator", await authority.issue("localhost", { address: LOOPBACK, usage: "serverAuth" }));
  await eventually(() => expect(files.operator.current()).not.toBe(before));
});

test("all of them start using a new authority with new certificates while they run", async () => {
  const next = await makeAuthority();
  const [old, renewed] = [
    asClient(await authority.issue("gateway", { usage: "clientAuth" })),
    asClient(await next.issue("gateway", { usage: "clientAuth" })),
  ];
  await mountAll(next);
  await next.remove();
  for (const { port, alpn } of Object.values(ports())) {
    await eventually(async () => expect(await attempt(port, { ALPNProtocols: [alpn], ...renewed })).toBe("taken"));
    expect(await attempt(port, { ALPNProtocols: [alpn], ...old })).toBe("refused");
  }
  // Envoy has to come anew, with what it was given meanwhile.
  await stack.restartXds();
  dashboard.server.closeAllConnections();
  await expectConnected();
});

test("a server does not start without its files, and reports which are missing", async () => {
  const nothing = startTlsFiles({ directory: path.join(directory, "nowhere"), onFailure: () => {}, onRenewed: () => {} });
  await expect(nothing).rejects.toThrow("must contain ca.crt, tls.crt and the matching tls.key, in PEM");
});
