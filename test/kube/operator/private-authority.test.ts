import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import https from "node:https";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { useKubeApi } from "../../support/kube/use-kube-api.ts";
import { makeAuthority, withBadDate } from "../../support/servers/tls-certificates.ts";
import { installAccess } from "./install.ts";
import { apiKey, model } from "./resources.ts";
import { PATIENCE, startStage, type Stage } from "./stage.ts";

/** A company's authority, as the chart's `trustedCa` gives it to the operator, which gives it to Envoy. */
const api = useKubeApi();
let directory = "";
const servers: https.Server[] = [];
let stage: Stage;
let key = "";

const ANSWER = JSON.stringify({
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
});

/** A model server with a certificate of an authority of its own. */
async function startServer(): Promise<{ url: string; ca: string }> {
  const authority = await makeAuthority();
  const { ca, certificate, key: privateKey } = await authority.issue("model-server", { address: "127.0.0.1" });
  await authority.remove();
  const server = https.createServer({ cert: certificate, key: privateKey }, (request, response) => {
    request.resume().on("end", () => response.setHeader("content-type", "application/json").end(ANSWER));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  servers.push(server);
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("The model server has no port.");
  return { url: `https://127.0.0.1:${address.port}/v1`, ca };
}

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "gateway-roots-"));
  const [company, stranger] = [await startServer(), await startServer()];
  const bundle = path.join(directory, "ca.crt");
  // Neither of the first two may take the third away: Node.js cannot read the one, Envoy the other.
  const broken = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
  await writeFile(bundle, `${broken}${withBadDate(stranger.ca)}${company.ca}`);
  await installAccess(api());
  stage = await startStage({ api: api(), operatorEnvironment: { NODE_EXTRA_CA_CERTS: bundle } });
  await stage.team.apply(apiKey("client"), model("company", { url: company.url }), model("stranger", { url: stranger.url }));
  key = await eventually(async () => (await stage.team.value("client")) ?? "", PATIENCE);
});
afterAll(async () => {
  await stage?.stop();
  for (const server of servers) server.close();
  await rm(directory, { recursive: true, force: true });
});

test("a model server with a certificate of that authority is served, although its Model names no authority", async () => {
  await eventually(async () => expect((await stage.ask(key, "company")).status).toBe(200), PATIENCE);
});

test("one with any other certificate is still rejected", async () => {
  await eventually(
    async () => expect((await stage.team.conditions("model", "stranger"))["Programmed"]).toMatchObject({ status: "True" }),
    PATIENCE,
  );
  await eventually(async () => expect((await stage.ask(key, "stranger")).status).toBe(503), PATIENCE);
});
