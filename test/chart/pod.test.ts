import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import http from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { connect } from "node:tls";
import { promisify } from "node:util";
import { stringify } from "yaml";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { freePort, LOOPBACK } from "../../local/process/ports.ts";
import { buildSnapshot } from "../../operator/xds/snapshot.ts";
import { clientTlsSecret } from "../../operator/bootstrap/tls/client.ts";
import { eventually } from "../support/eventually.ts";
import { makeCertificates, type TlsCertificates } from "../support/servers/tls-certificates.ts";
import { loopbackEndpoint, startXdsStack, type XdsStack } from "../support/stacks/xds-stack.ts";
import { findPrograms } from "../support/test-run/programs.ts";

const run = promisify(execFile);
const WITHIN = { withinMs: 30_000 };

/** Runs the hook of the pod's container. */
async function hook(stack: XdsStack, words: string[], seconds: { least: number; most: number }) {
  const programs = await findPrograms();
  return run(process.execPath, [programs("extproc/drain-command/main.ts"), ...words], {
    env: {
      ENVOY_ADMIN_PORT: new URL(stack.envoy.adminUrl).port,
      ENVOY_DRAIN_MIN_SECONDS: String(seconds.least),
      ENVOY_DRAIN_SECONDS: String(seconds.most),
    },
    timeout: 60_000,
  });
}

describe("a pod's Envoy", () => {
  let stack: XdsStack;
  let status: string;
  const waiting: http.ServerResponse[] = [];
  const upstream = http.createServer((request, response) => {
    if (request.url === "/warm") response.end();
    else waiting.push(response);
  });

  beforeAll(async () => {
    const port = await freePort();
    status = `http://${LOOPBACK}:${port}`;
    stack = await startXdsStack({ status: { host: LOOPBACK, port } });
    upstream.listen(0, LOOPBACK);
    await once(upstream, "listening");
    const address = upstream.address();
    const upstreamPort = typeof address === "object" && address !== null ? address.port : 0;
    const clusters = new Map([["slow", loopbackEndpoint(upstreamPort)]]);
    stack.xds.push(buildSnapshot({ clusters, secrets: new Map() }));
    expect(await stack.xds.waitForAck(30_000)).toEqual({ kind: "acked", envoys: 1 });
    stack.scripts.set("slow", { kind: "route", cluster: "slow" });
    // A cluster warms for a moment after its ACK.
    await eventually(async () => {
      expect((await fetch(`${stack.url}/warm`, { headers: { "x-script": "slow" } })).status).toBe(200);
    }, WITHIN);
  });
  afterAll(async () => {
    upstream.closeAllConnections();
    upstream.close();
    await stack.stop();
  });

  /** A request that the upstream has, and does not answer yet. */
  async function slowRequest(): Promise<{ answer: Promise<Response>; upstreamResponse: http.ServerResponse }> {
    const known = waiting.length;
    const answer = fetch(`${stack.url}/v1/chat/completions`, { method: "POST", body: "{}", headers: { "x-script": "slow" } });
    const upstreamResponse = await eventually(() => {
      const newest = waiting[known];
      if (newest === undefined) throw new Error("the upstream has no request yet");
      return newest;
    }, WITHIN);
    return { answer, upstreamResponse };
  }
  const readiness = async () => (await fetch(`${status}/ready`)).status;

  test("answers probes and scrapers, but nobody who would stop it or read its configuration", async () => {
    expect(await readiness()).toBe(200);
    const stats = await fetch(`${status}/stats/prometheus`);
    expect(await stats.text()).toContain("# TYPE envoy_server_live gauge");
    for (const page of ["/", "/config_dump", "/quitquitquit", "/stats", "/ready/", "/certs"])
      expect((await fetch(status + page)).status, page).toBe(404);
    expect((await fetch(`${status}/ready`, { method: "POST" })).status).toBe(404);
  });

  test("fails its readiness probe as soon as it is to stop, finishes running requests, and only then exits", async () => {
    const { answer, upstreamResponse } = await slowRequest();
    let isDrained = false;
    const draining = hook(stack, [], { least: 0, most: 60 }).then((result) => {
      isDrained = true;
      return result;
    });
    await eventually(async () => expect(await readiness()).toBe(503), WITHIN);
    const late = await fetch(`${stack.url}/v1/models`);
    expect(late.headers.get("connection"), "whoever has not heard yet is served, and sent away").toBe("close");
    expect(isDrained).toBe(false);
    upstreamResponse.end("the answer");
    expect(await (await answer).text()).toBe("the answer");
    expect((await draining).stdout).toContain('"running":0');
  });

  test("becomes ready again when its processor is restarted", async () => {
    expect(await readiness()).toBe(503);
    await hook(stack, ["resume"], { least: 0, most: 1 });
    await eventually(async () => expect(await readiness()).toBe(200), WITHIN);
  });

  test("stops waiting at the deadline", async () => {
    const { answer, upstreamResponse } = await slowRequest();
    expect((await hook(stack, [], { least: 0, most: 1 })).stdout).toContain('"running":1');
    upstreamResponse.end();
    await answer;
    await hook(stack, ["resume"], { least: 0, most: 1 });
  });

  test("is not waited for if it is already gone", async () => {
    const port = await freePort();
    const programs = await findPrograms();
    const { stdout } = await run(process.execPath, [programs("extproc/drain-command/main.ts")], {
      env: { ENVOY_ADMIN_PORT: String(port), ENVOY_DRAIN_SECONDS: "60" },
    });
    expect(stdout).toContain("Envoy does not respond");
  });
});

