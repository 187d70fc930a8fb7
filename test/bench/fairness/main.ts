import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Command } from "commander";
import { stringify } from "yaml";
import { createApiKey } from "../../../ledger/keys/keys.ts";
import { startTestStack } from "../../support/stacks/stack.ts";
import { benchModel } from "../gateways/bench-stack.ts";
import { drive, type Driven } from "../load/drive.ts";
import { startFlood, type Flooded, type FloodRequest } from "../load/flood.ts";
import { loadProgram } from "../load/program.ts";
import { startUpstream } from "../load/upstream.ts";
import { modelOf } from "../pairs.ts";
import { FLOODS, type FloodCase, type Target } from "./floods.ts";
import { describeFlooded, describeRounds, type Round } from "./report.ts";

/**
 * `npm run bench:fairness`: what a paying account's requests take, alone, beside a flood that goes past the gateway to the
 * model server (the machine's part), and beside the same flood through the gateway. Rounds alternate, for the machine is
 * shared.
 */
const CREDIT_NANO_USD = 1_000_000_000_000_000n;
const MANY_KEYS = 200;
const SETTLE_MS = 3_000;
const CONNECTIONS = 2;

const { only, rounds, requests } = new Command("npm run bench:fairness --")
  .description("Measures one account's requests beside another's flood.")
  .option("--only <pattern>", "floods whose names match", "")
  .option("--rounds <count>", "of each flood", "3")
  .option("--requests <count>", "that are measured in a round, of each kind", "300")
  .allowExcessArguments(false)
  .parse()
  .opts<{ only: string; rounds: string; requests: string }>();

const program = await loadProgram();
const directory = await mkdtemp(path.join(tmpdir(), "fairness-"));
const upstream = await startUpstream(program);
const manifestsDirectory = path.join(directory, "manifests");
await mkdir(manifestsDirectory);
const models = [benchModel("chat", `${upstream.url}/v1`), benchModel("messages", upstream.url)];
await writeFile(path.join(manifestsDirectory, "models.yaml"), models.map((each) => stringify(each)).join("---\n"));
const stack = await startTestStack({ isMeasured: true, manifestsDirectory });
try {
  const steady = await stack.createAccount({ name: "steady", creditNanoUsd: CREDIT_NANO_USD });
  const steadyKeyFile = await writeKeys("steady", [steady.apiKey]);
  const target = await createTarget();
  await measure(steadyKeyFile); // warms everything up
  for (const flood of FLOODS.filter(({ name }) => new RegExp(only).test(name))) await compare(flood, target);

  async function compare(flood: FloodCase, target: Target): Promise<void> {
    const found: Record<"alone" | "past" | "through", Round[]> = { alone: [], past: [], through: [] };
    const answers: Flooded[] = [];
    for (let round = 0; round < Number(rounds); round++) {
      process.stderr.write(`${flood.name}, round ${round + 1}\n`);
      found.alone.push(await measure(steadyKeyFile));
      found.past.push((await measureBeside(flood.past(target))).round);
      const { round: through, flooded } = await measureBeside(flood.through(target));
      found.through.push(through);
      answers.push(flooded);
    }
    process.stdout.write(`${flood.name}\n${describeRounds(found)}\n${describeFlooded(answers)}\n\n`);
  }

  async function measureBeside(request: FloodRequest): Promise<{ round: Round; flooded: Flooded }> {
    const flood = startFlood(program, request);
    await sleep(SETTLE_MS);
    try {
      const round = await measure(steadyKeyFile);
      return { round, flooded: await flood.stop() };
    } finally {
      await flood.stop();
      await stack.idle();
    }
  }
} finally {
  await stack.stop();
  await upstream.stop();
  await rm(directory, { recursive: true, force: true });
}

/** JSON and streams of the account that pays, at the same time. */
async function measure(keyFile: string): Promise<Round> {
  const one = (isStream: boolean): Promise<Driven> =>
    drive(program, {
      url: `${stack.baseUrl}/v1/chat/completions`,
      headers: { "x-api-key": `@${keyFile}` },
      body: JSON.stringify({
        model: modelOf("chat"),
        max_tokens: 64,
        stream: isStream,
        messages: [{ role: "user", content: "[[bench chunks=20]]" }],
      }),
      expect: isStream ? "data: [DONE]" : '"completion_tokens":20',
      requests: Number(requests),
      connections: CONNECTIONS,
    });
  const [json, stream] = await Promise.all([one(false), one(true)]);
  return { json, stream };
}

async function createTarget(): Promise<Target> {
  const other = await stack.createAccount({ name: "other", creditNanoUsd: CREDIT_NANO_USD });
  const pepper = Buffer.from((await readFile(stack.directory.pepper, "utf8")).trim(), "base64");
  const many: string[] = [];
  for (let number = 0; number < MANY_KEYS; number++)
    many.push((await createApiKey(stack.database, { accountId: "other", name: `key ${number}`, pepper })).value);
  const wrong = many.map((key) => key.slice(0, -6) + (key.endsWith("aaaaaa") ? "bbbbbb" : "aaaaaa"));
  return {
    gatewayUrl: stack.baseUrl,
    upstreamUrl: upstream.url,
    keysFile: await writeKeys("one", [other.apiKey]),
    manyKeysFile: await writeKeys("many", many),
    wrongKeysFile: await writeKeys("wrong", wrong),
  };
}

async function writeKeys(name: string, keys: readonly string[]): Promise<string> {
  const file = path.join(directory, name);
  await writeFile(file, keys.join("\n"), { mode: 0o600 });
  return file;
}
