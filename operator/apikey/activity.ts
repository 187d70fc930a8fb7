import * as z from "zod";
import type { Database } from "../../ledger/postgres/database.ts";
import { formatNanoUsd } from "../../ledger/money.ts";
import { readKeyActivity, RESOURCE_PAGE, type KeyActivity } from "../../ledger/keys/resource-keys.ts";
import type { KubeClient } from "../kube/client.ts";
import { readConditions } from "../kube/conditions.ts";
import type { KubeObject } from "../kube/object.ts";
import { applyStatus } from "../kube/status-writer.ts";
import { parseApiKeyResource, type ApiKeyResource } from "./resource.ts";
import { isSpent, spentOf, toTime, type ApiKeyOutcome } from "./status.ts";

/** The part of the status that this writes, under a separate field manager. */
export const ACTIVITY_FIELDS = ["lastUsedAt", "spend"];
const FIELD_MANAGER = "model-gateway-activity";
const AT_ONCE = 8;

export interface ActivityDeps {
  client: Pick<KubeClient, "send">;
  database: Database;
  origin: string;
  isLeader(): boolean;
  find(key: string): KubeObject | undefined;
  clock: { nowMs(): number };
  /** A key has reached its limit, or is below it again. */
  onSpendLimit(key: string): void;
}

const keySchema = z.object({ keyId: z.string().optional() }).catch({});

/** Whether the shown use and spending are this key's: a backup restores those of an earlier one. */
export function isActivityOf(object: KubeObject, outcome: ApiKeyOutcome): boolean {
  if (outcome.kind === "invalid") return true;
  return outcome.key !== null && keySchema.parse(object["status"] ?? {}).keyId === outcome.key.publicId;
}

const shownSchema = z.object({ lastUsedAt: z.string().optional(), spend: z.object({ amount: z.string() }).optional() }).catch({});

/** Writes the keys' last use and spending, if they have changed. To be called once a minute. */
export async function writeActivity(deps: ActivityDeps): Promise<void> {
  let afterUid: string | undefined;
  do {
    const page = await readKeyActivity(deps.database, deps.origin, afterUid);
    for (let at = 0; at < page.length && deps.isLeader(); at += AT_ONCE)
      await Promise.all(page.slice(at, at + AT_ONCE).map((activity) => writeOne(deps, activity)));
    afterUid = page.length < RESOURCE_PAGE ? undefined : page.at(-1)?.uid;
  } while (afterUid !== undefined && deps.isLeader());
}

async function writeOne({ client, find, clock, onSpendLimit }: ActivityDeps, activity: KeyActivity): Promise<void> {
  const key = `${activity.namespace}/${activity.name}`;
  const object = find(key);
  if (object?.metadata.uid !== activity.uid) return;
  const shown = shownSchema.parse(object["status"] ?? {});
  const parsed = parseApiKeyResource(object);
  if (parsed.kind === "bad") return;
  if (isLimitNews(parsed.resource, object, activity)) onSpendLimit(key);
  const amount = formatNanoUsd(spentOf(parsed.resource.spec, activity));
  const lastUsedAt = activity.lastUsedAt === null ? undefined : toTime(activity.lastUsedAt);
  if (shown.lastUsedAt === lastUsedAt && shown.spend?.amount === amount) return;
  const status = { lastUsedAt, spend: { amount, asOf: toTime(new Date(clock.nowMs())) } };
  await applyStatus(client, { kind: "ApiKey", object, status, manager: FIELD_MANAGER, find: () => find(key) });
}

function isLimitNews({ spec }: ApiKeyResource, object: KubeObject, spent: KeyActivity): boolean {
  const ready = readConditions(object["status"]).find(({ type }) => type === "Ready");
  return (ready?.reason === "SpendLimitReached") !== isSpent(spec.spendLimit, spent);
}
