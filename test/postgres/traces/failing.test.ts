import { inspect } from "node:util";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import * as z from "zod";
import { postOutbound } from "../../../dashboard/outbound/post.ts";
import { ExportTraceServiceResponseSchema } from "../../../runtime/gen/otlp/traces_pb.js";
import { LOOPBACK } from "../../../local/process/ports.ts";
import { accept, answer, startOtlpReceiver } from "../../support/servers/otlp-receiver.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { startReceiver } from "../../support/servers/webhook-receiver.ts";
import { letTimePass, openTraces } from "./harness.ts";

const postgres = usePostgres();
const open = async () => openTraces((await postgres.migrated()).database);
const SECONDS = 1_000;
/** In so many ms it is due. */
const dueIn = ({ nextAttemptAt }: { nextAttemptAt: Date }) => nextAttemptAt.getTime() - Date.now();

test("a throttled batch is sent again, the same one, when the server asked for it (S61)", async () => {
  const { database, add, find, settleSome, exportAll, call } = await open();
  const receiver = await startOtlpReceiver((response, index) => {
    if (index === 0) answer(response, 429, { headers: { "retry-after": "120" } });
    else if (index === 1) answer(response, 503);
    else accept(response, index);
  });
  const { id } = await add(receiver.url);
  await settleSome(3);
  await exportAll();
  const throttled = await find(id);
  expect(throttled).toMatchObject({
    waiting: 3n,
    problem: "The server answered with status 429.",
    failingSince: expect.any(Date),
  });
  expect(dueIn(throttled)).toBeGreaterThan(100 * SECONDS);
  expect((await call("GET", `/api/v1/trace-destinations/${id}`)).json()).toMatchObject({ status: "failing", waiting: 3 });
  await settleSome(1);
  await letTimePass(database);
  await exportAll();
  expect(dueIn(await find(id))).toBeLessThan(30 * SECONDS);
  await letTimePass(database);
  await exportAll();
  const idsOf = (index: number) => receiver.batches[index]?.spans.map(({ traceId, spanId }) => traceId + spanId) ?? [];
  expect(idsOf(1).slice(0, 3)).toEqual(idsOf(0));
  expect(idsOf(2)).toEqual(idsOf(1));
  expect(receiver.accepted()).toHaveLength(4);
  expect(await find(id)).toMatchObject({ sent: 4n, waiting: 0n, problem: null, failingSince: null });
});

test("wrong credentials keep the requests until the owner has mended them", async () => {
  const { database, add, find, settleSome, exportAll, call } = await open();
  const receiver = await startOtlpReceiver((response, index) => {
    answer(response, receiver.batches[index]?.headers["authorization"] === "Bearer good" ? 200 : 401);
  });
  const { id } = await add(receiver.url, { headers: [["authorization", "Bearer bad"]] });
  await settleSome(2);
  await exportAll();
  const failing = await find(id);
  expect(failing).toMatchObject({ waiting: 2n, sent: 0n, problem: "The server answered with status 401." });
  expect(dueIn(failing)).toBeGreaterThan(10 * 60 * SECONDS);
  await call("PATCH", `/api/v1/trace-destinations/${id}`, { headers: { Authorization: "Bearer good" } });
  await exportAll();
  expect(await find(id)).toMatchObject({ waiting: 0n, sent: 2n, problem: null });
  expect(inspect(await database.query({ text: "SELECT * FROM trace_destination", row: z.unknown() }))).not.toContain("Bearer");
});

test("a batch that is refused for its content is halved until what is wrong with it is alone, and left out", async () => {
  const { database, add, find, settleSome, exportAll } = await open();
  let poison = "";
  const receiver = await startOtlpReceiver((response, index) => {
    const isBad = receiver.batches[index]?.spans.some(({ attributes }) => attributes["gateway.request_id"] === poison);
    answer(response, isBad === true ? 413 : 200);
  });
  const { id } = await add(receiver.url);
  const settled = await settleSome(20);
  poison = settled.map(({ requestId }) => requestId).toSorted()[7] ?? "";
  for (let each = 0; each < 20; each++) {
    await letTimePass(database);
    await exportAll();
  }
  const sent = receiver.accepted().map(({ attributes }) => String(attributes["gateway.request_id"]));
  expect(sent.toSorted()).toEqual(
    settled
      .map(({ requestId }) => requestId)
      .filter((each) => each !== poison)
      .toSorted(),
  );
  expect(await find(id)).toMatchObject({ sent: 19n, rejected: 1n, skipped: 0n, waiting: 0n, problem: null });
});

