import { readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import * as z from "zod";
import { encodeFrame } from "../../../extproc/journal/frame.ts";
import { startDataPlane, type DataPlane } from "../../support/stacks/data-plane.ts";
import { eventually } from "../../support/eventually.ts";
import { scrape } from "../../support/stacks/metrics.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** Answered requests that only the journal has; the process is killed, the disk damages the journal, the next one starts (S39). */
let stack: TestProduct;
let plane: DataPlane;
beforeAll(async () => {
  stack = await borrowStack({ creditNanoUsd: 1_000_000_000_000n });
  plane = await startDataPlane(stack);
});
afterAll(async () => {
  await plane.stop();
  await stack.stop();
});

const REQUESTS = 40;
const NOT_YET = { SETTLE_EVERY_MS: "10000" };
const AT_ONCE = { SETTLE_EVERY_MS: "20" };

interface LeftJournal {
  segment: string;
  owner: string;
  bytes: Buffer;
}

async function ask(index: number): Promise<string> {
  const isStream = index % 2 === 0;
  const response = await fetch(`${plane.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({
      model: "modelx-v4-flash",
      max_tokens: 64,
      stream: isStream,
      messages: [{ role: "user", content: "Hello. [[sim tokens=30]]" }],
    }),
  });
  await response.text();
  expect(response.status).toBe(200);
  return response.headers.get("x-request-id") ?? "";
}

/** The process's death leaves what it has answered in its journal alone. */
async function leaveJournal(): Promise<{ requestIds: string[]; left: LeftJournal }> {
  await plane.endExtproc("SIGTERM");
  await rm(path.join(plane.journalDirectory, "damaged"), { recursive: true, force: true });
  await plane.startExtproc(NOT_YET);
  const requestIds = await Promise.all(Array.from({ length: REQUESTS }, (_, index) => eventually(() => ask(index))));
  await plane.endExtproc("SIGKILL");
  expect(await readCharges(requestIds)).toEqual([]);
  const [name = ""] = await readdir(plane.journalDirectory);
  const directory = path.join(plane.journalDirectory, name);
  const segment = path.join(directory, "00000001.journal");
  return { requestIds, left: { segment, owner: path.join(directory, "owner.json"), bytes: await readFile(segment) } };
}

const chargeRow = z.strictObject({ requestId: z.string(), outcome: z.string(), chargeNanoUsd: z.bigint(), entries: z.bigint() });

async function readCharges(requestIds: readonly string[]) {
  return stack.database.query({
    text: `SELECT request_id AS "requestId", outcome, charge_nano_usd AS "chargeNanoUsd",
             (SELECT coalesce(-sum(amount_nano_usd), 0)::bigint FROM ledger_entry WHERE ledger_entry.request_id = usage_event.request_id) AS entries
           FROM usage_event WHERE request_id = ANY($1::uuid[])`,
    values: [requestIds],
    row: chargeRow,
  });
}

const middle = ({ bytes }: LeftJournal) => Math.floor(bytes.length / 2);
const impossible = (requestId: string) =>
  encodeFrame(
    `["checkpoint",{"requestId":"${requestId}","usage":{"inputTokens":1,"cachedInputTokens":0,"cacheWriteTokens":0,"outputTokens":9007199254740993000,"reasoningTokens":0},"durationMs":1,"firstTokenMs":1}]`,
  );

interface Row {
  name: string;
  damage(left: LeftJournal, requestIds: readonly string[]): Promise<void>;
  /** Requests whose records are hit, at most. */
  hit: number;
  isReported: boolean;
}

const rows: Row[] = [
  { name: "nothing", damage: async () => {}, hit: 0, isReported: false },
  { name: "an empty owner file", damage: ({ owner }) => writeFile(owner, ""), hit: 0, isReported: false },
  {
    name: "one flipped bit",
    damage: ({ segment, bytes, ...left }) => {
      const at = middle({ segment, bytes, ...left });
      const copy = Buffer.from(bytes);
      copy[at] = (copy[at] ?? 0) ^ 16;
      return writeFile(segment, copy);
    },
    hit: 1,
    isReported: true,
  },
  {
    name: "4 KiB of zeros at the end",
    damage: ({ segment, bytes }) => writeFile(segment, Buffer.concat([bytes, Buffer.alloc(4096)])),
    hit: 0,
    isReported: true,
  },
  {
    name: "garbage in the middle, and an impossible number at both ends",
    damage: ({ segment, bytes, owner }, [first = ""]) => {
      const at = middle({ segment, bytes, owner });
      const pieces = [
        impossible(first),
        bytes.subarray(0, at),
        Buffer.from("garbage".repeat(99)),
        bytes.subarray(at),
        impossible(first),
      ];
      return writeFile(segment, Buffer.concat(pieces));
    },
    hit: 1,
    isReported: true,
  },
  { name: "a torn tail", damage: ({ segment, bytes }) => truncate(segment, bytes.length - 5), hit: 1, isReported: true },
];

/** The others are the unit tests' by day: damage.test.ts and recovery.test.ts. */
const BY_DAY = ["nothing", "garbage in the middle, and an impossible number at both ends", "a torn tail"];
const chosen = inject("isNight") ? rows : rows.filter(({ name }) => BY_DAY.includes(name));

test.for(chosen)("$name in a journal of 40 answered requests loses at most $hit of them", async ({ damage, hit, isReported }) => {
  const { requestIds, left } = await leaveJournal();
  await damage(left, requestIds);
  await plane.startExtproc(AT_ONCE);

  const charges = await eventually(async () => {
    const found = await readCharges(requestIds);
    expect(found.length).toBeGreaterThanOrEqual(REQUESTS - hit);
    return found;
  });
  expect(charges.filter(({ outcome }) => outcome === "complete").length).toBeGreaterThanOrEqual(REQUESTS - hit);
  for (const { chargeNanoUsd, entries } of charges) expect(entries).toBe(chargeNanoUsd);
  expect(await stack.sumOfEntries()).toBe(await stack.balanceNanoUsd());

  const reported = Number(isReported);
  await eventually(async () => {
    const metrics = await scrape(plane.extprocAdminUrl);
    expect(metrics.get("gateway_damaged_journals")).toBe(reported);
    expect(Math.min(1, metrics.get("gateway_journal_damaged_records_total") ?? 0)).toBe(reported);
  });
  const kept = await readdir(path.join(plane.journalDirectory, "damaged"), { recursive: true }).catch(() => []);
  expect(kept.filter((name) => name.endsWith(".journal"))).toHaveLength(reported);
});
