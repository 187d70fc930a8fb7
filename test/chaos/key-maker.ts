import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { countKeys } from "../../ledger/keys/key-list.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { createManagementToken } from "../../ledger/people/management-tokens.ts";
import { createPerson } from "../support/dashboard/people.ts";
import type { JudgedPage } from "./pages.ts";
import type { ProcessFault } from "./process-faults.ts";

/** An account without credit that makes and deletes keys, and reads their list, as fast as it can. */
export interface KeyMaker {
  run(signal: AbortSignal): Promise<void>;
  judge(happened: readonly ProcessFault[]): JudgedPage[];
  /** @returns what must hold of its account and does not. */
  audit(): Promise<string[]>;
}

interface Sent {
  status: number | undefined;
  hasRetryAfter: boolean;
  startedMs: number;
  endedMs: number;
}

const NAME = "a maker of keys";
/** More than wait for their turn, and less than a machine has to spare. */
const AT_ONCE = 30;
const PAUSE_MS = 250;
const GRACE_MS = 2_000;
/** Done, deleted by another of its requests, refused for a bound or a name, or too much at once. */
const EXPECTED = [200, 201, 204, 400, 404, 429];
/** Without these there is no answer. */
const NEEDED: readonly ProcessFault["member"][] = ["dashboard", "postgres", "envoy"];
const madeSchema = z.object({ id: z.string() });

export async function createKeyMaker(database: Database, baseUrl: string): Promise<KeyMaker> {
  const { person, accountId } = await createPerson(database, "key-maker@example.com");
  const owner = { accountId, name: "chaos", role: "owner", createdBy: person.id, expiresAt: null } as const;
  const { value } = await createManagementToken(database, owner);
  const all: Sent[] = [];
  let made: string | undefined;

  async function send(method: string, path: string, body?: object): Promise<void> {
    const startedMs = performance.now();
    const seen = await fetch(`${baseUrl}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${value}`, ...(body === undefined ? {} : { "content-type": "application/json" }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(60_000),
    })
      .then(async (response) => {
        const text = await response.text();
        if (response.status === 201) made = madeSchema.parse(JSON.parse(text)).id;
        return { status: response.status, hasRetryAfter: response.headers.has("retry-after") };
      })
      .catch(() => ({ status: undefined, hasRetryAfter: false }));
    all.push({ ...seen, startedMs, endedMs: performance.now() });
  }

  /** In turn a key, a key of invented models, the list, and a deletion. */
  function sendOne(number: number): Promise<void> {
    switch (number % 4) {
      case 0:
        return send("POST", "/keys", { name: "k".repeat(100) });
      case 1:
        return send("POST", "/keys", { name: "invented", allowed_models: Array.from({ length: 200 }, (_, at) => `model-${at}`) });
      case 2:
        return send("GET", "/keys?limit=200");
      default:
        return made === undefined ? send("GET", "/keys") : send("DELETE", `/keys/${made}`);
    }
  }

  return {
    async run(signal) {
      while (!signal.aborted) {
        await Promise.all(Array.from({ length: AT_ONCE }, (_, number) => sendOne(number)));
        await sleep(PAUSE_MS);
      }
    },
    judge: (happened) => all.map((sent) => judgeOne(sent, happened)),
    async audit() {
      const keys = await countKeys(database, accountId);
      return keys > ACCOUNT_BOUNDS.keys ? [`${NAME} has ${keys} keys; at most ${ACCOUNT_BOUNDS.keys} are allowed`] : [];
    },
  };
}

function judgeOne({ status, hasRetryAfter, startedMs, endedMs }: Sent, happened: readonly ProcessFault[]): JudgedPage {
  const isExplained = happened.some(
    ({ fromMs, untilMs, member }) => NEEDED.includes(member) && fromMs <= endedMs && startedMs <= untilMs + GRACE_MS,
  );
  if (status === 429 && !hasRetryAfter) return { name: NAME, result: "refused", problems: ["429 without retry-after"] };
  if (status !== undefined && EXPECTED.includes(status))
    return { name: NAME, result: status < 400 ? "answered" : "refused", problems: [] };
  return {
    name: NAME,
    result: status === 503 ? "refused" : "broken",
    problems: isExplained ? [] : [`status ${status ?? "none"}, and every process is there`],
  };
}
