import { createSecureServer } from "node:http2";
import { createSecureContext, type SecureContext } from "node:tls";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Endpoint } from "../../../operator/xds/endpoint.ts";
import type { SecretContent } from "../../../operator/xds/secret.ts";
import { buildSnapshot } from "../../../operator/xds/snapshot.ts";
import { eventually } from "../../support/eventually.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { makeCertificates, withLongLength } from "../../support/servers/tls-certificates.ts";
import { loopbackEndpoint, startXdsStack, type XdsStack } from "../../support/stacks/xds-stack.ts";

/** The operator's ADS server and a real Envoy. */
let stack: XdsStack;
let upstream: RecordingUpstream;
beforeAll(async () => {
  upstream = await startRecordingUpstream();
  stack = await startXdsStack();
});
afterAll(async () => {
  await stack?.stop();
  await upstream?.stop();
});

function snapshot(clusters: Record<string, Endpoint>, secrets: Record<string, SecretContent> = {}) {
  return buildSnapshot({ clusters: new Map(Object.entries(clusters)), secrets: new Map(Object.entries(secrets)) });
}

/** Pushes and waits for Envoy's word. */
async function push(...content: Parameters<typeof snapshot>) {
  stack.xds.push(snapshot(...content));
  return await stack.xds.waitForAck(5_000);
}

/** One request by way of a cluster; a cluster warms for a moment after its ACK. */
async function requestTo(cluster: string): Promise<Response> {
  stack.scripts.set(cluster, { kind: "route", cluster });
  return await eventually(async () => {
    const response = await fetch(`${stack.url}/v1/chat/completions`, {
      method: "POST",
      body: "{}",
      headers: { "x-script": cluster, authorization: "Bearer the-client's", "x-api-key": "the-client's" },
    });
    if (response.status === 503) throw new Error(await response.text());
    return response;
  });
}

function lastHeaders() {
  return upstream.requests.at(-1)?.headers ?? {};
}

describe("a push of configuration", () => {
  test("a cluster is acknowledged and serves", async () => {
    expect(await push({ "model/m/a/1": loopbackEndpoint(upstream.port) })).toEqual({ kind: "acked", envoys: 1 });
    expect((await requestTo("model/m/a/1")).status).toBe(200);
  });

  test("Envoy's rejection quotes the rejected resource without its secrets", async () => {
    const keys = { id: "AKIAZk3v9QmT7wLr2YbN", secret: "secret/k3v9QmT7+wLr2YbN", session: 'token"of\\a session' };
    const aws = { region: "eu-central-1", service: "", keys: "signer/broken" };
    const broken = loopbackEndpoint(upstream.port, { credential: { aws } });
    const outcome = await push(
      { "model/m/a/1": loopbackEndpoint(upstream.port), "model/broken/b/3": broken },
      { "signer/broken": { kind: "signer", signer: { region: "eu-central-1", service: "", host: "models.example.com", keys } } },
    );
    expect(outcome).toEqual({ kind: "rejected", message: expect.stringContaining(keys.id) });
    for (const secret of [keys.secret, "of\\", "a session"]) {
      expect(JSON.stringify(outcome)).not.toContain(secret);
      expect(stack.logLines.join("")).not.toContain(secret);
    }
  });

  test("Envoy's rejection is reported in its own words, with the cluster's name; the valid cluster next to it serves", async () => {
    const outcome = await push({
      "model/m/a/1": loopbackEndpoint(upstream.port),
      "model/broken/b/2": loopbackEndpoint(upstream.port, { host: "" }),
    });
    expect(outcome).toEqual({ kind: "rejected", message: expect.stringContaining("model/broken/b/2") });
    expect(stack.logLines.join("")).toContain("Envoy envoy-under-test rejected a configuration");
    expect((await requestTo("model/m/a/1")).status).toBe(200);
    expect(await push({ "model/m/a/1": loopbackEndpoint(upstream.port) })).toEqual({ kind: "acked", envoys: 1 });
  });

  test("a restarted operator gets its Envoy back; requests continue meanwhile", async () => {
    const clusters = { "model/m/a/1": loopbackEndpoint(upstream.port) };
    await push(clusters);
    await stack.restartXds();
    expect(stack.xds.connected).toBe(0);
    expect((await requestTo("model/m/a/1")).status).toBe(200);
    await eventually(() => expect(stack.xds.connected).toBe(1), { withinMs: 20_000 });
    expect(await push({ ...clusters, "model/m/new/3": loopbackEndpoint(upstream.port) })).toEqual({ kind: "acked", envoys: 1 });
    expect((await requestTo("model/m/new/3")).status).toBe(200);
  });

  test("a running answer outlives the removal of its cluster", async () => {
    const slow = await startRecordingUpstream((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write('{"half":');
      setTimeout(() => response.end("1}"), 1_500);
    });
    await push({ "model/m/slow/4": loopbackEndpoint(slow.port) });
    const answer = requestTo("model/m/slow/4").then((response) => response.json());
    await eventually(() => expect(slow.requests).toHaveLength(1));
    expect(await push({})).toEqual({ kind: "acked", envoys: 1 });
    await eventually(async () => expect(await stack.envoy.admin("/clusters")).not.toContain("model/m/slow/4"));
    expect(await answer).toEqual({ half: 1 });
    await slow.stop();
  });
});

