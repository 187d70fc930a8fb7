import { expect, test } from "vitest";
import { onlyRow } from "../../support/billing/settlement.ts";
import { CHECKED_CHARGE_NANO_USD, useCheckedModels } from "../../support/servers/checked-models.ts";
import { READERS, requestIdOf, send } from "../../support/wire/sdk-readers.ts";

/** A hook checks the text of each answer before a client gets it (S55, docs/decisions/0081). */
const { stack, script, checksOf } = useCheckedModels();

const CLIENTS = ["chat", "messages", "responses"] as const;
const PAIRS = CLIENTS.flatMap((client) => CLIENTS.map((upstream) => ({ client, upstream })));
const COMPLETE = { chat: "stop", messages: "end_turn", responses: "completed" } as const;
const REFUSED = { chat: "content_filter", messages: "refusal", responses: "content_filter" } as const;

const words = (length: number) => Array.from({ length }, (_, at) => `word${at} `);

test.for(PAIRS)("an allowed answer arrives as it is, streamed or not: $client via $upstream", async ({ client, upstream }) => {
  for (const isStream of [false, true]) {
    const pieces = words(60);
    const prompt = script({ pieces, followsChecks: true });
    const read = await READERS[client](stack(), { model: `by-${upstream}`, prompt, isStream });
    expect(read.text).toContain(prompt + pieces.join(""));
    expect(read.stop).toBe(COMPLETE[client]);
    const seen = checksOf(prompt).flat();
    expect(seen.join("")).toContain("word59");
    // Windows of 100 characters, the first of which are shorter; a text that is repeated is asked about once.
    expect(checksOf(prompt).length).toBeGreaterThanOrEqual(isStream ? 4 : 1);
    expect(seen.filter((text) => text.length > 400)).toHaveLength(isStream ? 0 : 1);
    const row = await onlyRow(stack(), read.requestId);
    expect(row).toMatchObject({ outcome: "complete", httpStatus: 200, chargeNanoUsd: CHECKED_CHARGE_NANO_USD });
  }
});

const WORDS = "this model's content check (violence)";

test.for(PAIRS)(
  "a refused answer does not reach the client and is charged once: $client via $upstream",
  async ({ client, upstream }) => {
    const prompt = script({ pieces: [...words(20), "forbidden"] });
    const response = await send(client, stack(), { model: `by-${upstream}`, prompt });
    expect(response.status).toBe(400);
    expect(response.headers.get("x-should-retry")).toBe("false");
    const body = await response.text();
    const stable =
      client === "messages" ? { details: { code: "content_policy_violation" } } : { code: "content_policy_violation" };
    expect(JSON.parse(body)).toMatchObject({
      error: { type: "invalid_request_error", message: expect.stringContaining(WORDS), ...stable },
    });
    expect(body).not.toMatch(/word1|forbidden/);
    expect(body).toContain("costs 0.004500000 USD");
    expect(response.headers.get("x-gateway-cost")).toBe("0.004500000");
    expect(await onlyRow(stack(), requestIdOf(response))).toMatchObject({
      outcome: "complete",
      httpStatus: 400,
      chargeNanoUsd: CHECKED_CHARGE_NANO_USD,
    });
    expect(await stack().entriesOf(requestIdOf(response))).toEqual([-CHECKED_CHARGE_NANO_USD]);
  },
);

test.for(PAIRS)("a refused stream ends as its protocol ends one: $client via $upstream", async ({ client, upstream }) => {
  // The phrase begins in one window and ends in another.
  const pieces = [...words(40), "for", ..."bidden".split(""), ...words(60)];
  const prompt = script({ pieces, followsChecks: true });
  const read = await READERS[client](stack(), { model: `by-${upstream}`, prompt, isStream: true });
  expect(read.stop).toBe(REFUSED[client]);
  expect(read.text).toContain("word5 ");
  expect(read.text).not.toContain("forbidden");
  expect((prompt + pieces.join("")).startsWith(read.text)).toBe(true);
  const row = await onlyRow(stack(), read.requestId);
  expect(row).toMatchObject({ outcome: "complete", httpStatus: 400 });
  // What was produced until then, and no more: the text that follows was not asked for.
  expect(row.usage.outputTokens).toBeGreaterThanOrEqual(Math.ceil(read.text.length / 4));
  expect(row.usage.outputTokens).toBeLessThanOrEqual(Math.ceil((prompt + pieces.join("")).length / 4));
  expect(await stack().entriesOf(read.requestId)).toEqual([-row.chargeNanoUsd]);
});

const KINDS = CLIENTS.flatMap((client) => (["reasoning", "arguments"] as const).map((kind) => ({ client, kind })));

test.for(KINDS)("$kind is text: $client", async ({ client, kind }) => {
  const model = `by-${client}`;
  for (const isStream of [false, true]) {
    const fine = script({ pieces: words(40), kind });
    const read = await READERS[client](stack(), { model, prompt: fine, isStream });
    expect(read.text).toContain("word39");
    expect(checksOf(fine).flat().join("")).toContain("word39");
  }
  const pieces = [...words(40), "forbid", "den", ...words(40)];
  expect((await send(client, stack(), { model, prompt: script({ pieces, kind }) })).status).toBe(400);
  const withheld = await READERS[client](stack(), { model, prompt: script({ pieces, kind }), isStream: true });
  expect(withheld.stop).toBe(REFUSED[client]);
  expect(withheld.text).not.toContain("forbidden");
});

test.for(PAIRS)(
  "a document in place of a stream is checked before the stream begins: $client via $upstream",
  async ({ client, upstream }) => {
    const fine = await READERS[client](stack(), {
      model: `by-${upstream}`,
      prompt: script({ pieces: words(20), isWhole: true }),
      isStream: true,
    });
    expect(fine.text).toContain("word19");
    expect(fine.stop).toBe(COMPLETE[client]);
    const refused = await send(client, stack(), {
      model: `by-${upstream}`,
      prompt: script({ pieces: ["forbidden"], isWhole: true }),
      isStream: true,
    });
    expect(refused.status).toBe(400);
    expect(await onlyRow(stack(), requestIdOf(refused))).toMatchObject({
      outcome: "complete",
      httpStatus: 400,
      chargeNanoUsd: CHECKED_CHARGE_NANO_USD,
    });
  },
);

test("a refused response is not stored, an allowed one is", async () => {
  const continued = async (prompt: string, isStream: boolean) => {
    const answered = await send("responses", stack(), { model: "stores", prompt, isStream });
    const body = await answered.text();
    const id = /"(resp_\w+)"/.exec(body)?.[1];
    if (id === undefined) return null;
    const response = await fetch(`${stack().baseUrl}/v1/responses/${id}`, {
      headers: { authorization: `Bearer ${stack().apiKey}` },
    });
    return response.status;
  };
  expect(await continued(script({ pieces: ["fine"] }), true)).toBe(200);
  expect(await continued(script({ pieces: [...words(200), "forbidden"] }), true)).toBe(404);
  expect(await continued(script({ pieces: ["forbidden"] }), false)).toBeNull();
});

test("a Model may have both checked, and one without a guardrail asks nothing", async () => {
  const prompt = script({ pieces: ["fine"] });
  expect((await send("chat", stack(), { model: "both", prompt: `${prompt} forbidden` })).status).toBe(400);
  await (await send("chat", stack(), { model: "both", prompt })).text();
  expect(checksOf(prompt)).toHaveLength(3);
  const unasked = script({ pieces: ["forbidden"] });
  expect((await send("chat", stack(), { model: "unguarded", prompt: unasked })).status).toBe(200);
  expect(checksOf(unasked)).toEqual([]);
});
