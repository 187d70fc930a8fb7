import { mkdtemp, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Client, credentials, status, type ChannelCredentials } from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createOperatorEvents } from "../../../operator/events.ts";
import { startXdsServer, type XdsServer } from "../../../operator/xds/serve.ts";
import { buildSnapshot } from "../../../operator/xds/snapshot.ts";
import { DiscoveryRequestSchema, DiscoveryResponseSchema } from "../../../runtime/gen/envoy/service/discovery/v3/discovery_pb.js";
import { mutualTlsCredentials } from "../../../runtime/grpc-tls.ts";
import { createLog } from "../../../runtime/log.ts";
import { startTlsFiles, type TlsFiles } from "../../../runtime/tls-files.ts";
import { Registry } from "prom-client";
import { mountSecret } from "../../support/stacks/mounted-secret.ts";
import { makeAuthority, type Authority, type TlsCertificates } from "../../support/servers/tls-certificates.ts";

/** The operator's discovery port as the chart configures it: TCP, and certificates of two authorities. */
const LOOPBACK = "127.0.0.1";
const METHOD = "/envoy.service.discovery.v3.AggregatedDiscoveryService/StreamAggregatedResources";
const SECRETS = "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret";
const NAME = "credential/model/team/backend";
const CREDENTIAL = "Bearer a-credential-of-a-provider";

let directory: string;
let clients: Authority;
let servers: Authority;
let gateway: TlsCertificates;
let files: TlsFiles;
let xds: XdsServer;
beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "gateway-discovery-strangers-"));
  [clients, servers] = await Promise.all([makeAuthority(), makeAuthority()]);
  const own = await servers.issue("localhost", { address: LOOPBACK, usage: "serverAuth" });
  gateway = await clients.issue("gateway", { usage: "clientAuth" });
  await mountSecret(directory, { "ca.crt": gateway.ca, "tls.crt": own.certificate, "tls.key": own.key });
  files = await startTlsFiles({ directory, onFailure: () => undefined, onRenewed: () => undefined });
  const log = createLog({ process: "operator", level: "info" }, { write: () => undefined });
  const events = createOperatorEvents({ log, metrics: new Registry() });
  xds = await startXdsServer({ host: LOOPBACK, port: 0, credentials: mutualTlsCredentials(files) }, { events });
  const secrets = new Map([[NAME, { kind: "credential", headerValue: CREDENTIAL } as const]]);
  xds.push(buildSnapshot({ clusters: new Map(), secrets }));
});
afterAll(async () => {
  await xds?.stop();
  await files?.stop();
  await clients?.remove();
  await servers?.remove();
  await rm(directory, { recursive: true });
});

/** Requests the credential as Envoy does. @returns the text of all messages that came, and how the stream ended. */
async function request(by: ChannelCredentials): Promise<{ received: string; code: number }> {
  const client = new Client(`localhost:${xds.port}`, by);
  const call = client.makeBidiStreamRequest(
    METHOD,
    (message: Uint8Array) => Buffer.from(message),
    (message) => message,
    { deadline: Date.now() + 10_000 },
  );
  const { promise, resolve } = Promise.withResolvers<number>();
  let received = "";
  call.on("error", () => undefined);
  call.on("status", ({ code }) => resolve(code));
  call.on("data", (message: Buffer) => {
    received += message.toString("latin1");
    expect(fromBinary(DiscoveryResponseSchema, message).typeUrl).toBe(SECRETS);
    call.end();
  });
  call.write(
    toBinary(
      DiscoveryRequestSchema,
      create(DiscoveryRequestSchema, {
        node: { id: "stranger", cluster: "model-gateway" },
        typeUrl: SECRETS,
        resourceNames: [NAME],
      }),
    ),
  );
  const code = await promise;
  client.close();
  return { received, code };
}

const WITHOUT_CHECKS = { rejectUnauthorized: false, checkServerIdentity: () => undefined };
const withCertificate = ({ certificate, key }: TlsCertificates) =>
  credentials.createSsl(null, Buffer.from(key), Buffer.from(certificate), WITHOUT_CHECKS);

test("a gateway's certificate gets the providers' credentials", async () => {
  const answer = await request(withCertificate(gateway));
  expect(answer.received).toContain(CREDENTIAL);
});

test("nothing comes back to clients without a certificate, with a wrong one, or without TLS", async () => {
  const stranger = await makeAuthority();
  const strangers: Record<string, ChannelCredentials> = {
    "no certificate": credentials.createSsl(null, null, null, WITHOUT_CHECKS),
    "another authority's": withCertificate(await stranger.issue("gateway", { usage: "clientAuth" })),
    "the authority's of the servers, as the dashboard's": withCertificate(
      await servers.issue("dashboard", { usage: "serverAuth" }),
    ),
    "a server's of the right authority": withCertificate(await clients.issue("gateway", { usage: "serverAuth" })),
    "no TLS": credentials.createInsecure(),
  };
  await stranger.remove();
  for (const [name, by] of Object.entries(strangers))
    expect(await request(by), name).toEqual({ received: "", code: expect.toSatisfy((code) => code !== status.OK) });
  expect(xds.connected).toBe(0);
});

test.for([
  ["HTTP/1.1", "GET / HTTP/1.1\r\nhost: operator\r\n\r\n"],
  ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u0004\0\0\0\0\0"],
] as const)("plain %s gets no byte of HTTP, and the connection ends", async ([, bytes]) => {
  const socket = connect(xds.port, LOOPBACK);
  const received: Buffer[] = [];
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  socket.on("error", () => undefined);
  socket.on("data", (piece) => received.push(piece));
  socket.on("close", () => resolve());
  socket.write(bytes, "latin1");
  await closed;
  // At most an alert of TLS (RFC 8446), which has type 21 and seven bytes.
  const all = Buffer.concat(received);
  expect([0, 7]).toContain(all.length);
  expect([undefined, 21]).toContain(all[0]);
});