describe("credentials", () => {
  const bearer = (value: string): Record<string, SecretContent> => ({
    "credential/chat": { kind: "credential", headerValue: `Bearer ${value}` },
  });
  const chat = (): Record<string, Endpoint> => ({
    "model/m/chat/5": loopbackEndpoint(upstream.port, { credential: { header: "authorization", secret: "credential/chat" } }),
  });

  test("a chat upstream gets ours as a bearer token, and nothing of the client's", async () => {
    expect(await push(chat(), bearer("ours"))).toEqual({ kind: "acked", envoys: 1 });
    await requestTo("model/m/chat/5");
    expect(lastHeaders()).toMatchObject({ authorization: "Bearer ours" });
    expect(JSON.stringify(lastHeaders())).not.toContain("the-client's");
  });

  test("a messages upstream gets ours as x-api-key, and nothing of the client's", async () => {
    const credential = { header: "x-api-key", secret: "credential/messages" } as const;
    await push(
      { "model/m/messages/6": loopbackEndpoint(upstream.port, { credential }) },
      { "credential/messages": { kind: "credential", headerValue: "ours" } },
    );
    await requestTo("model/m/messages/6");
    expect(lastHeaders()).toMatchObject({ "x-api-key": "ours" });
    expect(lastHeaders().authorization).toBeUndefined();
  });

  test("an upstream without a credential gets none, least of all the client's", async () => {
    await push({ "model/m/open/7": loopbackEndpoint(upstream.port) });
    await requestTo("model/m/open/7");
    expect(JSON.stringify(lastHeaders())).not.toContain("the-client's");
  });

  test("a rotated credential is used immediately, on the same cluster", async () => {
    await push(chat(), bearer("before"));
    await requestTo("model/m/chat/5");
    expect(lastHeaders().authorization).toBe("Bearer before");
    expect(await push(chat(), bearer("after"))).toEqual({ kind: "acked", envoys: 1 });
    await eventually(async () => {
      await requestTo("model/m/chat/5");
      expect(lastHeaders().authorization).toBe("Bearer after");
    });
  });

  test("keys that sign requests stay in an Envoy that has them, and without them a server gets no request", async () => {
    const server = await startRecordingUpstream();
    const endpoint = (keys: string) =>
      loopbackEndpoint(server.port, { credential: { aws: { region: "eu-central-1", service: "bedrock", keys } } });
    const clusters = { "model/m/signed/8": endpoint("signer/known"), "model/m/unsigned/9": endpoint("signer/never-had") };
    const keys = { id: "AKIDEXAMPLE", secret: "signing-key", session: null };
    const signer = { region: "eu-central-1", service: "bedrock", host: "models.example.com", keys };
    stack.xds.push(snapshot(clusters, { "signer/known": { kind: "signer", signer } }));
    expect((await requestTo("model/m/signed/8")).status).toBe(200);
    // A restarted operator that cannot read the Secret sends the servers alone.
    stack.xds.push(snapshot(clusters));
    expect((await requestTo("model/m/signed/8")).status).toBe(200);
    stack.scripts.set("never-had", { kind: "route", cluster: "model/m/unsigned/9" });
    const body = { method: "POST", body: "{}", headers: { "x-script": "never-had", authorization: "Bearer the-client's" } };
    expect((await fetch(`${stack.url}/v1/chat/completions`, body)).status).toBe(503);
    // Envoy waits for them before it uses a new cluster, but not forever.
    await eventually(async () => expect(await stack.envoy.admin("/clusters")).toContain("model/m/unsigned/9"), {
      withinMs: 30_000,
    });
    const refused = await fetch(`${stack.url}/v1/chat/completions`, body);
    expect(refused.status).toBe(503);
    expect(await refused.json()).toMatchObject({ error: { code: "upstream_unavailable" } });
    expect(server.requests).toHaveLength(2);
    for (const { headers } of server.requests) expect(headers.authorization).toContain("Credential=AKIDEXAMPLE/");
    await server.stop();
  });

  test("certificates that Envoy cannot read are named in its rejection, and cost no other server its credential", async () => {
    const { ca } = await makeCertificates("models.example.com");
    const tls = (rootsSecret: string) =>
      loopbackEndpoint(upstream.port, { tls: { serverName: "models.example.com", rootsSecret } });
    const clusters = { ...chat(), "model/m/bad/10": tls("roots/bad"), "model/m/good/11": tls("roots/good") };
    const secrets = {
      ...bearer("beside"),
      "roots/bad": { kind: "roots", pem: withLongLength(ca) },
      "roots/good": { kind: "roots", pem: ca },
    } as const;
    expect(await push(clusters, secrets)).toEqual({
      kind: "rejected",
      message: expect.stringMatching(/^roots\/bad: Failed to load trusted CA certificates [^,]*$/),
    });
    await requestTo("model/m/chat/5");
    expect(lastHeaders().authorization).toBe("Bearer beside");
    const { "model/m/bad/10": _cluster, ...otherClusters } = clusters;
    const { "roots/bad": _roots, ...otherSecrets } = secrets;
    expect(await push(otherClusters, otherSecrets)).toEqual({ kind: "acked", envoys: 1 });
  });

  test("no admin page and no log line shows one", async () => {
    await push(chat(), bearer("very-secret-value"));
    await requestTo("model/m/chat/5");
    const dump = await stack.envoy.admin("/config_dump?include_eds");
    expect(dump).toContain("credential/chat");
    expect(dump).not.toContain("very-secret-value");
    expect(stack.logLines.join("")).not.toContain("very-secret-value");
  });
});

