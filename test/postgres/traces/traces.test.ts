import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { createAccount } from "../../../ledger/accounts/accounts.ts";
import { closeAccount } from "../../../ledger/accounts/close-account.ts";
import { keepLabels } from "../../../ledger/labels/account-labels.ts";
import { assignProject } from "../../../ledger/projects/project-keys.ts";
import { createProject } from "../../../ledger/projects/projects.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { listDestinations, MAX_BATCH } from "../../../ledger/traces/destinations.ts";
import { startNightly } from "../../../ledger/upkeep/nightly.ts";
import { claimExports } from "../../../ledger/traces/exports.ts";
import { trimWaitingRequests } from "../../../ledger/traces/waiting-requests.ts";
import { eventually } from "../../support/eventually.ts";
import { createCustomer, settlementOf } from "../../support/billing/ledger.ts";
import { captureLog } from "../../support/stacks/log.ts";
import { startOtlpReceiver, type OtlpReceiver } from "../../support/servers/otlp-receiver.ts";
import { addPromptRecord, turnOnPromptLog } from "../../support/billing/prompt-records.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { startSilentReceiver } from "../../support/servers/webhook-receiver.ts";
import { letTimePass, openTraces } from "./harness.ts";

const postgres = usePostgres();
const open = async () => openTraces((await postgres.migrated()).database);
const idsOf = ({ accepted }: OtlpReceiver) => accepted().map(({ attributes }) => String(attributes["gateway.request_id"]));
const queued = z.strictObject({ number: z.bigint(), requestId: z.string() });

test("a settled request reaches the destination once, as a span with its key, project, tags and cost (S61)", async () => {
  const { database, accountId, keyId, owner, add, find, settleSome, exportAll } = await open();
  const receiver = await startOtlpReceiver();
  await settleSome(1);
  const { id } = await add(`${receiver.url}/v1/traces`, { headers: [["authorization", "Bearer abc"]] });
  const actor = { accountId, personId: owner.personId, tokenId: null };
  await keepLabels(database, { accountId, isOn: true });
  const projectId = await database.transaction((transaction) => createProject(transaction, actor, "Search"));
  await assignProject(database, { accountId, publicId: keyId, projectId });
  const labels = [
    { dimension: "tag:team", value: "search" },
    { dimension: "end_user", value: "customer-4711" },
  ];
  const [settlement] = await settleSome(1, { chargeNanoUsd: 90_000n, labels, attempt: 2, outcome: "failed", httpStatus: 502 });
  for (let each = 0; each < 2; each++) {
    await exportAll();
    await letTimePass(database);
  }
  // Those before the destination was added are not sent.
  expect(receiver.batches).toHaveLength(1);
  const [batch] = receiver.batches;
  expect(batch).toMatchObject({
    path: "/v1/traces",
    resource: { "service.name": "model-gateway", "gateway.account.id": accountId },
    headers: {
      authorization: "Bearer abc",
      "content-type": "application/x-protobuf",
      "content-encoding": "gzip",
      "user-agent": "Model-Gateway-Traces/1",
    },
  });
  expect(batch?.spans).toMatchObject([
    {
      traceId: settlement?.requestId.replaceAll("-", ""),
      name: "chat modelx-v4-pro",
      isError: true,
      attributes: {
        "gateway.attempt": 2n,
        "gateway.cost_usd": 0.00009,
        "gateway.key.id": keyId,
        "gateway.key.name": "test",
        "gateway.project.name": "Search",
        "gateway.tag.team": "search",
        "user.id": "customer-4711",
        "server.address": "gateway.example.com",
        "error.type": "502",
      },
    },
  ]);
  expect(await find(id)).toMatchObject({ sent: 1n, waiting: 0n, skipped: 0n, problem: null, acceptedAt: expect.any(Date) });
});

test("Langfuse gets its own path, header and attributes", async () => {
  const { add, settleSome, exportAll } = await open();
  const receiver = await startOtlpReceiver();
  await add(`${receiver.url}/`, { kind: "langfuse", headers: [["authorization", "Basic abc"]] });
  await settleSome(1);
  await exportAll();
  expect(receiver.batches).toMatchObject([
    {
      path: "/api/public/otel/v1/traces",
      headers: { authorization: "Basic abc", "x-langfuse-ingestion-version": "4" },
      spans: [{ attributes: { "langfuse.observation.type": "generation", "langfuse.trace.name": "chat modelx-v4-pro" } }],
    },
  ]);
});

