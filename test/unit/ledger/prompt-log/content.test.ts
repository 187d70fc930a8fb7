import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { createPromptSealer, type PromptContent } from "../../../../ledger/prompt-log/content.ts";

const sealer = createPromptSealer(Buffer.alloc(32, 1));
const POSITION = { accountId: "acme", keyId: "AbCd5678WxYz", requestId: "0199aaaa-0000-7000-8000-000000000001" };
const textOf = (text: Buffer, bytes = text.length) => ({ text, bytes, isCut: bytes > text.length });

test.for<[string, PromptContent]>([
  ["texts", { request: textOf(Buffer.from("What is up?")), answer: textOf(Buffer.from("The sky.\n\n")) }],
  ["nothing", { request: textOf(Buffer.alloc(0)), answer: null }],
  [
    "NUL and bytes that are not UTF-8",
    { request: textOf(Buffer.from([0, 10, 255, 0])), answer: textOf(randomBytes(50_000), 90_000) },
  ],
])("%s are the same after sealing and opening", async ([, content]) => {
  expect(await sealer.open(POSITION, await sealer.seal(POSITION, content))).toEqual(content);
});

test.for([{ accountId: "other" }, { keyId: "BbCd5678WxYz" }, { requestId: "0199aaaa-0000-7000-8000-000000000002" }])(
  "a record cannot be opened as that of %j, by another pepper or when it was changed (S60)",
  async (other) => {
    const sealed = await sealer.seal(POSITION, { request: textOf(Buffer.from("secret")), answer: null });
    await expect(sealer.open({ ...POSITION, ...other }, sealed)).rejects.toThrow("damaged");
    await expect(createPromptSealer(Buffer.alloc(32, 2)).open(POSITION, sealed)).rejects.toThrow("damaged");
    sealed[20] = (sealed[20] ?? 0) ^ 1;
    await expect(sealer.open(POSITION, sealed)).rejects.toThrow("damaged");
  },
);

test("a prompt that repeats itself takes little room", async () => {
  const prompt = Buffer.from(JSON.stringify(Array.from({ length: 5_000 }, () => ({ role: "user", content: "Hello." }))));
  const sealed = await sealer.seal(POSITION, { request: textOf(prompt), answer: null });
  expect(sealed.length).toBeLessThan(prompt.length / 20);
});
