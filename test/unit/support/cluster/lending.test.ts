import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { borrowCluster, lendCluster } from "../../../support/cluster/lending.ts";
import { eventually } from "../../../support/eventually.ts";
import { MissingPrerequisite } from "../../../support/test-run/prerequisite.ts";

const FACTS = { directory: "/d", pid: 1, kubectl: "/k", helm: "/h", kubeconfig: "/c", relay: "/r" };
const WITHIN_MS = 10_000;

/** Lends clusters that are made of nothing, and notes when they start and end. */
async function lend(keptMs: number, failure?: Error) {
  const directory = await mkdtemp(path.join(tmpdir(), "gateway-lending-"));
  const socket = path.join(directory, "cluster.sock");
  const events: string[] = [];
  const lending = await lendCluster(
    socket,
    async () => {
      if (failure !== undefined) throw failure;
      events.push("starts");
      return {
        facts: FACTS,
        async stop() {
          events.push("is ending");
          await sleep(50);
          events.push("has ended");
        },
      };
    },
    keptMs,
  );
  onTestFinished(async () => {
    await lending.stop();
    await rm(directory, { recursive: true });
  });
  return { events, lending, borrow: () => borrowCluster(socket, WITHIN_MS) };
}

test("a cluster starts when the first file asks for it, and all files share it", async () => {
  const { events, lending, borrow } = await lend(60_000);
  await sleep(20);
  expect(events).toEqual([]);
  const [first, second] = await Promise.all([borrow(), borrow()]);
  expect([first.facts, second.facts]).toEqual([FACTS, FACTS]);
  first.giveBack();
  second.giveBack();
  expect((await borrow()).facts).toEqual(FACTS);
  expect(events).toEqual(["starts"]);
  await lending.stop();
  expect(events).toEqual(["starts", "is ending", "has ended"]);
});

test("it ends once nobody has it any more, and the next one starts after its end", async () => {
  const { events, borrow } = await lend(30);
  const [first, second] = [await borrow(), await borrow()];
  first.giveBack();
  await sleep(100);
  expect(events).toEqual(["starts"]);
  second.giveBack();
  await eventually(() => expect(events).toContain("is ending"));
  await borrow();
  expect(events).toEqual(["starts", "is ending", "has ended", "starts"]);
});

test("a start that fails is reported to whoever asks", async () => {
  const { borrow } = await lend(60_000, new MissingPrerequisite("Install containerd."));
  for (const _ of [1, 2]) await expect(borrow()).rejects.toThrow(MissingPrerequisite);
});
