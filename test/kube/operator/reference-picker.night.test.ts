import { readFile } from "node:fs/promises";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { freePort } from "../../../local/process/ports.ts";
import { makeCompletion, makeCompletionStream } from "../../support/servers/completions.ts";
import { eventually } from "../../support/eventually.ts";
import { untilEstablished } from "../../support/kube/crds.ts";
import { useKubeApi } from "../../support/kube/use-kube-api.ts";
import { findPoolDefinitions } from "../../support/pools/definitions.ts";
import { findReferencePicker, startReferencePicker, type ReferencePicker } from "../../support/pools/reference-picker.ts";
import { startRecordingUpstream, type RecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { applyAccess, installAccess, TEAM } from "./install.ts";
import { applyModelServer, inferencePool, pickerService } from "./pool-resources.ts";
import { apiKey, model } from "./resources.ts";
import { PATIENCE, startStage, type Stage } from "./stage.ts";

/** The Gateway API Inference Extension's own endpoint picker chooses the pods, with the settings that it comes with (S57). */
const api = useKubeApi();
const PICKER_HOST = "127.8.0.78";
const HOSTS = ["127.0.0.1", "127.0.0.2"] as const;
let stage: Stage;
let key = "";
let podPort = 0;
let pods: RecordingUpstream[] = [];
let picker: ReferencePicker;
/** Requests that each pod says wait for it. */
const waiting = [0, 0];

beforeAll(async () => {
  const program = await findReferencePicker({ environment: process.env, onProgress: (line) => console.log(line) });
  await installAccess(api());
  await applyAccess(api(), [TEAM], { operator: { backends: { inferencePools: { enabled: true } } } });
  await api().kubectl(["apply", "--server-side", "--filename", await findPoolDefinitions()]);
  await untilEstablished(api());
  stage = await startStage({ api: api() });
  podPort = await freePort();
  pods = [await startPod(0), await startPod(1)];
  for (const [at, address] of HOSTS.entries()) await applyModelServer(api(), `vllm-${at}`, { address });
  // Before the pool, which names the picker's port.
  const addresses = HOSTS.map((host) => ({ host, port: podPort }));
  picker = await startReferencePicker(api(), { program, namespace: TEAM, pool: "gpus", host: PICKER_HOST, pods: addresses });
  await stage.team.apply(
    inferencePool({ targetPorts: [{ number: podPort }], pickerPort: picker.port }),
    pickerService({ host: PICKER_HOST, port: picker.port }),
    model("pooled", { spec: { backends: [{ name: "gpus", protocol: "ChatCompletions", pool: { name: "gpus" } }] }, url: "" }),
    apiKey("client"),
  );
  key = await eventually(async () => {
    const value = await stage.team.value("client");
    if (value === undefined) throw new Error("The key has no value yet.");
    return value;
  }, PATIENCE);
});
afterEach(async ({ task }) => {
  if (task.result?.state !== "fail") return;
  console.log([await readFile(picker.logFile, "utf8"), ...stage.operators.map(({ log }) => log())].map(tail).join("\n"));
});
afterAll(async () => {
  await stage?.stop();
  await picker?.stop();
  for (const pod of pods) await pod.stop();
});

const tail = (text: string) => text.slice(-4_000);

/** As much of vLLM as the picker looks at. */
async function startPod(at: number): Promise<RecordingUpstream> {
  return await startRecordingUpstream(
    (request, response, body) => {
      if (request.url === "/metrics")
        return void response
          .writeHead(200, { "content-type": "text/plain; version=0.0.4" })
          .end(`vllm:num_requests_waiting ${waiting[at]}\nvllm:num_requests_running 1\nvllm:kv_cache_usage_perc 0.5\n`);
      if (request.url !== "/v1/chat/completions") return void response.writeHead(404).end();
      const [type, answer] = body.includes('"stream":true')
        ? (["text/event-stream", makeCompletionStream()] as const)
        : (["application/json", makeCompletion()] as const);
      response.writeHead(200, { "content-type": type }).end(answer);
    },
    { host: HOSTS[at], port: podPort },
  );
}

const answered = () => pods.map(({ requests }) => requests.filter(({ path }) => path === "/v1/chat/completions").length);

/** Another text each time: the picker prefers a pod that has a prompt's beginning in its cache. */
function ask(text: string, { streams = false } = {}): Promise<Response> {
  return fetch(`${stage.dataPlane.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({
      model: "pooled",
      messages: [{ role: "user", content: text }],
      max_tokens: 16,
      ...(streams ? { stream: true } : {}),
    }),
  });
}

/** Until the picker has read the pods' metrics. */
async function untilServedBy(at: number, streams = false): Promise<void> {
  let asked = 0;
  await eventually(async () => {
    const before = answered();
    for (let times = 0; times < 4; times++) {
      const response = await ask(`${crypto.randomUUID()} ${(asked += 1)}`, { streams });
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("one two three")]);
    }
    expect(answered().map((count, pod) => count - (before[pod] ?? 0))).toEqual(at === 0 ? [4, 0] : [0, 4]);
  }, PATIENCE);
}

test.for([
  [0, false],
  [1, true],
  [0, true],
  [1, false],
] as const)("pod %i is asked while the other one has a queue, streamed: %s (S57)", async ([at, streams]) => {
  waiting[at] = 0;
  waiting[1 - at] = 100;
  await untilServedBy(at, streams);
});

test("a prompt of a megabyte passes the picker whole (S57)", async () => {
  const response = await ask("word ".repeat(200_000));
  expect([response.status, await response.text()]).toEqual([200, expect.stringContaining("one two three")]);
  expect(Math.max(...pods.flatMap(({ requests }) => requests.map(({ bodyBytes }) => bodyBytes)))).toBeGreaterThan(1_000_000);
});

test("many requests at once are all answered (S57)", async () => {
  waiting.fill(0);
  const statuses = await Promise.all(
    Array.from({ length: 50 }, async (_, at) => {
      const response = await ask(`Question ${at}`, { streams: at % 2 === 0 });
      return [response.status, (await response.text()).includes("one two three")];
    }),
  );
  expect(statuses).toEqual(Array.from({ length: 50 }, () => [200, true]));
});

test("when the picker finds no pod and when it is gone, requests are refused in the caller's format (S57)", async () => {
  for (const at of HOSTS.keys()) await applyModelServer(api(), `vllm-${at}`, { address: HOSTS[at] ?? "", isReady: false });
  await untilRefused();
  for (const at of HOSTS.keys()) await applyModelServer(api(), `vllm-${at}`, { address: HOSTS[at] ?? "" });
  await eventually(async () => expect((await ask("Are you back?")).status).toBe(200), PATIENCE);
  await picker.stop();
  await untilRefused();
});

async function untilRefused(): Promise<void> {
  await eventually(async () => {
    const response = await ask("Is anybody there?");
    expect([response.status, await response.json()]).toMatchObject([503, { error: { message: expect.any(String) } }]);
  }, PATIENCE);
}