describe("TLS to clients", () => {
  const NAME = "gateway.example";
  let directory: string;
  let stack: XdsStack;

  /** As kubelet does it: a folder of its own, which one link stands for. */
  async function mount({ certificate, key }: TlsCertificates): Promise<void> {
    const folder = await mkdtemp(path.join(directory, "..data-"));
    await writeFile(path.join(folder, "tls.crt"), certificate);
    await writeFile(path.join(folder, "tls.key"), key);
    await symlink(path.basename(folder), path.join(directory, "..data_tmp"));
    await rename(path.join(directory, "..data_tmp"), path.join(directory, "..data"));
  }

  beforeAll(async () => {
    const base = await mkdtemp(path.join(tmpdir(), "gateway-tls-mount-"));
    directory = path.join(base, "client-tls");
    await mkdir(directory);
    for (const name of ["tls.crt", "tls.key"]) await symlink(path.join("..data", name), path.join(directory, name));
    await mount(await makeCertificates(NAME));
    const clientTls = { certificateDirectory: directory, secretFile: path.join(base, "client-tls.yaml") };
    await writeFile(clientTls.secretFile, stringify(clientTlsSecret(clientTls)));
    stack = await startXdsStack({ clientTls });
  });
  afterAll(async () => {
    await stack.stop();
    await rm(path.dirname(directory), { recursive: true });
  });

  async function handshake(ca: string): Promise<string | false | null> {
    const socket = connect({
      host: LOOPBACK,
      port: Number(new URL(stack.url).port),
      servername: NAME,
      ca,
      ALPNProtocols: ["h2"],
    });
    try {
      await once(socket, "secureConnect");
      return socket.alpnProtocol;
    } finally {
      socket.destroy();
    }
  }

  test("starts using a renewed certificate while it runs", async () => {
    const renewed = await makeCertificates(NAME);
    await expect(handshake(renewed.ca)).rejects.toThrow(/certificate|issuer/);
    await mount(renewed);
    await eventually(async () => expect(await handshake(renewed.ca)).toBe("h2"), WITHIN);
  });

  test.for([
    ["/v1/chat/completions", { error: { type: "invalid_request_error", param: null, code: null } }],
    ["/v1/messages", { type: "error", error: { type: "invalid_request_error" }, request_id: expect.any(String) }],
    ["/v1/responses", { error: { type: "invalid_request_error", param: null, code: null } }],
  ] as const)(
    "plain HTTP to %s is a 400 with the remedy in the interface's format, and reaches no processor",
    async ([path, shape]) => {
      const before = stack.extproc.seen.length;
      const response = await fetch(`${stack.url}${path}`, {
        method: "POST",
        headers: { authorization: "Bearer sk-mg-secret" },
        body: "{}",
        redirect: "manual",
      });
      const text = await response.text();
      expect(response.status).toBe(400);
      expect(response.headers.get("content-type")).toBe("application/json");
      expect(response.headers.get("request-id")).toBe(response.headers.get("x-request-id"));
      expect(JSON.parse(text)).toMatchObject(shape);
      expect(text).toContain("Use `https://` in the base URL.");
      expect(text).not.toContain("sk-mg-secret");
      expect(stack.extproc.seen).toHaveLength(before);
    },
  );
});
