import type { Balance } from "../../../ledger/accounts/accounts.ts";
import type { ListedKey, NamedKey } from "../../../ledger/keys/key-list.ts";
import type { AutoTopUp } from "../../../ledger/payments/auto-top-up.ts";
import type { KeyUsagePage, UsageTotals } from "../../../ledger/usage/reports.ts";
import type { ListedRequest } from "../../../ledger/usage/listed-request.ts";
import type { Bar } from "../../charts/series.ts";
import type { Member } from "../../session/visitor.ts";

/** What the overview shows. */
export interface Overview {
  visitor: Member;
  balance: Balance;
  /** How many there are. */
  keys: number;
  usage: UsageTotals;
  baseUrl: string;
  chatModel: string;
  messagesModel: string;
  /** Is there a payment provider? */
  canPay: boolean;
  /** Of the last 30 days; undefined: nothing was used in them. */
  activity: Activity | undefined;
  alertNanoUsd: bigint | null;
  autoTopUp: AutoTopUp | undefined;
}

export interface Activity {
  fromDay: string;
  toDay: string;
  /** By day and model. */
  bars: readonly Bar[];
  /** Names of all models, by which each has its colour. */
  modelRanks: readonly string[];
  byKey: KeyUsagePage;
  requests: readonly ListedRequest[];
  /** Names of those that requests were made with. */
  keyNames: readonly NamedKey[];
  /** The newest keys, with what limits them. */
  keys: readonly ListedKey[];
}