test("batches are bounded; a destination resumes where it stopped, and a later one gets what comes after it", async () => {
  const { database, add, settleSome, exportAll, find } = await open();
  const [one, two] = [await startOtlpReceiver(), await startOtlpReceiver()];
  const { id } = await add(one.url);
  const first = await settleSome(MAX_BATCH + 30);
  await exportAll();
  expect(one.batches.map(({ spans }) => spans.length)).toEqual([MAX_BATCH, 30]);
  await add(two.url);
  const second = await settleSome(5);
  await letTimePass(database);
  await exportAll();
  const all = [...first, ...second].map(({ requestId }) => requestId);
  expect(idsOf(one).toSorted()).toEqual(all.toSorted());
  expect(idsOf(two).toSorted()).toEqual(second.map(({ requestId }) => requestId).toSorted());
  expect(await find(id)).toMatchObject({ sent: BigInt(all.length), skipped: 0n, waiting: 0n });
});

test("only accounts with an enabled destination have their requests queued, whatever is settled with them", async () => {
  const { database, accountId, keyId, add, settleSome, call, find } = await open();
  const count = () => database.execute("SELECT FROM trace_request");
  const quiet = await createCustomer(database, "quiet");
  await settleSome(3);
  expect(await count()).toBe(0);
  const { id } = await add("https://otlp.example.com/");
  const mine = settlementOf({ accountId, keyId });
  await settle(database, [mine, settlementOf(quiet)]);
  // The same batch again, as after a lost answer.
  await settle(database, [mine, settlementOf(quiet)]);
  expect(await count()).toBe(1);
  await call("PATCH", `/api/v1/trace-destinations/${id}`, { disabled: true });
  await settleSome(3);
  expect(await count()).toBe(1);
  await call("PATCH", `/api/v1/trace-destinations/${id}`, { disabled: false });
  expect(await find(id)).toMatchObject({ disabledBy: null, waiting: 0n });
  await settleSome(2);
  expect(await find(id)).toMatchObject({ waiting: 2n });
});

test("numbers have no gaps and follow the commits, however many processes settle at once", async () => {
  const { database, accountId, keyId, add } = await open();
  await add("https://otlp.example.com/");
  const other = await createCustomer(database, "other");
  await add("https://otlp.example.com/", {}, other.accountId);
  const batches = Array.from({ length: 24 }, (_, index) =>
    Array.from({ length: 1 + (index % 5) }, (__, each) =>
      settlementOf(each % 2 === 0 ? { accountId, keyId } : other, { chargeNanoUsd: BigInt(each) }),
    ),
  );
  await Promise.all(batches.map((batch) => settle(database, batch)));
  for (const id of [accountId, other.accountId]) {
    const rows = await database.query({
      text: `SELECT number, request_id AS "requestId" FROM trace_request WHERE account_id = $1 ORDER BY number`,
      values: [id],
      row: queued,
    });
    const settled = batches.flat().filter((settlement) => settlement.accountId === id);
    expect(rows.map(({ number }) => number)).toEqual(settled.map((_, index) => BigInt(index + 1)));
    expect(rows.map(({ requestId }) => requestId).toSorted()).toEqual(settled.map(({ requestId }) => requestId).toSorted());
  }
});

test("several replicas send each request once (S61)", async () => {
  const { add, settleSome, startExports, find } = await open();
  const receiver = await startOtlpReceiver();
  const { id } = await add(receiver.url);
  for (let round = 0; round < 8; round++) await settleSome(300);
  const replicas = [1, 2, 3].map(() => startExports());
  onTestFinished(async () => void (await Promise.all(replicas.map((each) => each.stop()))));
  await eventually(async () => expect((await find(id)).waiting).toBe(0n));
  expect(idsOf(receiver)).toHaveLength(2_400);
  expect(new Set(idsOf(receiver)).size).toBe(2_400);
});

