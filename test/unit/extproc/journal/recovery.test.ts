import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, readdir, readFile, rm, utimes, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { expect, onTestFinished, test } from "vitest";
import { createDamagedJournals } from "../../../../extproc/journal/damaged-journals.ts";
import { openJournal } from "../../../../extproc/journal/journal.ts";
import type { JournalDamage } from "../../../../extproc/journal/read-journal.ts";
import { recoverJournals, type RecoveryDeps } from "../../../../extproc/journal/recovery.ts";
import type { Settlement } from "../../../../ledger/settlement/settlement.ts";
import { makeRoot, openTestJournal, startOf } from "../../../support/billing/journal.ts";
import { settlementOf } from "../../../support/billing/ledger.ts";
import { captureLog } from "../../../support/stacks/log.ts";

const customer = { accountId: "acme", keyId: "key" };

/** A journal with these requests in it, each in a segment of its own if so asked. */
async function leaveJournal({ requests = 2, segmentBytes = 2 ** 20 } = {}) {
  const { root, directory, journal } = await openTestJournal({ segmentBytes });
  const left = Array.from({ length: requests }, () => settlementOf(customer));
  for (const settlement of left) {
    journal.start(startOf(settlement));
    journal.end(settlement);
  }
  return { root, directory, left, owner: path.join(directory, "owner.json") };
}

async function changeOwner(file: string, changes: object): Promise<void> {
  const owner: unknown = JSON.parse(await readFile(file, "utf8"));
  await writeFile(file, JSON.stringify(Object.assign({}, owner, changes)));
}

async function recover(root: string, deps: Partial<RecoveryDeps> = {}) {
  const added: Settlement[] = [];
  const ended: string[] = [];
  const damages: (JournalDamage & { holder: string })[] = [];
  const { log, lines } = captureLog();
  const recovery = await recoverJournals({
    root,
    settler: { add: (settlement) => added.push(settlement) },
    endLeasesOf: async (holder) => ended.push(holder),
    onDamaged: (damage) => damages.push(damage),
    log,
    ...deps,
  });
  const errors = () => lines.filter((line) => line.includes('"level":"error"'));
  return { recovery, added, ended, damages, errors };
}

test("only journals of ended processes are recovered; one is removed when all of it is committed", async () => {
  const { root, left, owner } = await leaveJournal({ requests: 1 });
  const running = settlementOf(customer);
  const living = await openJournal({ root, holder: "two", onFailed: () => {} });
  living.start(startOf(running));
  // A process id that was used again: the start mark tells that its owner is gone.
  await changeOwner(owner, { startMark: "1" });

  const { recovery, added, ended } = await recover(root);
  expect(added).toEqual(left);
  expect(recovery.open).toBe(1);
  expect(ended).toEqual([]);
  recovery.committed([running, ...left]);
  expect(ended).toEqual(["one"]);
  await expect.poll(() => readdir(root)).toEqual(["two"]);
  await living.close();
});

test.for([
  ["that is empty", async (file: string) => writeFile(file, "")],
  ["that is gone", async (file: string) => rm(file)],
  ["of zeros", async (file: string) => writeFile(file, Buffer.alloc(80))],
  ["that is no JSON", async (file: string) => writeFile(file, '{"pid":1,')],
  ["without a process", async (file: string) => changeOwner(file, { pid: null })],
  ["with a process of no platform", async (file: string) => changeOwner(file, { pid: -1 })],
  ["of another journal, whose process runs", async (file: string) => changeOwner(file, { holder: "two" })],
  ["of another boot of the machine", async (file: string) => changeOwner(file, { bootId: "another" })],
  ["without a start mark, with the id of a process that runs", async (file: string) => changeOwner(file, { startMark: null })],
  ["with the id of another process that runs", async (file: string) => changeOwner(file, { pid: process.ppid })],
  ["with a worker below zero", async (file: string) => changeOwner(file, { worker: -1 })],
  ["with a worker that is not started any more", async (file: string) => changeOwner(file, { worker: 7, startMark: "1" })],
] as const)("a journal with an owner file %s is still recovered (S39)", async ([, change]) => {
  const { root, left, owner } = await leaveJournal();
  await change(owner);
  const { added, recovery } = await recover(root);
  expect(added).toEqual(left);
  recovery.committed(left);
  await expect.poll(() => readdir(root)).toEqual([]);
});

test("a journal that another process has open is left alone, even if its owner file is damaged", async () => {
  const { root, directory, owner } = await leaveJournal();
  await writeFile(owner, "");
  const program = `require("node:fs").openSync(process.argv[1], "a"); process.stdout.write("open"); setInterval(() => {}, 1000)`;
  const writer = spawn(process.execPath, ["-e", program, path.join(directory, "00000001.journal")]);
  onTestFinished(() => void writer.kill("SIGKILL"));
  await once(writer.stdout, "data");
  const { recovery, added } = await recover(root);
  expect(added).toEqual([]);

  const gone = once(writer, "exit");
  writer.kill("SIGKILL");
  await gone;
  await recovery.look();
  expect(added).toHaveLength(2);
});

