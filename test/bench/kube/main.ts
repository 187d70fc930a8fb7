import { readFile } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { parse } from "yaml";
import * as z from "zod";
import { createKubeClient, type KubeClient } from "../../../operator/kube/client.ts";
import { listPath, objectPath } from "../../../operator/kube/paths.ts";
import { apiKey, model } from "../../kube/operator/resources.ts";
import { installAccess, TEAM } from "../../kube/operator/install.ts";
import { startStage } from "../../kube/operator/stage.ts";
import { startKubeApi, type KubeApi } from "../../support/kube/api.ts";
import { markdownTable } from "../../support/documents/markdown-table.ts";
import { scrape } from "../../support/stacks/metrics.ts";

/** How long the operator takes for many Models and ApiKeys on this machine, and how much memory. */
const MODELS = 500;
const API_KEYS = 10_000;
const CHANGES = 100;
const AT_ONCE = 32;

const statusSchema = z.looseObject({
  metadata: z.looseObject({ generation: z.int() }),
  status: z
    .looseObject({
      observedGeneration: z.int().default(0),
      conditions: z.array(z.looseObject({ type: z.string(), status: z.string() })).default([]),
    })
    .prefault({}),
});
const listSchema = z.looseObject({
  metadata: z.looseObject({ continue: z.string().optional() }),
  items: z.array(statusSchema),
});

const kubeconfigSchema = z.object({ users: z.tuple([z.object({ user: z.object({ token: z.string() }) })]) });

const api = await startKubeApi();
try {
  await installAccess(api);
  const stage = await startStage({ api, isMeasured: true });
  try {
    await run(api, stage);
  } finally {
    await stage.stop();
  }
} finally {
  await api.stop();
}

async function run(api: KubeApi, stage: Awaited<ReturnType<typeof startStage>>): Promise<void> {
  const client = await connect(api);
  for (const operator of stage.operators) await operator.end("SIGTERM");
  const url = (host: string) => stage.upstreamUrl.replace("127.0.0.1", host);
  const models = Array.from({ length: MODELS }, (_, at) => model(`model-${at}`, { url: url("127.0.0.1") }));
  const keys = Array.from({ length: API_KEYS }, (_, at) => apiKey(`key-${at}`));
  console.log(`Making ${MODELS} Models and ${API_KEYS} ApiKeys …`);
  await each(models, (content) => create(client, "models", content));
  await each(keys, (content) => create(client, "apikeys", content));

  console.log("Starting the operator …");
  const startedMs = performance.now();
  const operator = await stage.startOperator("operator-1");
  stage.switchboard.lead(operator.xdsSocket);
  const readyMs = { models: 0, apikeys: 0 };
  while (readyMs.models === 0 || readyMs.apikeys === 0) {
    await sleep(1_000);
    for (const kind of ["models", "apikeys"] as const)
      if (readyMs[kind] === 0 && (await areAllReady(client, kind))) readyMs[kind] = performance.now() - startedMs;
  }

  const changesMs: number[] = [];
  for (let at = 0; at < CHANGES; at++) {
    const resource = { namespace: TEAM, name: `model-${at}` };
    const backends = [{ name: "primary", protocol: "ChatCompletions", url: url("localhost"), upstreamModel: "sim" }];
    const changedMs = performance.now();
    const path = objectPath("models", resource);
    await client.send({ method: "PATCH", path, body: { type: "merge", content: { spec: { backends } } } });
    while (!isReady(statusSchema.parse(await client.send({ method: "GET", path })))) await sleep(10);
    changesMs.push(performance.now() - changedMs);
  }
  changesMs.sort((first, second) => first - second);
  const [operatorBytes, extprocBytes] = await Promise.all([operator.adminUrl, stage.dataPlane.extprocAdminUrl].map(memoryOf));
  const seconds = (ms: number | undefined) => `${((ms ?? 0) / 1000).toFixed(1)} s`;
  const megabytes = (bytes: number | undefined) => `${Math.round((bytes ?? 0) / 1_000_000)} MB`;
  console.log(
    markdownTable(
      ["What", "Measured", "Goal"],
      [
        [`all ${MODELS} Models Ready after the operator's start`, seconds(readyMs.models), "120 s"],
        [`all ${API_KEYS} ApiKeys Ready after the operator's start`, seconds(readyMs.apikeys), "120 s"],
        ["memory of the operator", megabytes(operatorBytes), "300 MB"],
        ["memory of extproc", megabytes(extprocBytes), "300 MB"],
        ["one changed Model until Envoy has it and its status says so, median", seconds(changesMs[CHANGES / 2]), ""],
        ["the same, 99 of 100", seconds(changesMs[CHANGES - 2]), "2 s"],
      ],
    ),
  );
  client.close();
}

/** As the administrator. */
async function connect(api: KubeApi): Promise<KubeClient> {
  const { users } = kubeconfigSchema.parse(parse(await readFile(api.kubeconfig, "utf8")));
  const credentials = { ca: api.ca, headers: { authorization: `Bearer ${users[0].user.token}` } };
  const access = { server: new URL(api.url), authenticate: async () => credentials };
  return createKubeClient({ access, events: { kubeAnswered: () => undefined } });
}

async function create(client: KubeClient, kind: "models" | "apikeys", content: object): Promise<void> {
  await client.send({ method: "POST", path: listPath(kind, TEAM), body: { type: "json", content } });
}

async function each<Item>(items: readonly Item[], work: (item: Item) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += AT_ONCE) await Promise.all(items.slice(at, at + AT_ONCE).map(work));
}

async function areAllReady(client: KubeClient, kind: "models" | "apikeys"): Promise<boolean> {
  let token: string | undefined;
  do {
    const query: Record<string, string> = { limit: "500", ...(token === undefined ? {} : { continue: token }) };
    const page = listSchema.parse(await client.send({ method: "GET", path: listPath(kind, TEAM), query }));
    if (!page.items.every(isReady)) return false;
    token = page.metadata.continue === "" ? undefined : page.metadata.continue;
  } while (token !== undefined);
  return true;
}

function isReady({ metadata, status }: z.infer<typeof statusSchema>): boolean {
  const ready = status.conditions.find(({ type }) => type === "Ready");
  return ready?.status === "True" && status.observedGeneration === metadata.generation;
}

async function memoryOf(adminUrl: string): Promise<number> {
  return (await scrape(adminUrl)).get("process_resident_memory_bytes") ?? 0;
}
