import { toFile } from "openai";
import { expect, test } from "vitest";
import { chatLine, openai, uploadLines, useBatchModels } from "../../support/servers/batch-models.ts";
import { eventually } from "../../support/eventually.ts";

/** Files for batches: their names, and how long they are kept (S58). */
const server = useBatchModels();
const { stack } = server;
const LONG = { withinMs: 60_000, everyMs: 200 };
const HOUR = 3_600;

const isRefused = (field: string, message: string) => ({ status: 400, param: field, message: expect.stringContaining(message) });
const expiry = (seconds: number) => ({ anchor: "created_at" as const, seconds });

test("a file expires when its sender asks, and after 30 days if they do not (S58)", async () => {
  const client = openai(stack());
  const text = Buffer.from(JSON.stringify(chatLine("one")));
  const upload = async (seconds: number) =>
    client.files.create({ purpose: "batch", file: await toFile(text, "questions.jsonl"), expires_after: expiry(seconds) });
  const short = await upload(HOUR);
  expect(short.expires_at).toBe(short.created_at + HOUR);
  expect((await client.files.retrieve(short.id)).expires_at).toBe(short.created_at + HOUR);
  const long = await upload(30 * 24 * HOUR);
  expect(long.expires_at).toBe(long.created_at + 30 * 24 * HOUR);
  const standard = await uploadLines(client, [chatLine("one")]);
  expect(standard.expires_at).toBe(standard.created_at + 30 * 24 * HOUR);
});

test.for([
  [
    "expires_after.seconds",
    "a whole number from 3600 to 2592000",
    [
      ["anchor", "created_at"],
      ["seconds", "60"],
    ],
  ],
  [
    "expires_after.seconds",
    "a whole number from 3600 to 2592000",
    [
      ["anchor", "created_at"],
      ["seconds", "3600.5"],
    ],
  ],
  ["expires_after.seconds", "a whole number from 3600 to 2592000", [["anchor", "created_at"]]],
  [
    "expires_after.anchor",
    "created_at",
    [
      ["anchor", "last_active_at"],
      ["seconds", "3600"],
    ],
  ],
  ["expires_after.anchor", "created_at", [["seconds", "3600"]]],
  [
    "expires_after",
    "nothing else",
    [
      ["anchor", "created_at"],
      ["seconds", "3600"],
      ["minutes", "7"],
    ],
  ],
] as const)("%s of a file is refused if it is not OpenAI's: %s (S58, S17)", async ([param, message, members]) => {
  const form = new FormData();
  form.set("purpose", "batch");
  form.set("file", new Blob(["{}"]), "questions.jsonl");
  for (const [member, value] of members) form.set(`expires_after[${member}]`, value);
  const headers = { authorization: `Bearer ${stack().apiKey}` };
  const answer = await fetch(`${stack().baseUrl}/v1/files`, { method: "POST", headers, body: form });
  expect(answer.status).toBe(400);
  expect(await answer.json()).toMatchObject({ error: { param, message: expect.stringContaining(message) } });
});

test("the results of a batch expire when its sender asks, and the batch stays (S58)", async () => {
  const client = openai(stack());
  const file = await uploadLines(client, [chatLine("one"), chatLine("wrong", { model: "no-such-model" })]);
  const wish = { input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" } as const;
  await expect(client.batches.create({ ...wish, output_expires_after: expiry(60) })).rejects.toMatchObject(
    isRefused("output_expires_after.seconds", "a whole number from 3600 to 2592000"),
  );
  const { id } = await client.batches.create({ ...wish, output_expires_after: expiry(2 * HOUR) });
  const batch = await eventually(async () => {
    const found = await client.batches.retrieve(id);
    expect(found.status).toBe("completed");
    return found;
  }, LONG);
  const results = [batch.output_file_id ?? "", batch.error_file_id ?? ""];
  for (const each of results) {
    const { created_at, expires_at } = await client.files.retrieve(each);
    expect(expires_at).toBe(created_at + 2 * HOUR);
  }
  await stack().database.execute("UPDATE batch SET ended_at = ended_at - interval '2 hours' WHERE id = $1", [id]);
  for (const each of results) {
    await expect(client.files.retrieve(each)).rejects.toMatchObject({ status: 404 });
    await expect(client.files.content(each)).rejects.toMatchObject({ status: 404 });
  }
  const after = await client.batches.retrieve(id);
  expect(after).toMatchObject({ status: "completed", output_file_id: null, error_file_id: null });
  expect(after.request_counts).toEqual({ total: 2, completed: 1, failed: 1 });
});

test.for([
  ['a "quoted" name.jsonl', String.raw`attachment; filename="a \"quoted\" name.jsonl"`],
  ["Übung 日本.jsonl", `attachment; filename="?bung ??.jsonl"; filename*=UTF-8''%C3%9Cbung%20%E6%97%A5%E6%9C%AC.jsonl`],
  ["100%22.jsonl", `attachment; filename="100\\".jsonl"`],
  ["two\r\nlines.jsonl", "attachment; filename=twolines.jsonl"],
] as const)("the name %j of a file is kept, and is the name of its download (S58)", async ([name, disposition]) => {
  const client = openai(stack());
  const file = await client.files.create({ purpose: "batch", file: await toFile(Buffer.from("{}"), name) });
  const download = await client.files.content(file.id);
  expect(download.headers.get("content-disposition")).toBe(disposition);
});

test("a file's name in answers has its quotes, and no line breaks (S58)", async () => {
  const client = openai(stack());
  const upload = async (name: string) =>
    (await client.files.create({ purpose: "batch", file: await toFile(Buffer.from("{}"), name) })).filename;
  expect(await upload('a "quoted" name.jsonl')).toBe('a "quoted" name.jsonl');
  expect(await upload("Übung 日本 🎉.jsonl")).toBe("Übung 日本 🎉.jsonl");
  expect(await upload("two\r\nlines.jsonl")).toBe("twolines.jsonl");
});
