import { GatewayError } from "../../contract/errors.ts";
import type { WorldAccount } from "../world/world.ts";

/** Decides from memory whether an account can pay for one more request (S6, S19). */
export interface Credit {
  /** @throws GatewayError `insufficient_balance` when the balance is known to be used up. */
  admit(account: WorldAccount): void;
  /** Nano-USD left: the posted balance less what is used but not settled yet. */
  availableNanoUsd(account: WorldAccount): bigint;
}

export interface CreditDeps {
  /** Charges of an account that wait for settlement, nano-USD. */
  pendingNanoUsd(accountId: string): bigint;
  /** Where credit is added; part of the refusal's text. */
  topUpUrl: string;
}

export function createCredit({ pendingNanoUsd, topUpUrl }: CreditDeps): Credit {
  const availableNanoUsd = (account: WorldAccount) => account.postedNanoUsd - pendingNanoUsd(account.accountId);
  return {
    availableNanoUsd,
    admit(account) {
      if (availableNanoUsd(account) > 0n) return;
      throw new GatewayError(
        "insufficient_balance",
        `Insufficient balance: this account has no credit left. Add credit at ${topUpUrl}.`,
        {
          // SDKs must not retry what only a payment can mend.
          headers: { "x-should-retry": "false" },
        },
      );
    },
  };
}