test("a destination that never answers delays no other, of the same account or another's", async () => {
  const { database, accountId, add, other, keyId, settleSome, startExports } = await open();
  const silent = await startSilentReceiver();
  const [own, others] = [await startOtlpReceiver(), await startOtlpReceiver()];
  await add(silent.url);
  await add(own.url);
  await add(others.url, {}, other.accountId);
  const exports = startExports();
  for (let round = 1; round <= 3; round++) {
    await settleSome(2);
    await settleSome(1, {}, { accountId: other.accountId, keyId });
    await database.execute(
      "UPDATE trace_destination SET next_attempt_at = now() WHERE next_attempt_at < now() + interval '10 seconds'",
    );
    await eventually(() => expect([idsOf(own).length, idsOf(others).length]).toEqual([2 * round, round]));
  }
  expect(silent.connections()).toBe(1);
  // What is in flight at the end is given back, and nobody's fault.
  await exports.stop();
  const [first] = await listDestinations(database, accountId);
  expect(first).toMatchObject({ problem: null, failingSince: null, waiting: 6n });
  expect(first?.nextAttemptAt.getTime()).toBeLessThan(Date.now() + 10_000);
});

test("destinations that hang leave room for those of others, however many they are", async () => {
  const { database, add, accountId, settleSome, find } = await open();
  await add("https://otlp.example.com/");
  const { id } = await add("https://otlp.example.com/");
  await settleSome(1);
  const others = Array.from({ length: 20 }, (_, index) => `stranger-${index}`);
  for (const each of others) await createAccount(database, { id: each, name: each });
  for (const each of others) await add("https://otlp.example.com/", {}, each);
  await database.execute("UPDATE trace_account SET last_number = 1");
  // They have failed before, and are due for longer.
  await database.execute(
    "UPDATE trace_destination SET failures = 3, next_attempt_at = now() - interval '1 hour' WHERE account_id <> $1",
    [accountId],
  );
  const claimed = await claimExports(database, { limit: 16, failingLimit: 4, busyDestinations: [] });
  expect(claimed.filter(({ failures }) => failures > 0)).toHaveLength(4);
  expect(claimed.map((each) => each.id)).toContain(id);
  // Each is given to one caller, until its claim ends.
  expect(await claimExports(database, { limit: 100, failingLimit: 100, busyDestinations: [] })).toHaveLength(16);
  expect((await find(id)).nextAttemptAt.getTime()).toBeGreaterThan(Date.now());
});

test("what waits is bounded in number and time; what is left out is counted", async () => {
  const { database, add, find, settleSome, exportAll, accountId, metrics } = await open();
  const receiver = await startOtlpReceiver();
  const { id } = await add(receiver.url);
  await settleSome(7);
  // Three of them have waited for too long.
  await database.execute("UPDATE trace_request SET queued_at = now() - interval '4 days' WHERE number <= 3");
  await trimWaitingRequests(database);
  await exportAll();
  expect(idsOf(receiver)).toHaveLength(4);
  expect(await find(id)).toMatchObject({ sent: 4n, skipped: 3n, waiting: 0n });
  await trimWaitingRequests(database);
  expect(await database.execute("SELECT FROM trace_request")).toBe(0);

  // A million more than may wait: none of the first is there any more.
  await settleSome(5);
  await database.execute("UPDATE trace_account SET last_number = last_number + 1000000 WHERE account_id = $1", [accountId]);
  const nightly = startNightly({ database, retentionDays: null, log: captureLog().log, onChecked: () => {} });
  await eventually(async () => expect(await database.execute("SELECT FROM trace_request")).toBe(0));
  await nightly.stop();
  await letTimePass(database);
  await exportAll();
  expect(await find(id)).toMatchObject({ sent: 4n, skipped: 1_000_008n, waiting: 0n });
  expect(await metrics()).toContain('gateway_traced_requests_total{result="skipped"} 1000008');
});

test("what only a newer version knows, and a number that is taken, stop neither settlements nor other destinations", async () => {
  const { database, accountId, add, settleSome, exportAll, find } = await open();
  const [receiver, unknown] = [await startOtlpReceiver(), await startOtlpReceiver()];
  const [{ id }, newer] = [await add(receiver.url), await add(unknown.url)];
  await database.execute("ALTER TABLE trace_destination DROP CONSTRAINT trace_destination_kind_check");
  for (const column of ["interface", "outcome"])
    await database.execute(`ALTER TABLE usage_event DROP CONSTRAINT usage_event_${column}_check`);
  await database.execute("UPDATE trace_destination SET kind = 'newer' WHERE id = $1", [newer.id]);
  await database.execute(
    `INSERT INTO trace_request (account_id, number, day, request_id, attempt)
     VALUES ($1, 2, '2026-01-01', 'ffffffff-ffff-7fff-8fff-ffffffffffff', 1)`,
    [accountId],
  );
  const requests = await settleSome(3, JSON.parse('{"interface": "video", "outcome": "moderated"}'));
  expect(await database.execute("SELECT FROM usage_event")).toBe(3);
  await exportAll();
  const [first, , third] = requests.map(({ requestId }) => requestId).toSorted();
  expect(receiver.accepted()).toMatchObject([
    { name: "video modelx-v4-pro", attributes: { "gateway.request_id": first, "error.type": "moderated" } },
    { attributes: { "gateway.request_id": third } },
  ]);
  expect(await find(id)).toMatchObject({ sent: 2n, skipped: 1n, waiting: 0n, problem: null });
  expect(unknown.batches).toEqual([]);
});