describe("TLS to an upstream", () => {
  test("it is reached over HTTP/2 only under the name in its certificate", async () => {
    const { ca, certificate, key } = await makeCertificates("models.example.com");
    const asked: string[] = [];
    const served: string[] = [];
    const SNICallback = (name: string, done: (error: null, context: SecureContext) => void) => {
      asked.push(name);
      done(null, createSecureContext({ cert: certificate, key }));
    };
    const server = createSecureServer({ cert: certificate, key, allowHTTP1: true, SNICallback }, (request, response) => {
      served.push(request.httpVersion);
      response.end("{}");
    });
    const { promise: listening, resolve } = Promise.withResolvers<void>();
    server.listen(0, "127.0.0.1", resolve);
    await listening;
    const address = server.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const tls = (serverName: string) => loopbackEndpoint(port, { tls: { serverName, rootsSecret: "roots/test" } });

    expect(
      await push(
        { "model/m/tls/8": tls("models.example.com"), "model/m/tls/9": tls("other.example.com") },
        { "roots/test": { kind: "roots", pem: ca } },
      ),
    ).toEqual({ kind: "acked", envoys: 1 });
    expect((await requestTo("model/m/tls/8")).status).toBe(200);
    expect(asked).toEqual(["models.example.com"]);
    expect(served).toEqual(["2.0"]);

    stack.scripts.set("misnamed", { kind: "route", cluster: "model/m/tls/9" });
    const refused = await fetch(stack.url, { method: "POST", body: "{}", headers: { "x-script": "misnamed" } });
    expect(refused.status).toBe(503);
    expect(asked).toContain("other.example.com");
    expect(served).toHaveLength(1);
    server.close();
  });
});

test("an Envoy is not ready until it has received its configuration from the operator", async () => {
  const early = await startXdsStack({ isReadyExpected: false });
  await eventually(async () => expect(await early.envoy.admin("/ready")).toContain("INITIALIZING"), { withinMs: 10_000 });
  await sleep(300);
  expect(await early.envoy.admin("/ready")).toContain("INITIALIZING");
  early.xds.push(snapshot({}));
  await eventually(async () => expect(await early.envoy.admin("/ready")).toContain("LIVE"), { withinMs: 10_000 });
  await early.stop();
});
