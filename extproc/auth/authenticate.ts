import { GatewayError } from "../../contract/errors.ts";
import { isTicket, type Ticket, type Tickets } from "../../ledger/batches/ticket.ts";
import {
  checkAccountState,
  checkKeyState,
  checkSecret,
  notValid,
  parseSentKey,
  unreadable,
  type SentKey,
} from "../../ledger/keys/check-key.ts";
import { findCredential } from "../../ledger/keys/credential.ts";
import type { Pepper } from "../../ledger/keys/keys.ts";
import type { World, WorldAccount, WorldKey } from "../world/world.ts";
import type { AddressCheck } from "./address-check.ts";
import { cannotCheck, type CatchUp } from "./catch-up.ts";

/** The payer of a request. */
export interface Caller {
  key: WorldKey;
  account: WorldAccount;
  /** Present if the gateway itself sends the request, for a batch of the key: the id under which it is settled. */
  batchRequestId?: string;
}

export interface AuthenticateInput {
  headers: ReadonlyMap<string, string>;
  world: World;
  catchUp: CatchUp;
  addresses: AddressCheck;
  pepper: Pepper;
  tickets: Pick<Tickets, "read">;
  nowMs: number;
  /** The page for creating keys. */
  keysUrl: string;
}

/**
 * The caller behind the credential (S18). A key is refused only by what the database said after the request came: it may have been
 * made, rotated or enabled a moment ago (docs/decisions/0036).
 * @returns the caller at once if the key is accepted by what is in memory.
 * @throws GatewayError `invalid_api_key`; `permission_denied` if the key is bound to other addresses or origins;
 * `billing_unavailable` if the gateway cannot know the key now.
 */
export function authenticate(input: AuthenticateInput): Caller | Promise<Caller> {
  const { world, catchUp, nowMs } = input;
  const sent = readCredential(input);
  try {
    return findCaller(sent, input);
  } catch (refusal) {
    // While the database is down, the known state applies.
    if (!(refusal instanceof GatewayError) || !world.isCurrent(nowMs)) throw refusal;
    return catchUp.wait().then(() => findCaller(sent, input));
  }
}

/**
 * The same caller, by what is known now: while a body comes, or its text is checked, the key may be deleted, disabled or rotated, and
 * the account suspended (S25).
 * @throws as `authenticate`, at once: a key that was accepted a moment ago is refused by what the database has said since.
 */
export function authenticateAgain({ key, batchRequestId }: Caller, input: AuthenticateInput): Caller {
  const { publicId } = key;
  if (batchRequestId !== undefined) return findCaller({ keyId: publicId, requestId: batchRequestId }, input);
  const isUnchanged = key.previousSecret === null && input.world.findKey(publicId) === key;
  return findCaller(isUnchanged ? { keyId: publicId } : readCredential(input), input);
}

function readCredential({ headers, tickets, nowMs, keysUrl }: AuthenticateInput): SentKey | Ticket {
  const credential = findCredential(headers, keysUrl);
  const ticket = isTicket(credential) ? tickets.read(credential, nowMs) : undefined;
  return ticket ?? parseSentKey(credential, keysUrl);
}

/** @param sent without a secret if that was checked before. */
function findCaller(
  sent: SentKey | Ticket | Pick<Ticket, "keyId">,
  { headers, world, addresses, pepper, nowMs, keysUrl }: AuthenticateInput,
): Caller {
  const key = world.findKey("keyId" in sent ? sent.keyId : sent.publicId);
  if (key === undefined) {
    // A new key may not have arrived while the database is down: that is not the caller's fault.
    if (!world.isCurrent(nowMs)) throw cannotCheck();
    throw notValid(keysUrl);
  }
  if (key.isUnreadable) throw unreadable("API key");
  // The batch was created with the secret, from where the key may be used.
  if ("secret" in sent) {
    const isFromAllowed = () => addresses.allows(key, headers);
    checkSecret(key, { secret: sent.secret, pepper, nowMs, headers, keysUrl, isFromAllowed });
  }
  checkKeyState(key, { nowMs, keysUrl });

  const account = world.findAccount(key.accountId);
  if (account === undefined) throw unreadable("account of this API key");
  checkAccountState(account);
  return "requestId" in sent ? { key, account, batchRequestId: sent.requestId } : { key, account };
}
