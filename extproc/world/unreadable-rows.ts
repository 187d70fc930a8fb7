import type { UnreadableKind, UnreadableRow } from "../../ledger/feed/rows.ts";
import type { Logger } from "../../runtime/log.ts";
import { createOutage, type Outage } from "../../runtime/outage.ts";

/** Logs that rows cannot be read, and when all of a kind can be again. */
export interface UnreadableRows {
  /** After each change. */
  note(rows: readonly UnreadableRow[]): void;
}

export interface UnreadableRowsDeps {
  log: Logger;
  /** How many there are now. */
  counts(): Readonly<Record<UnreadableKind, number>>;
}

export function createUnreadableRows({ log, counts }: UnreadableRowsDeps): UnreadableRows {
  const outage = (failing: string, over: string) => createOutage({ log, failing, over });
  const outages: Record<UnreadableKind, Outage> = {
    account: outage(
      "a newer version wrote accounts that this one cannot read; their requests are refused",
      "all accounts can be read again",
    ),
    key: outage("a newer version wrote keys that this one cannot read; their requests are refused", "all keys can be read again"),
    model: outage(
      "a newer version published models that this one cannot read; those that were served stay as they were",
      "all models can be read again",
    ),
  };

  return {
    note(rows) {
      const now = counts();
      for (const { kind, id, reason } of rows) outages[kind].failed(new Error(reason), { [kind]: id, unreadable: now[kind] });
      if (now.account === 0) outages.account.over();
      if (now.key === 0) outages.key.over();
      if (now.model === 0) outages.model.over();
    },
  };
}