test("a closed account exports nothing", async () => {
  const { database, accountId, owner, add } = await open();
  await add("https://otlp.example.com/");
  await closeAccount(database, { accountId, personId: owner.personId });
  expect(await database.execute("SELECT FROM trace_destination")).toBe(0);
  expect(await database.execute("SELECT FROM trace_account WHERE is_exported")).toBe(0);
});

test("prompts and answers go along for keys that record them, if the destination wants them (S61)", async () => {
  const { database, accountId, keyId, add, find, settleSome, exportAll, call } = await open();
  const [including, without] = [await startOtlpReceiver(), await startOtlpReceiver()];
  const { id } = await add(including.url, { includesContent: true });
  await add(without.url);
  await turnOnPromptLog(database, { keyId });
  const [recorded, unreadable, other] = await settleSome(3);
  const request = JSON.stringify({ messages: [{ role: "user", content: "What is the secret?" }] });
  const answer = JSON.stringify({ choices: [{ message: { role: "assistant", content: "Forty-two." }, finish_reason: "stop" }] });
  for (const each of [recorded, unreadable])
    await addPromptRecord(database, { accountId, keyId }, { requestId: each?.requestId ?? "", request, answer });
  await database.execute("UPDATE prompt_record SET content = '' WHERE request_id = $1", [unreadable?.requestId]);
  await exportAll();
  // Records may still be on their way.
  expect([including.batches.length, without.batches.length]).toEqual([0, 1]);
  expect(await find(id)).toMatchObject({ waiting: 3n, skipped: 0n });
  await database.execute("UPDATE trace_request SET queued_at = queued_at - interval '15 seconds'");
  await letTimePass(database);
  await exportAll();
  const attributesOf = ({ accepted }: OtlpReceiver, requestId: string | undefined) =>
    accepted().find(({ attributes }) => attributes["gateway.request_id"] === requestId)?.attributes ?? {};
  expect(attributesOf(including, recorded?.requestId)).toMatchObject({
    "gen_ai.input.messages": JSON.stringify([{ role: "user", parts: [{ type: "text", content: "What is the secret?" }] }]),
    "gen_ai.output.messages": JSON.stringify([
      { role: "assistant", parts: [{ type: "text", content: "Forty-two." }], finish_reason: "stop" },
    ]),
    "gen_ai.response.finish_reasons": ["stop"],
  });
  for (const { requestId } of [unreadable, other].flatMap((each) => each ?? []))
    expect(attributesOf(including, requestId)).not.toHaveProperty("gen_ai.input.messages");
  expect(including.accepted()).toHaveLength(3);
  expect(without.batches.map(({ body }) => body.toString()).join("")).not.toContain("secret");

  await call("PATCH", `/api/v1/trace-destinations/${id}`, { include_content: false });
  const [last] = await settleSome(1);
  await addPromptRecord(database, { accountId, keyId }, { requestId: last?.requestId ?? "", request, answer });
  await letTimePass(database);
  await exportAll();
  expect(attributesOf(including, last?.requestId)).not.toHaveProperty("gen_ai.input.messages");
});

test("long prompts make batches smaller, not larger", async () => {
  const { database, accountId, keyId, add, settleSome, exportAll } = await open();
  const receiver = await startOtlpReceiver();
  await add(receiver.url, { includesContent: true });
  await turnOnPromptLog(database, { keyId });
  const content = "word ".repeat(180_000);
  for (const { requestId } of await settleSome(8))
    await addPromptRecord(
      database,
      { accountId, keyId },
      { requestId, request: JSON.stringify({ messages: [{ role: "user", content }] }) },
    );
  await database.execute("UPDATE trace_request SET queued_at = queued_at - interval '15 seconds'");
  await exportAll();
  expect(receiver.batches.map(({ spans }) => spans.length)).toEqual([4, 4]);
  for (const { body } of receiver.batches) expect(body.length).toBeLessThan(5 * 1024 * 1024);
});
