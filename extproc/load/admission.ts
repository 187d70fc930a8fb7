import { GatewayError } from "../../contract/errors.ts";
import { COUNTED_MS, FLOOD_OPEN, FULL_WORK_MS, type AccountLoad, type AccountLoads } from "./account-load.ts";
import type { Lateness } from "./lateness.ts";
import { createSlot, type Slot } from "./slot.ts";
import { waitedMs } from "./turns.ts";

/**
 * How many requests this process carries at once, and whose. Further ones are refused before their body is read: a request
 * waiting in a queue would delay everybody behind it. Under strain only the accounts that cause it are refused.
 */
export interface Admission {
  /**
   * A slot until the request ends.
   * @throws GatewayError `rate_limited` if the account takes more than its part of a busy process, `overloaded` if the process is
   * full, or late without a single account causing it.
   */
  enter(load: AccountLoad): Slot;
  /** No other account has requested anything lately, or has anything in flight. */
  isAlone(load: AccountLoad): boolean;
}

/** Why a request was not admitted, for metrics. */
export type AdmissionRefusal = "full" | "late" | "places" | "work";

export interface AdmissionDeps {
  loads: Pick<AccountLoads, "size" | "workMs" | "strangers">;
  /** Maximum concurrent requests. */
  maxOpen: number;
  /** Monotonic. */
  clock: { nowMs(): number };
  lateness: Pick<Lateness, "meanMs" | "busyPart">;
  onRefused(reason: AdmissionRefusal): void;
}

/**
 * Once half of the slots are in use, an account may have no more than a quarter: one account's flood leaves room for the others.
 */
const BUSY_FROM = 1 / 2;
const ACCOUNT_SHARE = 1 / 4;
/** From here on others' requests are delayed by the account with most of the work. */
const STRAINED_MS = 20;
/**
 * Of all work. Accounts that all have something waiting take turns of the same length (turns.ts), so an account above this has
 * had it only next to accounts that wanted less.
 */
const MAX_PART = 4 / 5;
const MAX_EVEN_PARTS = 2;
/** By then a refusal takes as long as an answer should. */
const LATE_MS = 250;
/**
 * By then small users, too, are better off with an immediate answer, unless a few accounts cause it: refusing anybody else would
 * let one account shut the others out, and gain nothing.
 */
const STUCK_MS = 1_000;
/** Less strains nobody. */
const MUCH_WORK_MS = FULL_WORK_MS / 10;
/** An account that is no flood is refused only if it uses half of the process. */
const MUCH_WORK_OF_FEW_MS = FULL_WORK_MS / 2;
/** An account with less is served even if the process is late: it uses next to nothing. */
const LITTLE_WORK_MS = 20;
/** Of an even share. An account with less did not make it late. */
const LATE_PART = 0.9;
/** With less work the process is late because its machine is slow: no account caused that, and no refusal helps. */
const BUSY_PART = 0.9;
/** An account is alone if no other has requested anything for this long, or has anything in flight. */
const ALONE_AFTER_MS = 2_000;

const COME_AGAIN = { headers: { "retry-after": "1" } };

export function createAdmission({ loads, maxOpen, clock, lateness, onRefused }: AdmissionDeps): Admission {
  const busyFrom = Math.ceil(maxOpen * BUSY_FROM);
  const maxPerAccount = Math.max(1, Math.floor(maxOpen * ACCOUNT_SHARE));
  let open = 0;
  let lastAsker: AccountLoad | undefined;
  let lastAskedMs = -Infinity;
  /** When an account other than the last one made a request. */
  let lastOfOthersMs = -Infinity;

  function refusalFor(load: AccountLoad, nowMs: number): GatewayError | null {
    const { open: own, share } = load;
    const { workMs } = share;
    const late = lateness.meanMs;
    if (open >= maxOpen) return overloaded("full");
    if (open >= busyFrom && own >= maxPerAccount) {
      onRefused("places");
      return new GatewayError(
        "rate_limited",
        `The gateway is busy, and your account has ${own} requests in flight, its share. Wait for some of them to finish.`,
        COME_AGAIN,
      );
    }
    if (lateness.busyPart < BUSY_PART) return null;
    // Sums lag behind by a tenth of a second: an account's own work may exceed them.
    const allWorkMs = Math.max(loads.workMs, workMs) + loads.strangers.workMs;
    const part = allWorkMs === 0 ? 0 : workMs / allWorkMs;
    const isStrained = Math.max(late, waitedMs(share, nowMs)) >= STRAINED_MS;
    // Strangers count as one more account: what they cause is no account's fault.
    const users = loads.size + (loads.strangers.workMs >= COUNTED_MS ? 1 : 0);
    const evenPart = 1 / Math.max(1, users);
    const muchWorkMs = own >= FLOOD_OPEN ? MUCH_WORK_MS : MUCH_WORK_OF_FEW_MS;
    if (isStrained && workMs >= muchWorkMs && part > Math.min(MAX_PART, MAX_EVEN_PARTS * evenPart) && !isAlone(load, nowMs)) {
      onRefused("work");
      return new GatewayError(
        "rate_limited",
        `The gateway is busy, and ${Math.round(part * 100)}% of its recent work was for your account. Send fewer requests at a time, or try again in a moment.`,
        COME_AGAIN,
      );
    }
    const hasPart = part >= LATE_PART * evenPart;
    if (late >= STUCK_MS && (hasPart || users === 0)) return overloaded("late");
    return late >= LATE_MS && workMs >= LITTLE_WORK_MS && hasPart ? overloaded("late") : null;
  }

  function noteAsker(load: AccountLoad, nowMs: number): void {
    if (load !== lastAsker) {
      lastOfOthersMs = lastAskedMs;
      lastAsker = load;
    }
    lastAskedMs = nowMs;
  }

  function isAlone(load: AccountLoad, nowMs: number): boolean {
    return load.open === open && nowMs - (load === lastAsker ? lastOfOthersMs : lastAskedMs) > ALONE_AFTER_MS;
  }

  function overloaded(reason: "full" | "late"): GatewayError {
    onRefused(reason);
    return new GatewayError("overloaded", "The gateway is at capacity. Try again in a moment.", COME_AGAIN);
  }

  return {
    enter(load) {
      const nowMs = clock.nowMs();
      noteAsker(load, nowMs);
      const refusal = refusalFor(load, nowMs);
      if (refusal !== null) throw refusal;
      open += 1;
      load.open += 1;
      return createSlot(() => {
        open -= 1;
        load.open -= 1;
      });
    },
    isAlone: (load) => isAlone(load, clock.nowMs()),
  };
}
