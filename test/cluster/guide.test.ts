import { stat } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { ROOT } from "../../charts/generate/outputs.ts";
import { guideSteps } from "../chart/harness-guide.ts";
import { NODE_ADDRESS } from "../support/cluster/addresses.ts";
import { useCluster } from "../support/cluster/use-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { createDatabase, MODEL, rolledOut, SIMULATOR_URL } from "./release.ts";
import { createShell } from "./shell.ts";
import { readAvailable, streamChat, streamMessages } from "./streams.ts";

const cluster = useCluster();
const NAMESPACE = "gateway-system";
const NAME = "gateway-model-gateway";
const WITHIN = { withinMs: 60_000, everyMs: 250 };

const kubectl = (words: readonly string[]) => cluster().kubectl(["--namespace", NAMESPACE, ...words]);

test("the guide's commands lead from nothing to pods that answer paid requests", async () => {
  const variables = { DATABASE_URL: await createDatabase(cluster(), "guide"), PROVIDER_KEY: "provider-key" };
  const { directory, run: shell } = await createShell(cluster(), { variables });
  const [prepare = "", install = "", backUp = "", model = "", account = "", request = ""] = await guideSteps();
  await shell(prepare);
  expect(await shell(install)).toContain("Base URL: https://gateway.example\n");
  await shell(backUp);
  expect((await stat(path.join(directory, "pepper-backup.yaml"))).mode & 0o777).toBe(0o600);
  // The model server that stands for the reader's own.
  await shell(model.replace("https://provider.example/v1", SIMULATOR_URL));
  await rolledOut(kubectl, NAME);
  expect(await shell(account)).toContain("Granted 20.000000000 USD.\n");
  await eventually(() => cluster().kubectl(["get", "secret", "my-key", "--namespace", "team-a"]), WITHIN);
  const address = await kubectl(["get", "service", NAME, "--output", "jsonpath={.spec.clusterIP}"]);
  const answers = await eventually(() => shell(`export GATEWAY_URL=http://${address}\n${request}`), WITHIN);
  expect(answers).toContain('"object":"chat.completion"');
  expect(answers).toContain('"object":"balance"');
});

test("chat and messages are streamed and charged through the Service's address and through a node's port", async () => {
  const encoded = await cluster().kubectl([
    "get",
    "secret",
    "my-key",
    "--namespace",
    "team-a",
    "--output=jsonpath={.data.api-key}",
  ]);
  const key = Buffer.from(encoded, "base64").toString();
  const service = (output: string) => kubectl(["get", "service", NAME, "--output", `jsonpath={${output}}`]);
  await kubectl(["patch", "service", NAME, "--patch", '{"spec":{"type":"NodePort"}}']);
  const port = Number(await service(".spec.ports[0].nodePort"));
  const urls = [await cluster().forward(await service(".spec.clusterIP"), 80), await cluster().forward(NODE_ADDRESS, port)];
  for (const url of urls) {
    await eventually(() => readAvailable(url, key), WITHIN);
    for (const stream of [streamChat, streamMessages]) {
      const before = await readAvailable(url, key);
      const answer = await stream({ url, key, model: MODEL, prompt: "Say hello. [[sim tokens=20]]" });
      expect(answer).toMatchObject({ status: 200, isWhole: true });
      await eventually(async () => expect(await readAvailable(url, key)).toBeLessThan(before), WITHIN);
    }
  }
});

test("helm test passes, even with a key in the namespace of its Secret", async () => {
  expect(await cluster().helm(["test", "gateway", "--namespace", NAMESPACE])).toContain("Succeeded");
  const chart = path.join(ROOT, "charts/model-gateway");
  const settings = ["--reset-then-reuse-values", "--set", "test.keySecret=my-key", "--set", "test.namespace=team-a"];
  await cluster().helm(["upgrade", "gateway", chart, "--namespace", NAMESPACE, ...settings]);
  expect(await cluster().helm(["test", "gateway", "--namespace", NAMESPACE])).toContain("Succeeded");
});
