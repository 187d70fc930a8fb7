import { connect, type Socket } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { setAccountStatus } from "../../../ledger/accounts/accounts.ts";
import { changeKey } from "../../../ledger/keys/key-settings.ts";
import { parseApiKey, revokeApiKey, rotateApiKey } from "../../../ledger/keys/keys.ts";
import { readPepper } from "../../../local/demo.ts";
import { eventually } from "../../support/eventually.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** A key that is no longer valid works nowhere (S25), also not for a request that has begun but was not sent to a model server. */
let stack: TestProduct;
let pepper: Buffer;
beforeAll(async () => {
  stack = await borrowStack();
  pepper = await readPepper(stack.directory.pepper);
});
afterAll(() => stack.stop());

const BODY = JSON.stringify({ model: "modelx-v4-pro", max_tokens: 20, messages: [{ role: "user", content: "Hello." }] });

interface Upload {
  socket: Socket;
  /** The bytes received so far. */
  answer(): string;
}

/** Sends all of a request but its last byte. */
function beginUpload(apiKey: string): Upload {
  const { hostname, port } = new URL(stack.baseUrl);
  const socket = connect(Number(port), hostname);
  let answer = "";
  socket.on("data", (piece) => (answer += piece.toString("latin1")));
  onTestFinished(() => void socket.destroy());
  socket.write(
    `POST /v1/chat/completions HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer ${apiKey}\r\ncontent-type: application/json\r\n`,
  );
  socket.write(`content-length: ${BODY.length}\r\n\r\n${BODY.slice(0, -1)}`);
  return { socket, answer: () => answer };
}

async function statusOf(apiKey: string): Promise<number> {
  const response = await fetch(`${stack.baseUrl}/v1/models`, { headers: { authorization: `Bearer ${apiKey}` } });
  await response.text();
  return response.status;
}

test.for(["deleted", "disabled", "expired", "rotated", "of a suspended account"] as const)(
  "a request whose key is %s while its body arrives is refused and costs nothing",
  async (state) => {
    const { apiKey, accountId } = await stack.createAccount({ name: state.replaceAll(" ", "-"), creditNanoUsd: 1_000_000_000n });
    const parsed = parseApiKey(apiKey);
    const publicId = parsed.kind === "key" ? parsed.publicId : "";
    const key = { accountId, publicId };
    const upload = beginUpload(apiKey);
    await eventually(async () => expect(await statusOf(apiKey)).toBe(200));
    const { database } = stack;
    switch (state) {
      case "deleted":
        await revokeApiKey(database, publicId);
        break;
      case "disabled":
        await changeKey(database, key, { isDisabled: true });
        break;
      case "expired":
        await changeKey(database, key, { expiresAt: new Date() });
        break;
      case "rotated":
        await rotateApiKey(database, { publicId, pepper, previousUntil: null });
        break;
      case "of a suspended account":
        await setAccountStatus(database, accountId, "suspended");
        break;
    }
    await eventually(async () => expect(await statusOf(apiKey)).not.toBe(200));
    expect(upload.answer()).toBe("");
    upload.socket.write(BODY.slice(-1));
    await eventually(() => expect(upload.answer()).toMatch(/^HTTP\/1\.1 40[13] /));
    expect(await stack.balanceNanoUsd(accountId)).toBe(1_000_000_000n);
  },
);

test("a request whose body arrives while its key is rotated with an overlap is served", async () => {
  const { apiKey } = await stack.createAccount({ name: "customer", creditNanoUsd: 1_000_000_000n });
  const parsed = parseApiKey(apiKey);
  const publicId = parsed.kind === "key" ? parsed.publicId : "";
  const upload = beginUpload(apiKey);
  await eventually(async () => expect(await statusOf(apiKey)).toBe(200));
  const previousUntil = new Date(Date.now() + 60_000);
  const { value } = await rotateApiKey(stack.database, { publicId, pepper, previousUntil });
  await eventually(async () => expect(await statusOf(value)).toBe(200));
  upload.socket.write(BODY.slice(-1));
  await eventually(() => expect(upload.answer()).toMatch(/^HTTP\/1\.1 200 /));
});