test("a process does not mistake its own journal for an abandoned one, even if its owner file is damaged", async () => {
  const { root, owner } = await leaveJournal();
  await writeFile(owner, "");
  const { added } = await recover(root, { holder: "one" });
  expect(added).toEqual([]);
});

test("damaged segments are kept unchanged and counted; everything else in them is charged, and the others are removed (S39)", async () => {
  const { root, directory, left, owner } = await leaveJournal({ requests: 3, segmentBytes: 1 });
  // The second request's start, and the third one's end.
  for (const name of ["00000003.journal", "00000006.journal"]) {
    const file = path.join(directory, name);
    const bytes = await readFile(file);
    bytes[20] = (bytes[20] ?? 0) ^ 4;
    await writeFile(file, bytes);
  }
  await writeFile(owner, "");
  const damagedBytes = await readFile(path.join(directory, "00000003.journal"));

  const { recovery, added, damages, ended } = await recover(root);
  const [first, second, third] = left;
  expect(added).toMatchObject([
    { requestId: first?.requestId, outcome: "complete", chargeNanoUsd: first?.chargeNanoUsd },
    { requestId: second?.requestId, outcome: "complete", chargeNanoUsd: second?.chargeNanoUsd },
    { requestId: third?.requestId, outcome: "lost", isEstimated: true, chargeNanoUsd: 0n },
  ]);
  expect(damages).toMatchObject([{ holder: "one", records: 2, segments: ["00000003.journal", "00000006.journal"] }]);
  recovery.committed(added);
  await expect.poll(() => readdir(root)).toEqual(["damaged"]);
  expect(ended).toEqual(["one"]);
  const kept = path.join(root, "damaged", "one");
  expect(await readdir(kept)).toEqual(["00000003.journal", "00000006.journal"]);
  expect(await readFile(path.join(kept, "00000003.journal"))).toEqual(damagedBytes);
  expect(recovery.damagedJournals).toBe(1);

  // Somebody has looked at it and taken it away.
  await rm(kept, { recursive: true });
  await recovery.look();
  expect(recovery.damagedJournals).toBe(0);
  expect(damages).toHaveLength(1);
});

test("a journal without a readable record is kept, too", async () => {
  const { root, directory, owner } = await leaveJournal();
  await writeFile(path.join(directory, "00000001.journal"), Buffer.alloc(4096));
  await writeFile(owner, "");
  const { recovery, added, damages } = await recover(root);
  expect(added).toEqual([]);
  expect(damages).toMatchObject([{ records: 1, bytes: 4096 }]);
  expect(await readdir(root)).toEqual(["damaged"]);
  expect(recovery.damagedJournals).toBe(1);
});

test("a segment that the disk cannot read loses only its own records", async () => {
  const { root, directory, left, owner } = await leaveJournal({ requests: 2, segmentBytes: 1 });
  await rm(path.join(directory, "00000004.journal"));
  await mkdir(path.join(directory, "00000004.journal"));
  await writeFile(owner, "");
  const { added, damages } = await recover(root);
  expect(added).toMatchObject([left[0], { requestId: left[1]?.requestId, outcome: "lost" }]);
  expect(damages).toMatchObject([{ records: 1, segments: ["00000004.journal"] }]);
});

test("a settled journal that cannot be removed at once is removed later, and not settled again", async () => {
  const { root, left, owner } = await leaveJournal();
  await writeFile(owner, "");
  let isAway = true;
  const endLeasesOf = async () => {
    if (isAway) throw new Error("Postgres is away");
  };
  const { recovery, added } = await recover(root, { endLeasesOf });
  recovery.committed(left);
  await recovery.look();
  expect(await readdir(root)).toEqual(["one"]);
  isAway = false;
  await recovery.look();
  expect(await readdir(root)).toEqual([]);
  expect(added).toHaveLength(2);
});

test("a folder without a journal is left alone", async () => {
  const root = await makeRoot();
  await mkdir(path.join(root, "lost+found"));
  const { errors } = await recover(root);
  expect(await readdir(root)).toEqual(["lost+found"]);
  expect(errors()).toEqual([]);
});

test("of many damaged journals the oldest are removed, and the log names each", async () => {
  const root = await makeRoot();
  const { log, lines } = captureLog();
  const damaged = createDamagedJournals({ root, log, maxCount: 3, maxBytes: 250 });
  for (const [index, holder] of ["a", "b", "c", "d"].entries()) {
    await mkdir(path.join(root, holder));
    await writeFile(path.join(root, holder, "00000001.journal"), Buffer.alloc(100));
    await damaged.keep({ directory: path.join(root, holder), segments: ["00000001.journal"] });
    await utimes(path.join(root, "damaged", holder), index, index);
  }
  expect(await readdir(path.join(root, "damaged"))).toEqual(["c", "d"]);
  expect(damaged.count).toBe(2);
  expect(lines.map((line): unknown => JSON.parse(line))).toMatchObject([
    { level: "error", journal: "a", bytes: 100 },
    { level: "error", journal: "b", bytes: 100 },
  ]);
});
