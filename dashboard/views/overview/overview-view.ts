import type { Balance } from "../../../ledger/accounts/accounts.ts";
import type { ListedKey, NamedKey } from "../../../ledger/keys/key-list.ts";
import type { AutoTopUp } from "../../../ledger/payments/auto-top-up.ts";
import type { KeyUsagePage, UsageTotals } from "../../../ledger/usage/reports.ts";
import type { ListedRequest } from "../../../ledger/usage/listed-request.ts";
import type { Bar } from "../../charts/series.ts";
import type { ExampleModels } from "../keys/choose-models.ts";
import type { Member } from "../../session/visitor.ts";

/** The content of the overview. */
export interface Overview {
  visitor: Member;
  balance: Balance;
  /** Number of keys. */
  keys: number;
  usage: UsageTotals;
  baseUrl: string;
  examples: ExampleModels;
  /** Whether there is a payment provider. */
  canPay: boolean;
  /** Of the last 30 days; undefined if nothing was used. */
  activity: Activity | undefined;
  alertNanoUsd: bigint | null;
  autoTopUp: AutoTopUp | undefined;
}

export interface Activity {
  fromDay: string;
  toDay: string;
  /** By day and model. */
  bars: readonly Bar[];
  /** Names of all models, which determine their colours. */
  modelRanks: readonly string[];
  byKey: KeyUsagePage;
  requests: readonly ListedRequest[];
  /** Names of the keys of these requests. */
  keyNames: readonly NamedKey[];
  /** The newest keys, with their limits. */
  keys: readonly ListedKey[];
}
