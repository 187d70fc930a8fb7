import { afterAll, beforeAll, expect, test } from "vitest";
import { freePort } from "../../../local/process/ports.ts";
import { createAddressPolicy, type AddressPolicyOptions } from "../../../operator/address/policy.ts";
import { clustersOf } from "../../../operator/xds/endpoint.ts";
import { buildSnapshot } from "../../../operator/xds/snapshot.ts";
import { eventually } from "../../support/eventually.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { startTokenEndpoint, type TokenEndpoint } from "../../support/servers/token-endpoint.ts";
import { loopbackEndpoint, startXdsStack, type XdsStack } from "../../support/stacks/xds-stack.ts";

/** A name that led elsewhere when the operator asked leads to this machine when Envoy does: `localhost` stands for it. */
let stack: XdsStack;
let inside: RecordingUpstream;
beforeAll(async () => {
  inside = await startRecordingUpstream();
  stack = await startXdsStack({ earlyAnswers: { host: "127.0.0.1", port: await freePort() } });
});
afterAll(async () => {
  await stack?.stop();
  await inside?.stop();
});

const CREDENTIAL = "credential/default/provider/api-key/bearer";
const KEY = "a-provider's-key";

/** @returns the first answer that is not about a cluster that is still warming. */
async function requestUnder(name: string, options: Partial<AddressPolicyOptions>, path = "/v1/chat/completions") {
  const policy = createAddressPolicy({ allowPrivate: false, allowCidrs: [], allowNamespaces: [], ...options });
  const cluster = `model/modelx/${name}/00000001`;
  const endpoint = loopbackEndpoint(inside.port, {
    host: "localhost",
    guard: policy.guardFor("models.example"),
    credential: { header: "authorization", secret: CREDENTIAL },
  });
  const secrets = new Map([[CREDENTIAL, { kind: "credential", headerValue: `Bearer ${KEY}` }] as const]);
  stack.xds.push(buildSnapshot({ clusters: new Map([[cluster, endpoint]]), secrets }));
  expect(await stack.xds.waitForAck(5_000)).toEqual({ kind: "acked", envoys: 1 });
  stack.scripts.set(name, { kind: "route", cluster });
  return await eventually(async () => {
    const headers = { "x-script": name };
    const response = await fetch(stack.url + path, { method: "POST", body: "{}", headers });
    const answer = { status: response.status, body: await response.text() };
    expect(answer.body).not.toContain("cannot accept this request right now");
    return answer;
  });
}

const MESSAGE = expect.stringContaining("The model server cannot be reached");

test.for([
  {
    path: "/v1/chat/completions",
    shape: { error: { message: MESSAGE, type: "server_error", param: null, code: "upstream_unavailable" } },
  },
  {
    path: "/v1/messages",
    shape: { type: "error", error: { type: "overloaded_error", message: MESSAGE }, request_id: expect.any(String) },
  },
])(
  "a request never reaches a private address that a name resolves to in Envoy, nor does the credential (S17, S22): $path",
  async ({ path, shape }) => {
    for (const [name, options] of Object.entries({
      default: {},
      private: { allowPrivate: true },
      elsewhere: { allowCidrs: ["10.0.0.0/8", "127.0.0.2/32"] },
    })) {
      const { status, body } = await requestUnder(name, options, path);
      expect(status, body).toBe(503);
      expect(JSON.parse(body)).toEqual(shape);
      const [last] = (await stack.envoy.accessLog()).slice(-1);
      expect(last?.["details"]).toContain("rbac_access_denied_matched_policy");
    }
    expect(inside.requests).toEqual([]);
  },
);

test("it reaches an address that the administrator allowed", async () => {
  const { status } = await requestUnder("allowed", { allowCidrs: ["127.0.0.0/8", "::1/128"] });
  expect(status).toBe(200);
  expect(inside.requests.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${KEY}`]);
});

const CLIENT_SECRET = "100%+more/secret&=";

/** A Model of this name with a server that takes tokens, which Envoy fetches from there. */
async function fetchTokensUnder(name: string, issuer: TokenEndpoint, options: Partial<AddressPolicyOptions>): Promise<void> {
  const policy = createAddressPolicy({ allowPrivate: false, allowCidrs: [], allowNamespaces: [], ...options });
  const cluster = `model/${name}/first/00000002`;
  const guard = policy.guardFor("login.example");
  const server = loopbackEndpoint(Number(new URL(issuer.url).port), { host: "localhost", guard });
  const secret = `client-secret/default/${name}/client-secret`;
  const oauth = { tokenUrl: "http://login.example/oauth2/token", server, clientId: name, secret, scopes: [] };
  const endpoint = loopbackEndpoint(inside.port, { credential: { oauth } });
  const secrets = new Map([[secret, { kind: "credential", headerValue: CLIENT_SECRET }] as const]);
  stack.xds.push(buildSnapshot({ clusters: new Map(clustersOf(cluster, endpoint)), secrets }));
  expect(await stack.xds.waitForAck(5_000)).toEqual({ kind: "acked", envoys: 1 });
}

test("Envoy asks no private address for a token, nor sends it the client's secret (S22, S49)", async () => {
  const issuer = await startTokenEndpoint(() => 3_600_000);
  issuer.clients.set("open:model/x", CLIENT_SECRET);
  await fetchTokensUnder("shut", issuer, {});
  const refusedTwice = /^http\.early_answers\.downstream_rq_4xx: [2-9]/m;
  await eventually(async () => expect(await stack.envoy.admin("/stats")).toMatch(refusedTwice));
  expect(issuer.requests).toEqual([]);

  await fetchTokensUnder("open:model/x", issuer, { allowCidrs: ["127.0.0.0/8", "::1/128"] });
  await eventually(() => expect(issuer.requests).toMatchObject([{ client_id: "open:model/x", client_secret: CLIENT_SECRET }]));
  await issuer.stop();
});
