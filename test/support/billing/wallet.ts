import { GatewayError } from "../../../contract/errors.ts";
import type { Hold } from "../../../extproc/credit/hold.ts";
import { createWallet } from "../../../extproc/credit/wallet.ts";
import type { LeaseGrant } from "../../../ledger/leases/lease.ts";
import { LeasesKeptError } from "../../../ledger/leases/leases.ts";
import { sizeOf } from "./hold-size.ts";

/** A client that stays. */
export const never = new AbortController().signal;

/** A wallet whose bank has `free` to give, `slice` at a time, or is away. */
export function startWallet({ free = 1_000n, slice = 100n, others = 0n, nowMs = () => Date.now() } = {}) {
  const account = { free, others, isAway: false, failsOnce: false, isKept: false, isAnswerLost: false, isEnded: false, grows: 0 };
  const returned: string[] = [];
  let leases = 0;
  const granted = new Map<string, bigint>();
  const wallet = createWallet({
    accountId: "acme",
    bank: {
      ttlMs: 90_000,
      minNanoUsd: slice,
      async grow({ leaseId, neededNanoUsd, wantedNanoUsd }): Promise<LeaseGrant> {
        account.grows++;
        await Promise.resolve();
        if (account.isAway) throw new Error("connection refused");
        if (account.isEnded) {
          account.isEnded = false;
          return {
            isOpen: false,
            addedNanoUsd: 0n,
            grantedNanoUsd: 0n,
            spendableNanoUsd: 0n,
            freeNanoUsd: 0n,
            leasedByOthersNanoUsd: 0n,
          };
        }
        const wanted = wantedNanoUsd > slice ? wantedNanoUsd : slice;
        const reachable = wanted < account.free ? wanted : account.free;
        const addedNanoUsd = reachable < neededNanoUsd ? 0n : reachable;
        account.free -= addedNanoUsd;
        const facts = { spendableNanoUsd: 0n, freeNanoUsd: account.free, leasedByOthersNanoUsd: account.others };
        const grantedNanoUsd = (granted.get(leaseId) ?? 0n) + addedNanoUsd;
        if (grantedNanoUsd > 0n) granted.set(leaseId, grantedNanoUsd);
        if (account.isAnswerLost) throw new Error("connection lost");
        return { isOpen: granted.has(leaseId), addedNanoUsd, grantedNanoUsd, ...facts };
      },
      async shrink({ leaseId, nanoUsd }) {
        await Promise.resolve();
        if (account.isAway || account.failsOnce) {
          account.failsOnce = false;
          throw new Error("connection refused");
        }
        account.free += nanoUsd;
        granted.set(leaseId, (granted.get(leaseId) ?? 0n) - nanoUsd);
      },
      async giveBack({ leaseId }) {
        if (account.isKept) throw new LeasesKeptError(new Error("connection refused"));
        if (account.isAway) throw new Error("connection refused");
        returned.push(leaseId);
      },
    },
    clock: { nowMs },
    newLeaseId: () => `lease-${++leases}`,
    topUpUrl: "https://example.test/dashboard",
    onLeased: () => {},
    onLeaseFailed: () => {},
  });
  return { account, wallet, returned };
}

/** A refusal as its code and text; the hold where there is one. */
export async function outcomeOf(hold: Hold | Promise<Hold>): Promise<Hold | string> {
  try {
    return await hold;
  } catch (error) {
    if (error instanceof GatewayError) return `${error.code} ${JSON.stringify(error.headers)}`;
    throw error;
  }
}

/** A wallet with a lease of 100. */
export async function openWallet() {
  const started = startWallet();
  const first = await started.wallet.admit(sizeOf(10n), never);
  first.release();
  return started;
}
