import { GatewayError } from "../../contract/errors.ts";

/**
 * How many requests this process carries at once. What is beyond is refused before its body is read: one that waited in a
 * queue would be late for everybody behind it.
 */
export interface Admission {
  /**
   * A place until the request ends.
   * @throws GatewayError `overloaded` where the process is full or late, `rate_limited` where the account has its share.
   */
  enter(accountId: string): Place;
}

export interface Place {
  /** Once is enough, more often does no harm. */
  leave(): void;
}

export interface AdmissionDeps {
  /** Most requests at once. */
  mostOpen: number;
  /** How far this process is behind with its work, ms. */
  lateMs(): number;
}

/** By then a refusal takes as long as an answer should. */
const LATE_FROM_MS = 250;

/** From half of the places on, an account may have no more than a quarter: one account's flood leaves room for the others. */
const BUSY_FROM = 1 / 2;
const ACCOUNT_SHARE = 1 / 4;
/** From here on whoever has more than half of what runs gets nothing more: others' requests wait for its work. */
const STRAINED_FROM_MS = 20;
/** Fewer are no flood. */
const LEAST_FLOOD = 8;

const COME_AGAIN = { headers: { "retry-after": "1" } };

export function createAdmission({ mostOpen, lateMs }: AdmissionDeps): Admission {
  const openByAccount = new Map<string, number>();
  const busyFrom = Math.ceil(mostOpen * BUSY_FROM);
  const share = Math.max(1, Math.floor(mostOpen * ACCOUNT_SHARE));
  let open = 0;

  function hasItsShare(own: number, late: number): boolean {
    if (open >= busyFrom && own >= share) return true;
    const isAlone = own === open;
    return late >= STRAINED_FROM_MS && own >= LEAST_FLOOD && own * 2 > open && !isAlone;
  }

  function leave(accountId: string): void {
    open -= 1;
    const left = (openByAccount.get(accountId) ?? 1) - 1;
    if (left === 0) openByAccount.delete(accountId);
    else openByAccount.set(accountId, left);
  }

  return {
    enter(accountId) {
      const late = lateMs();
      if (open >= mostOpen || late >= LATE_FROM_MS)
        throw new GatewayError(
          "overloaded",
          "The gateway has as many requests as it can carry. Try again in a moment.",
          COME_AGAIN,
        );
      const own = openByAccount.get(accountId) ?? 0;
      if (hasItsShare(own, late))
        throw new GatewayError(
          "rate_limited",
          `The gateway is busy, and your account has ${own} requests under way, its share. Wait for some of them to end.`,
          COME_AGAIN,
        );
      open += 1;
      openByAccount.set(accountId, own + 1);
      let isHere = true;
      return {
        leave() {
          if (isHere) leave(accountId);
          isHere = false;
        },
      };
    },
  };
}
