import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { findPoolDefinitions } from "../../support/pools/definitions.ts";
import { startFakePicker, type FakePicker } from "../../support/pools/picker.ts";
import { untilEstablished } from "../../support/kube/crds.ts";
import { useKubeApi } from "../../support/kube/use-kube-api.ts";
import { eventually } from "../../support/eventually.ts";
import { makeCompletion } from "../../support/servers/completions.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { applyAccess, installAccess, TEAM } from "./install.ts";
import { applyModelServer, inferencePool, pickerService, type PodState } from "./pool-resources.ts";
import { apiKey, model } from "./resources.ts";
import { PATIENCE, startStage, type Stage } from "./stage.ts";

/**
 * A Model whose backend is an InferencePool, in a real Kubernetes API with the extension's own definition (S57). The tests build on
 * one another, as a cluster does.
 */
const api = useKubeApi();
const PICKER_HOST = "127.8.0.77";
let stage: Stage;
let key = "";
let pods: RecordingUpstream[] = [];
let picker: FakePicker;

beforeAll(async () => {
  await installAccess(api());
  stage = await startStage({ api: api() });
  pods = [await startPod(), await startPod()];
  picker = await startFakePicker({ kind: "pods", pods: "" }, { host: PICKER_HOST });
  await stage.team.apply(apiKey("client"));
  key = await until(async () => (await stage.team.value("client")) ?? "");
});
afterEach(({ task }) => {
  if (task.result?.state === "fail") console.log(stage.operators.map(({ log }) => log().slice(-4_000)).join("\n"));
});
afterAll(async () => {
  await stage?.stop();
  picker?.stop();
  for (const pod of pods) await pod.stop();
});

const until = <T>(work: () => Promise<T>) => eventually(work, PATIENCE);

async function startPod(): Promise<RecordingUpstream> {
  return await startRecordingUpstream((request, response) => {
    if (request.url !== "/v1/chat/completions") return void response.writeHead(404).end();
    response.writeHead(200, { "content-type": "application/json" }).end(makeCompletion());
  });
}

/** Each is of this machine, so each has a port of its own: the pool has both ports, and one leads to nothing on each address. */
const port = (at: number) => pods[at]?.port ?? 0;

const pool = (spec: object = {}) => inferencePool({ targetPorts: [{ number: port(0) }], pickerPort: picker.port, ...spec });
const service = () => pickerService({ host: PICKER_HOST, port: picker.port });
const applyPod = (name: string, state: PodState = {}) => applyModelServer(api(), name, state);

const pooled = (spec: object = {}) =>
  model("pooled", {
    spec: {
      backends: [
        { name: "gpus", protocol: "ChatCompletions", pool: { name: "gpus", pickerTls: "Disabled" }, upstreamModel: "sim" },
      ],
      ...spec,
    },
    url: "",
  });

async function expectCondition(type: string, expected: object): Promise<void> {
  await until(async () => expect((await stage.team.conditions("model", "pooled"))[type]).toMatchObject(expected));
}

const ask = () => stage.ask(key, "pooled");

test("without the right to read pools, the Model says so, and the others are served (S57)", async () => {
  await stage.team.apply(pooled(), model("plain", { url: stage.upstreamUrl }));
  const message = expect.stringContaining("operator.backends.inferencePools.enabled");
  await expectCondition("ResolvedRefs", { status: "False", reason: "PoolForbidden", message });
  await until(async () => expect((await stage.ask(key, "plain")).status).toBe(200));
  expect((await ask()).status).toBe(404);
});

test("in a cluster without the extension, the Model says so (S57)", async () => {
  await applyAccess(api(), [TEAM], { operator: { backends: { inferencePools: { enabled: true } } } });
  const message = "backend gpus: InferencePool team-a/gpus cannot exist: the cluster has no Gateway API Inference Extension";
  await expectCondition("ResolvedRefs", { status: "False", reason: "PoolNotFound", message });
  await until(async () => expect((await stage.ask(key, "plain")).status).toBe(200));
});

test("a pool is served once it, its picker's Service and a ready pod exist, each missing one by its name (S57)", async () => {
  await api().kubectl(["apply", "--server-side", "--filename", await findPoolDefinitions()]);
  await untilEstablished(api());
  await expectCondition("ResolvedRefs", {
    reason: "PoolNotFound",
    message: "backend gpus: InferencePool team-a/gpus does not exist",
  });

  await until(() => stage.team.apply(pool()));
  const words = "backend gpus: InferencePool team-a/gpus has an endpoint picker, Service epp, that does not exist";
  await expectCondition("ResolvedRefs", { reason: "PoolNotFound", message: words });

  await stage.team.apply(service());
  const empty = "backend gpus: pool: InferencePool gpus selects no pod that is ready";
  await expectCondition("Reachable", { status: "False", reason: "NoReadyPods", message: empty });
  await applyPod("vllm-0", { isReady: false });
  await until(async () => expect((await ask()).status).toBe(503));

  picker.pick = { kind: "pods", pods: `127.0.0.1:${port(0)}` };
  await applyPod("vllm-0");
  await until(async () => expect((await ask()).status).toBe(200));
  await expectCondition("Ready", { status: "True" });
  expect(picker.asked.at(-1)).toMatchObject({ path: "/v1/chat/completions", served: `127.0.0.1:${port(0)}` });
  expect(JSON.stringify(picker.asked.at(-1)?.headers)).not.toContain(key);
});