test("spans that an accepted batch reports as rejected are counted and not sent again; the remark is shown", async () => {
  const { add, find, settleSome, exportAll, owner } = await open();
  const partialSuccess = { rejectedSpans: 2n, errorMessage: "2 spans are too <old>" };
  const body = Buffer.from(
    toBinary(ExportTraceServiceResponseSchema, create(ExportTraceServiceResponseSchema, { partialSuccess })),
  );
  const receiver = await startOtlpReceiver((response) => answer(response, 200, { body }));
  const { id } = await add(receiver.url);
  await settleSome(5);
  await exportAll();
  expect(receiver.batches).toHaveLength(1);
  expect(await find(id)).toMatchObject({ sent: 3n, rejected: 2n, remark: "2 spans are too <old>", waiting: 0n });
  expect((await owner.get(`/dashboard/trace-destinations/${id}`)).body).toContain("2 spans are too &#60;old&#62;");
});

test("a destination that accepts nothing for three days is disabled with a letter to its owners (S61)", async () => {
  const { database, add, find, settleSome, exportAll, watch, letters, owner, call, lines } = await open();
  const receiver = await startOtlpReceiver((response) => answer(response, 404));
  const { id } = await add(`${receiver.url}/wrong`);
  await settleSome(1);
  await exportAll();
  await database.execute("UPDATE trace_destination SET failing_since = now() - interval '73 hours'");
  await letTimePass(database);
  await exportAll();
  expect(await find(id)).toMatchObject({ disabledBy: "failures", waiting: 0n });
  for (let each = 0; each < 2; each++) await Promise.all([watch(), watch()]);
  expect(letters.map(({ to, subject }) => [to, subject])).toEqual([
    ["ann@example.com", "acme: a trace destination was disabled"],
  ]);
  expect(letters[0]?.text).toContain(`https://gateway.example.com/dashboard/trace-destinations/${id}`);
  const page = (await owner.get(`/dashboard/trace-destinations/${id}`)).body;
  expect(page).toContain("Disabled because its server accepted no traces for three days");
  expect(page).toContain("status 404");
  await settleSome(1);
  await exportAll();
  expect(receiver.batches).toHaveLength(2);
  expect((await call("PATCH", `/api/v1/trace-destinations/${id}`, { disabled: false })).json()).toMatchObject({
    status: "active",
  });
  expect(JSON.stringify(lines)).toContain("disabled a trace destination that accepts nothing");
});

test("an answer that is endless, a bomb or a redirect costs no more than its status", async () => {
  const { database, add, find, settleSome, exportAll } = await open();
  const elsewhere = await startReceiver(200);
  let isEndless = false;
  const receiver = await startOtlpReceiver((response, index) => {
    if (index === 0) {
      isEndless = true;
      response.writeHead(200, { "content-type": "application/x-protobuf" });
      const push = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536))) continue;
      };
      response.on("drain", push).on("close", () => (isEndless = false));
      push();
    } else if (index === 1) {
      answer(response, 200, { headers: { "content-encoding": "gzip" }, body: gzipSync(Buffer.alloc(50_000_000)) });
    } else answer(response, 307, { headers: { location: elsewhere.url } });
  });
  const { id } = await add(receiver.url);
  for (let each = 1; each <= 2; each++) {
    await settleSome(1);
    await letTimePass(database);
    await exportAll();
    expect(await find(id)).toMatchObject({ sent: BigInt(each), remark: null, problem: null });
  }
  expect(isEndless).toBe(false);
  await settleSome(1);
  await letTimePass(database);
  await exportAll();
  expect(await find(id)).toMatchObject({ sent: 2n, waiting: 1n, problem: "The server answered with status 307." });
  expect(elsewhere.received).toEqual([]);
});

test("an answer that comes byte by byte ends with its time; its status counts once it is there", async () => {
  const slowBody = await startOtlpReceiver((response) => {
    response.writeHead(200, { "content-type": "text/plain" });
    const drip = setInterval(() => response.write("x"), 20);
    response.on("close", () => clearInterval(drip));
  });
  const slowHeaders = await startOtlpReceiver((response) => {
    const drip = setInterval(() => response.socket?.write("H"), 20);
    response.on("close", () => clearInterval(drip));
  });
  const post = (url: string) =>
    postOutbound({ url, headers: {}, body: Buffer.alloc(0), timeoutMs: 300, maxAnswerBytes: 1_000_000 }, "any");
  expect((await post(slowBody.url)).status).toBe(200);
  await expect(post(slowHeaders.url)).rejects.toThrow(/did not answer within|could not be reached/);
});

test("traces go only to public addresses, whatever a name resolves to when they are sent", async () => {
  const { database, add, find, settleSome, exportAll } = await open();
  const receiver = await startOtlpReceiver();
  // Taken while private networks were open; they are shut now.
  const { id } = await add(receiver.url);
  await settleSome(1);
  for (const url of [receiver.url, receiver.url.replace(LOOPBACK, "localhost")]) {
    await database.execute("UPDATE trace_destination SET url = $1", [url]);
    await letTimePass(database);
    await exportAll({ targetNetworks: "public" });
  }
  expect(receiver.batches).toEqual([]);
  expect(await find(id)).toMatchObject({ waiting: 1n, problem: expect.stringMatching(/private or reserved|cannot be read/) });
});
