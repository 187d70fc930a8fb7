import { findPrograms } from "../../support/test-run/programs.ts";
import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { accountFor } from "../../chaos/account.ts";
import { readBooked } from "../../chaos/books.ts";
import { createLoad } from "../../chaos/load.ts";
import { makeModels } from "../../chaos/models.ts";
import { untilAtRest } from "../../chaos/rest.ts";
import { startUpstream, type Upstream } from "../../chaos/upstream.ts";
import { SLOW } from "../../chaos/upstream-faults.ts";
import { seeded } from "../../support/random.ts";
import { eventually } from "../../support/eventually.ts";
import type { Member } from "../../support/supervised/member.ts";
import { startService, type Service } from "../../support/supervised/service.ts";
import { startSupervisedStack, type Plane, type SupervisedStack } from "../../support/supervised/supervised-stack.ts";

/**
 * An upgrade: every process is restarted, one after another, while answers stream. Two data planes stand behind what a
 * Service is in a cluster, and each is drained as the chart does it (docs/decisions/0012).
 */
let upstream: Upstream;
let models: Awaited<ReturnType<typeof makeModels>>;
let stack: SupervisedStack;
let service: Service;
beforeAll(async () => {
  upstream = await startUpstream();
  models = await makeModels(upstream.url);
  // As the chart sets it.
  const extprocSettings = { DRAIN_SECONDS: "10" };
  stack = await startSupervisedStack({ planes: 2, manifestsDirectory: models.directory, extprocSettings });
  service = startService(stack.planes);
  const credit = { accountId: "demo", kind: "grant", amountNanoUsd: 1_000_000_000_000n, reference: "test" } as const;
  await postCredit(stack.database, credit);
});
afterAll(async () => {
  await service.stop();
  await stack.stop();
  await upstream.stop();
  await models.remove();
});

/** Who asks all the time: short answers, and some that take many seconds, so that a drain has something to wait for. */
const WORKERS = inject("isNight") ? { short: 6, long: 3 } : { short: 2, long: 2 };

/** Requests go on for so long between two restarts. */
const BETWEEN_MS = 3_000;

test(
  "a rolling restart of every process under streaming load: no request fails, no settlement is lost",
  { timeout: 1_800_000 },
  async () => {
    const load = createLoad({
      baseUrl: "http://gateway",
      customers: [
        { apiKey: stack.apiKey, isThin: false, workers: WORKERS.short },
        { apiKey: stack.apiKey, isThin: false, workers: WORKERS.long, maxWords: 400 },
      ],
      random: seeded(36),
      createAgent: () => service.createAgent(),
    });
    const ending = new AbortController();
    const running = load.run(ending.signal, SLOW);
    await sleep(BETWEEN_MS);

    for (const plane of stack.planes) {
      await restartPlane(plane);
      await eventually(() => expect(service.readyPlanes).toHaveLength(2), { withinMs: 60_000 });
      await sleep(BETWEEN_MS);
    }
    for (const member of [stack.operator, stack.dashboard]) {
      await restart(member, "SIGTERM");
      await sleep(BETWEEN_MS);
    }
    await restart(stack.postgres, "SIGINT");
    await sleep(BETWEEN_MS);
    ending.abort();
    await running;

    for (const plane of stack.planes) await untilAtRest(stack, plane, upstream);
    const booked = await readBooked(stack.database);
    const { requests, unasked } = accountFor({ asked: load.asked, deliveries: upstream.deliveries, booked, happened: [] });
    expect(requests.flatMap(({ problems }) => problems)).toEqual([]);
    expect(requests.filter(({ asked }) => asked.seen.result !== "answered")).toEqual([]);
    expect(unasked).toEqual([]);
    expect(await checkLedger(stack.database)).toEqual([]);
    expect(requests.length).toBeGreaterThan(100);
    expect(booked.size).toBe(requests.length);
  },
);

/** A pod is replaced, with the chart's times: drained by the hook before extproc's stop, extproc first, the sidecar last. */
async function restartPlane({ extproc, envoy, envoyAdminUrl }: Plane): Promise<void> {
  const command = (await findPrograms())("extproc/drain-command/main.ts");
  const environment = {
    ENVOY_ADMIN_PORT: new URL(envoyAdminUrl).port,
    ENVOY_DRAIN_MIN_SECONDS: "3",
    ENVOY_DRAIN_SECONDS: "900",
  };
  const drain = (...words: string[]) => promisify(execFile)(process.execPath, [command, ...words], { env: environment });
  const { stdout } = await drain();
  expect(stdout).toContain('"running":0');
  expect(await extproc.end("SIGTERM")).toBe("it exited with code 0");
  await envoy.end("SIGTERM");
  await envoy.start();
  await extproc.start();
  await drain("resume");
}

async function restart(member: Member, signal: NodeJS.Signals): Promise<void> {
  await member.end(signal);
  await member.start();
}
