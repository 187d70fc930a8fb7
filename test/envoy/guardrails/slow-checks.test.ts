import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import * as z from "zod";
import { onlyRow } from "../../support/billing/settlement.ts";
import { eventually } from "../../support/eventually.ts";
import { useCheckedModels } from "../../support/servers/checked-models.ts";
import { READERS, requestIdOf, send } from "../../support/wire/sdk-readers.ts";

/** A hook that checks answers fails, takes its time, or is left behind (S55, docs/decisions/0081). */
let linger = async () => {};
const checked = useCheckedModels({ linger: () => linger() });
const { stack, script, checksOf } = checked;

const CLIENTS = ["chat", "messages", "responses"] as const;
const COMPLETE = { chat: "stop", messages: "end_turn", responses: "completed" } as const;

const words = (length: number) => Array.from({ length }, (_, at) => `word${at} `);

test.for(CLIENTS)("without a verdict, an answer is refused and free, and a stream ends with an error: %s", async (client) => {
  for (const fault of ["do-stall", "do-fail", "do-flood"]) {
    const response = await send(client, stack(), { model: "hurried", prompt: script({ pieces: [fault] }) });
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("2");
    expect(await response.text()).toMatch(client === "messages" ? "api_error" : "guardrail_unavailable");
    expect(await onlyRow(stack(), requestIdOf(response))).toMatchObject({
      outcome: "failed",
      httpStatus: 503,
      chargeNanoUsd: 0n,
    });

    const streamed = await send(client, stack(), {
      model: "hurried",
      prompt: script({ pieces: [...words(30), fault, ...words(60)], followsChecks: true }),
      isStream: true,
    });
    const body = await streamed.text();
    expect(body).toContain("word1 ");
    expect(body).not.toContain(fault);
    expect(body).not.toContain("word59");
    expect(body).toContain("The content check for this model's answers");
    const row = await onlyRow(stack(), requestIdOf(streamed));
    expect(row).toMatchObject({ outcome: "failed" });
    // What was delivered is charged.
    expect(row.chargeNanoUsd).toBeGreaterThan(0n);
  }
});

test.for(CLIENTS)("or passes, if its Model says so: %s", async (client) => {
  for (const isStream of [false, true]) {
    const read = await READERS[client](stack(), {
      model: "open",
      prompt: script({ pieces: [...words(30), "do-stall", ...words(30)] }),
      isStream,
    });
    expect(read.text).toContain("word29");
    expect(read.text).toContain("do-stall");
    expect(read.stop).toBe(COMPLETE[client]);
  }
});

test("a client that leaves during the check pays for what was produced, and ends the call", async () => {
  for (const isStream of [false, true]) {
    const before = checked.leftBehind();
    const leaving = new AbortController();
    const prompt = script({ pieces: ["do-stall", ...words(20)], afterMs: isStream ? 100 : 0 });
    const gone = send("chat", stack(), { model: "patient", prompt, isStream, signal: leaving.signal }).then((response) =>
      response.text(),
    );
    gone.catch(() => "gone");
    // On a busy machine the first check has the marker alone.
    await eventually(() => expect(checksOf(prompt).flat().join("")).toContain("do-stall"));
    leaving.abort();
    await expect(gone).rejects.toThrow(/abort/i);
    // The check's own time ends it later.
    await eventually(() => expect(checked.leftBehind()).toBe(before + 1), { withinMs: 4_500 });
    await stack().idle();
    const [row] = await stack().database.query({
      text: `SELECT outcome, charge_nano_usd > 0 AS is_charged FROM usage_event WHERE account_id = $1 AND model = 'patient'
             ORDER BY request_id DESC LIMIT 1`,
      values: [stack().accountId],
      row: z.object({ outcome: z.string(), is_charged: z.boolean() }),
    });
    expect(row).toEqual({ outcome: "aborted", is_charged: true });
  }
});

