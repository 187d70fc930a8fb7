import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { DAY_MS, HOUR_MS } from "../../contract/days.ts";
import { END_USER, tagDimension } from "../../contract/labels.ts";
import type { Usage } from "../../contract/usage.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { createApiKey } from "../../ledger/keys/keys.ts";
import { listModels } from "../../ledger/models/model-list.ts";
import { chargeNanoUsd } from "../../ledger/money.ts";
import { createPartitionsFor } from "../../ledger/postgres/partitions.ts";
import { settle } from "../../ledger/settlement/settle.ts";
import type { Settlement } from "../../ledger/settlement/settlement.ts";
import { PEPPER, settlementOf } from "../support/billing/ledger.ts";

const DAYS = 30;
/** Of requests of accounts that keep tags. */
const TEAMS = ["search", "support", "search", "research and development", "ads"];

/** The same month at each run: a mixed congruential generator. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32) / 2 ** 32;
}

/**
 * Uses all models that are served for 30 days, today included, with new keys of these names.
 * @returns public ids of the keys.
 */
export async function useForAMonth(database: Database, accountId: string, keyNames: readonly string[]): Promise<string[]> {
  const random = numbers(7);
  const models = await listModels(database, Date.now());
  const priceVersions = await database.query({
    text: `SELECT name, price_version_id AS "priceVersionId" FROM model`,
    row: z.strictObject({ name: z.string(), priceVersionId: z.bigint() }),
  });
  const today = new Date().setUTCHours(0, 0, 0, 0);
  const keys: string[] = [];
  for (const name of keyNames) keys.push((await createApiKey(database, { accountId, name, pepper: PEPPER })).publicId);
  const settlements: Settlement[] = [];
  for (let day = DAYS - 1; day >= 0; day--)
    for (let request = 0; request < 3 + Math.floor(random() * 9); request++) {
      // All of the last day's are today's.
      const startedMs = Math.max(Date.now() - Math.floor(random() * 8 * HOUR_MS), today) - day * DAY_MS;
      const listed = models[Math.floor(random() ** 2 * models.length)];
      if (listed === undefined) throw new Error("no model is served");
      const usage: Usage = {
        inputTokens: 2_000 + Math.floor(random() * 60_000),
        cachedInputTokens: Math.floor(random() * 400_000),
        cacheWriteTokens: 0,
        outputTokens: 400 + Math.floor(random() * 30_000),
        reasoningTokens: 0,
      };
      settlements.push(
        settlementOf(
          { accountId, keyId: keys[Math.floor(random() * keys.length)] ?? "" },
          {
            requestId: uuidv7({ msecs: startedMs }),
            model: listed.model.name,
            interface: random() < 0.5 ? "chat" : "messages",
            priceVersionId: priceVersions.find(({ name }) => name === listed.model.name)?.priceVersionId ?? 0n,
            usage,
            chargeNanoUsd: chargeNanoUsd(usage, listed.price),
            isStream: true,
            startedAt: new Date(startedMs),
            durationMs: 900 + Math.floor(random() * 20_000),
            firstTokenMs: 200 + Math.floor(random() * 600),
            outcome: random() < 0.04 ? "aborted" : "complete",
            labels: [
              { dimension: tagDimension("team"), value: TEAMS[(day + request) % TEAMS.length] ?? "" },
              { dimension: tagDimension("environment"), value: request % 3 === 0 ? "staging" : "production" },
              ...(request % 4 === 0 ? [] : [{ dimension: END_USER, value: `customer-${4_711 + ((day * 7 + request) % 23)}` }]),
            ],
          },
        ),
      );
    }
  await createPartitionsFor(
    database,
    settlements.map(({ requestId }) => requestId),
  );
  await settle(database, settlements);
  return keys;
}
