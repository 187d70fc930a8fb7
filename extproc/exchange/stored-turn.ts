import { discard } from "../../runtime/discard.ts";
import type { Caller } from "../auth/authenticate.ts";
import { parseBody } from "../protocol/json/parse-body.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import { remove } from "../protocol/json/splice.ts";
import { joinInput, ownInput } from "../stored-responses/input.ts";
import { asksToStore, readStoredNames, type StoredNames } from "../stored-responses/names.ts";
import type { Recalled } from "../stored-responses/store.ts";
import { MAX_STORED_BYTES } from "../stored-responses/write-queue.ts";
import type { Storage } from "../translate/translation.ts";
import type { WorldModel } from "../world/world.ts";
import { charged } from "./charged.ts";
import type { ExchangeContext } from "./context.ts";

/** A request of a Model that stores responses, as if its client had sent the whole conversation. */
export interface StoredTurn {
  body: RequestBody;
  storage: Storage | null;
  /** Receives the response that the client got; null if it is not to be stored. */
  keep: ((response: Buffer) => void) | null;
}

export interface TurnRequest {
  body: RequestBody;
  headers: ReadonlyMap<string, string>;
  caller: Caller;
  model: WorldModel;
}

/**
 * Inserts the items that the request refers to. Only a request with references waits for the database.
 * @throws GatewayError, or rejects with one, for invalid or unknown references.
 */
export function recallTurn(context: ExchangeContext, request: TurnRequest): StoredTurn | Promise<StoredTurn> {
  const { body, model, caller } = request;
  if (context.protocol !== "responses" || model.storeHours === undefined) return { body, storage: null, keep: null };
  const names = readStoredNames(body);
  const own = ownInput(body);
  const isStored = asksToStore(body) && own !== null && own.length <= MAX_STORED_BYTES;
  const turn = { own, isStored, names, storeHours: model.storeHours };
  if (own === null || (names.previousResponseId === null && names.items.size === 0))
    return finish(context, request, turn, NOTHING_RECALLED);
  const { accountId } = caller.account;
  return context.deps.responses
    .recall(accountId, { names, own, reserve: roomBeside(context, body), charge: (work) => charged(context, work) })
    .then((recalled) => charged(context, () => finish(context, request, turn, recalled)));
}

const NOTHING_RECALLED: Recalled = { turns: [], items: new Map(), usedResponseIds: [] };

/** Until the request is complete, recalled items are in memory as read, as a list of items, and in the new body. */
const COPIES = 3;

/** Recalled items are admitted like a body that the client sent. */
function roomBeside(context: ExchangeContext, body: RequestBody): (bytes: number) => void {
  return (bytes) => context.heldBytes?.reserve(body.bytes.length + COPIES * bytes);
}

interface OwnTurn {
  own: Buffer | null;
  isStored: boolean;
  names: StoredNames;
  storeHours: number;
}

function finish(context: ExchangeContext, { body, headers, caller }: TurnRequest, turn: OwnTurn, recalled: Recalled): StoredTurn {
  const { own, isStored, names, storeHours } = turn;
  const { previousResponseId } = names;
  const joined: Buffer[] = [];
  const join = (ownItems: Buffer) => {
    const input = joinInput({ ...recalled, own: ownItems }, roomBeside(context, body));
    joined.push(input);
    return input;
  };
  const bytes = body.edit({
    store: (store) => (store?.toString("utf8") === "true" ? remove() : store),
    previous_response_id: remove,
    ...(own !== null && recalled.usedResponseIds.length > 0 && { input: () => join(own) }),
  });
  // All of it is in the new body.
  for (const buffer of [...joined, ...recalled.turns.flatMap(({ input, response }) => [input, response])]) discard(buffer);
  const isChanged = bytes !== body.bytes;
  if (isChanged) {
    context.requestBytes = bytes.length;
    context.heldBytes?.resize(bytes.length);
  }
  return {
    body: isChanged ? parseBody(bytes, { headers, interface: context.protocol }) : body,
    storage: isStored || previousResponseId !== null ? { isStored, previousResponseId } : null,
    keep: isStored && own !== null ? createKeep(context, { caller, own, previousResponseId, storeHours, recalled }) : null,
  };
}

interface Kept {
  caller: Caller;
  own: Buffer;
  previousResponseId: string | null;
  storeHours: number;
  recalled: Recalled;
}

/** A separate closure: it lives as long as the answer, and needs only the request's own input. */
function createKeep(context: ExchangeContext, { caller, own: input, previousResponseId, storeHours, recalled }: Kept) {
  const { accountId } = caller.account;
  const { responses } = context.deps;
  const { usedResponseIds } = recalled;
  return (response: Buffer) => responses.keep({ accountId, storeHours, previousResponseId, usedResponseIds, input, response });
}