test("a stream that the gateway answers before its server is checked as well", async () => {
  const slow = { afterMs: 1_300 };
  const fine = await READERS.chat(stack(), { model: "early", prompt: script({ pieces: ["fine"], ...slow }), isStream: true });
  expect(fine).toMatchObject({ text: expect.stringContaining("fine"), stop: "stop" });
  const refused = await READERS.chat(stack(), {
    model: "early",
    prompt: script({ pieces: ["forbidden"], ...slow }),
    isStream: true,
  });
  expect(refused).toMatchObject({ text: expect.not.stringContaining("forbidden"), stop: "content_filter" });
});

test("keep-alives go on during a check, and text goes out with its window", async () => {
  const prompt = script({ pieces: ["do-wait", " and go on."] });
  const response = await send("chat", stack(), { model: "patient", prompt, isStream: true });
  const body = await response.text();
  expect(body.split(": keep-alive").length).toBeGreaterThan(2);
  expect(body.indexOf(": keep-alive")).toBeLessThan(body.indexOf("do-wait"));
  expect(body).toContain("[DONE]");
});

test("a stream of a slow server is shown by time: its words do not wait for others", async () => {
  const pieces = words(12);
  const shown = pieces.map(() => Promise.withResolvers<void>());
  // After these the server waits until the client has them. The first piece is the prompt's marker.
  const prompt = script({ pieces, onPiece: async (index) => void ([3, 7].includes(index) && (await shown[index - 1]?.promise)) });
  const response = await send("chat", stack(), { model: "patient", prompt, isStream: true });
  if (response.body === null) throw new Error("the stream has no body");
  let text = "";
  for await (const chunk of response.body) {
    text += Buffer.from(chunk).toString();
    for (const [index, piece] of pieces.entries()) if (text.includes(piece.trim())) shown[index]?.resolve();
  }
  expect(text).toContain("word11");
});

test("a complete answer with too much text to check is refused, and free", async () => {
  const whole = await send("chat", stack(), { model: "long", prompt: script({ pieces: ["long ".repeat(1_800_000)] }) });
  expect(whole.status).toBe(502);
  expect(await whole.text()).toContain("more than 8 MiB of text");
  expect(await onlyRow(stack(), requestIdOf(whole))).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
});

/** What Envoy has read of the answers of "long": what its server has got rid of says less, for sockets may hold all of it. */
async function readOfLong(): Promise<number> {
  const stats = await fetch(`${stack().envoyAdminUrl}/stats?filter=^cluster.model/long.*.upstream_cx_rx_bytes_total$`);
  return [...(await stats.text()).matchAll(/: (\d+)$/gm)].reduce((sum, [, bytes]) => sum + Number(bytes), 0);
}

test("a server that is faster than its hook waits for it, and nothing is lost", async () => {
  const readBefore = await readOfLong();
  let readBeforeTheVerdict = Number.NaN;
  // Until Envoy has read nothing more for half a second, well within the time that a check may take.
  linger = async () => {
    for (let read = await readOfLong(); read !== readBeforeTheVerdict; read = await readOfLong()) {
      readBeforeTheVerdict = read;
      await sleep(500);
    }
  };
  const pieces = ["do-linger", ...Array.from({ length: 400 }, (_, at) => `${"fast ".repeat(3_200)}${at}.`)];
  const prompt = script({ pieces });
  const answer = await (await send("chat", stack(), { model: "long", prompt, isStream: true })).text();
  expect(answer).toMatch(/399\..*\[DONE\]/s);
  const readOfAll = (await readOfLong()) - readBefore;
  expect(readOfAll).toBeGreaterThan(pieces.join("").length);
  expect(readBeforeTheVerdict - readBefore).toBeLessThan(readOfAll / 2);
});

test("a server that breaks off leaves what has passed, and an error", async () => {
  for (const client of CLIENTS) {
    const prompt = script({ pieces: words(60), followsChecks: true, breaks: true });
    const response = await send(client, stack(), { model: `by-${client}`, prompt, isStream: true });
    const body = await response.text();
    expect(body).toContain("word5 ");
    expect(body).toMatch(/upstream_error|api_error/);
    expect(await onlyRow(stack(), requestIdOf(response))).toMatchObject({ outcome: "truncated" });
  }
});
