import assert from "node:assert/strict";
import { connect as connectHttp2, constants } from "node:http2";
import { connect, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import { createAccount } from "../../ledger/accounts/accounts.ts";
import { postCredit } from "../../ledger/credit/entries.ts";
import { createApiKey } from "../../ledger/keys/keys.ts";
import { eventually } from "../support/eventually.ts";
import type { SupervisedStack } from "../support/supervised/supervised-stack.ts";
import { bodyOf, FIRST_OF_ATTACKERS, PATHS } from "./question.ts";
import { HUGE } from "./upstream-faults.ts";

/** An account that asks for nothing but trouble (docs/decisions/0031 and 0033). */
export interface Attack {
  name: string;
  /** Where the others ask meanwhile, if not as usual. */
  baseUrl?: string;
  /** Until the signal aborts; then all of its connections are closed. */
  run(signal: AbortSignal): Promise<void>;
}

const CREDIT_NANO_USD = 1_000_000_000_000_000n;
const BOMB_BYTES = 30_000_000;
const BOMBS = ["[", "{},", '{"a":', '{"role":"user","content":"x"},'];
const BOMB_PATHS = [...Object.values(PATHS), "/v1/messages/count_tokens"];
const UPLOADS = 12;
const UPLOAD_BYTES = 30 * 1024 * 1024;
const BEGUN = Buffer.alloc(1024 * 1024, " ");
const UNREAD = 10;
const FAST = 4;
const RESETTING = 10;
const RESETS_AT_ONCE = 50;

export async function createAttacks({ database, pepper }: SupervisedStack, baseUrl: string): Promise<Attack[]> {
  const { hostname, port } = new URL(baseUrl);
  const [rich, poor] = await Promise.all([newKey("attacker", CREDIT_NANO_USD), newKey("beggar", 0n)]);
  let number = FIRST_OF_ATTACKERS;

  async function newKey(accountId: string, amountNanoUsd: bigint): Promise<string> {
    await createAccount(database, { id: accountId, name: accountId });
    if (amountNanoUsd > 0n)
      await postCredit(database, { accountId, kind: "grant", amountNanoUsd, reference: `chaos of ${accountId}` });
    const { value } = await createApiKey(database, { accountId, name: "chaos", pepper });
    // Credit reaches extproc after the key.
    await eventually(async () => {
      const response = await fetch(`${baseUrl}/v1/balance`, { headers: { "x-api-key": value } });
      assert.equal(response.status, 200);
    });
    return value;
  }

  /** What becomes of the attack is not accounted for; what others lose by it is. */
  async function post(path: string, { key, body, signal }: { key: string; body: string; signal: AbortSignal }): Promise<void> {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const read = async (response: Response) => void (await response.arrayBuffer());
    await fetch(baseUrl + path, { method: "POST", headers, body, signal })
      .then(read)
      .catch(() => {});
  }

  async function bomb(key: string, signal: AbortSignal): Promise<void> {
    for (let round = 0; !signal.aborted; round++) {
      const piece = BOMBS[round % BOMBS.length] ?? "[";
      const body = `{"model":"pair","x":[${piece.repeat(Math.floor(BOMB_BYTES / piece.length))}`;
      await post(BOMB_PATHS[round % BOMB_PATHS.length] ?? PATHS.messages, { key, body, signal });
    }
  }

  function open(key: string, { length, begun }: { length: number; begun: Buffer }): Socket {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => {});
    const head = [
      `POST ${PATHS.chat} HTTP/1.1`,
      "host: gateway",
      `authorization: Bearer ${key}`,
      "content-type: application/json",
    ];
    socket.write([...head, `content-length: ${length}`, "", ""].join("\r\n"));
    socket.write(begun);
    return socket;
  }

  const hugeBody = () => {
    number += 1;
    const question = { number, interface: "chat", model: "single-chat", isStream: true, fault: HUGE, words: 100_000 } as const;
    return JSON.stringify(bodyOf(question));
  };

  async function fast(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) await post(PATHS.chat, { key: rich, body: hugeBody(), signal });
  }

  /** Opens streams and resets them before any is answered, until the server closes the connection; then on a new one. */
  async function reset(signal: AbortSignal): Promise<void> {
    const headers = {
      ":method": "POST",
      ":path": PATHS.chat,
      authorization: `Bearer ${rich}`,
      "content-type": "application/json",
    };
    while (!signal.aborted) {
      const session = connectHttp2(baseUrl);
      session.on("error", () => {});
      const isOpen = () => !signal.aborted && !session.closed && !session.destroyed;
      while (isOpen()) {
        for (let count = 0; count < RESETS_AT_ONCE && isOpen(); count++) {
          const stream = session.request(headers);
          stream.on("error", () => {});
          stream.write("{");
          stream.close(constants.NGHTTP2_CANCEL);
        }
        await nextTurn();
      }
      session.destroy();
    }
  }

  async function hold(sockets: readonly Socket[], signal: AbortSignal): Promise<void> {
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
    for (const socket of sockets) socket.destroy();
  }

  const times = <T>(length: number, make: () => T) => Array.from({ length }, make);

  return [
    { name: "bombs of JSON", run: async (signal) => void (await Promise.all([bomb(rich, signal), bomb(poor, signal)])) },
    {
      name: "uploads without end",
      run: (signal) =>
        hold(
          [rich, poor].flatMap((key) => times(UPLOADS, () => open(key, { length: UPLOAD_BYTES, begun: BEGUN }))),
          signal,
        ),
    },
    {
      name: "streams that nobody reads",
      run(signal) {
        const sockets = times(UNREAD, () => {
          const body = Buffer.from(hugeBody());
          return open(rich, { length: body.length, begun: body });
        });
        return hold(sockets, signal);
      },
    },
    {
      name: "streams that are reset at once",
      run: async (signal) => void (await Promise.all(times(RESETTING, () => reset(signal)))),
    },
    { name: "fast streams", run: async (signal) => void (await Promise.all(times(FAST, () => fast(signal)))) },
  ];
}