test("a changed pool is followed, with its ports and its pods (S57)", async () => {
  await stage.team.apply(pool({ targetPorts: [{ number: port(1) }] }));
  picker.pick = { kind: "pods", pods: `127.0.0.1:${port(1)}` };
  await until(async () => {
    expect((await ask()).status).toBe(200);
    expect(pods[1]?.requests.length).toBeGreaterThan(0);
  });
  await stage.team.apply(pool({ targetPorts: [{ number: port(0) }] }));
  await until(async () => {
    const before = pods[0]?.requests.length ?? 0;
    expect((await ask()).status).toBe(200);
    expect(pods[0]?.requests.length).toBeGreaterThan(before);
  });
  picker.pick = { kind: "pods", pods: `127.0.0.1:${port(0)}` };
});

test("what the picker refuses is the gateway's error in the caller's format, and costs nothing", async () => {
  picker.pick = { kind: "refuse", status: 429 };
  const { status, body } = await ask();
  expect(status).toBe(429);
  expect(JSON.parse(body)).toMatchObject({ error: { message: expect.any(String), type: expect.any(String) } });
  expect(body).not.toContain("10.1.2.3");
  const response = await fetch(`${stage.dataPlane.baseUrl}/v1/messages`, {
    method: "POST",
    headers: { "x-api-key": key, "content-type": "application/json", "anthropic-version": "2023-06-01" },
    body: JSON.stringify({ model: "pooled", max_tokens: 16, messages: [{ role: "user", content: "Hello." }] }),
  });
  expect(response.status).toBe(429);
  expect(await response.json()).toMatchObject({ type: "error", error: { type: "rate_limit_error" } });
});

test("a pool that cannot serve a request leaves it to the Model's next backend (S57)", async () => {
  const gpus = { name: "gpus", protocol: "ChatCompletions", pool: { name: "gpus", pickerTls: "Disabled" }, upstreamModel: "sim" };
  const hosted = { name: "hosted", protocol: "ChatCompletions", url: stage.upstreamUrl, upstreamModel: "sim", priority: 1 };
  await stage.team.apply(pooled({ backends: [gpus, hosted] }));
  for (const status of [429, 503]) {
    picker.pick = { kind: "refuse", status };
    await until(async () => expect((await ask()).status).toBe(200));
  }
  picker.pick = { kind: "pods", pods: `127.0.0.1:${port(0)}` };
  await until(async () => {
    const before = pods[0]?.requests.length ?? 0;
    expect((await ask()).status).toBe(200);
    expect(pods[0]?.requests.length).toBeGreaterThan(before);
  });
  await applyPod("vllm-0", { isReady: false });
  await until(async () => {
    const before = pods[0]?.requests.length ?? 0;
    expect((await ask()).status).toBe(200);
    expect(pods[0]?.requests.length).toBe(before);
  });
  await expectCondition("Reachable", { status: "False", reason: "NoReadyPods" });
  await expectCondition("Ready", { status: "True" });
  await applyPod("vllm-0");
});

test("a pod at an address that is not allowed takes the pool out of service (docs/security.md)", async () => {
  await applyPod("vllm-1", { address: "169.254.169.254" });
  const message = expect.stringContaining("backend gpus: pool: pod 169.254.169.254 is a link-local address");
  await expectCondition("Accepted", { status: "False", reason: "AddressNotAllowed", message });
  await api().kubectl(["delete", "pod", "vllm-1", "--namespace", TEAM, "--force", "--grace-period", "0"]);
  await expectCondition("Accepted", { status: "True" });
});

test("a pool that vanishes is no longer served, and other Models are not affected (S57)", async () => {
  await stage.team.apply(pooled());
  await until(async () => expect((await ask()).status).toBe(200));
  await api().kubectl(["delete", "inferencepools.inference.networking.k8s.io", "gpus", "--namespace", TEAM]);
  await expectCondition("ResolvedRefs", { status: "False", reason: "PoolNotFound" });
  await until(async () => expect((await ask()).status).toBe(404));
  expect((await stage.ask(key, "plain")).status).toBe(200);
});
