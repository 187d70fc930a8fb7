import { GatewayError } from "../../contract/errors.ts";
import { MAX_REQUEST_BYTES } from "../../contract/headers.ts";
import { readParts, type StoredPart } from "../../ledger/responses/read-parts.ts";
import {
  deleteResponse,
  sizeConversation,
  sizeItems,
  sizePart,
  type StoredConversation,
} from "../../ledger/responses/read-responses.ts";
import type { Queryable } from "../../ledger/postgres/database.ts";
import type { Sealer } from "../../ledger/sealer.ts";
import { discard } from "../../runtime/discard.ts";
import { pause } from "../../runtime/wait.ts";
import { MAX_REFERENCE_BYTES, MAX_TURNS, outputOf, referencesIn, textMember, tooLarge, type OpenedTurn } from "./input.ts";
import { ID_FORM_IN_WORDS, isStorableId, type StoredNames } from "./names.ts";
import type { Slices } from "./slices.ts";
import type { FinishedResponse, SealedPart, WriteQueue } from "./write-queue.ts";

/**
 * Responses that clients continue by id (docs/decisions/0049). An account finds only its own. Every method throws GatewayError
 * `not_found` or `previous_response_not_found` for missing responses, and `overloaded` if the database does not answer.
 */
export interface ResponseStore {
  /** Stores a response soon, if there is room. Never waits, never throws. */
  keep(response: FinishedResponse): void;
  recall(accountId: string, request: RecallRequest): Promise<Recalled>;
  find(accountId: string, responseId: string): Promise<Buffer>;
  /** The `input` of its request: a list of items. */
  findInput(accountId: string, responseId: string): Promise<Buffer>;
  remove(accountId: string, responseId: string): Promise<void>;
}

interface RecallRequest {
  names: StoredNames;
  /** The request's own input. */
  own: Buffer;
  /** Reserves room for recalled bytes before they are read, or throws: a request of 200 bytes may name 32 MiB. */
  reserve(bytes: number): void;
  /** Runs work for which the account pays. */
  charge<Result>(work: () => Result): Result;
}

/** What a request names. */
export interface Recalled {
  /** The conversation that it continues, the first turn first. */
  turns: readonly OpenedTurn[];
  items: ReadonlyMap<string, Buffer>;
  usedResponseIds: readonly string[];
}

export interface ResponseStoreDeps {
  database: Queryable;
  sealer: Sealer;
  queue: WriteQueue;
  slices: Slices;
}

interface ItemsQuery {
  accountId: string;
  itemIds: readonly string[];
  fields: ReadonlyMap<string, string>;
  addRoom: AddRoom;
  charge: RecallRequest["charge"];
}

/** @throws GatewayError that names the field, for more than a request may have or than there is room for. */
type AddRoom = (bytes: number, field: string) => void;

const MAX_ITEMS = 5_000;
const MAX_READS = 64;
const MAX_READS_OF_ACCOUNT = 8;
/** A response may still be on its way into the database from another process. */
const LOOK_AGAIN_AFTER_MS = [50, 150, 400];
const COME_AGAIN = { headers: { "retry-after": "1" } };

export function createResponseStore({ database, sealer, queue, slices }: ResponseStoreDeps): ResponseStore {
  const readsOf = new Map<string, number>();
  let reads = 0;

  /** The database has few connections, and a missing response is looked up several times. */
  async function read<Result>(accountId: string, work: () => Promise<Result>): Promise<Result> {
    const own = readsOf.get(accountId) ?? 0;
    if (own >= MAX_READS_OF_ACCOUNT)
      throw new GatewayError(
        "rate_limited",
        `Your account has ${own} requests waiting for stored responses. Try again shortly.`,
        COME_AGAIN,
      );
    if (reads >= MAX_READS) throw unreadable();
    reads += 1;
    readsOf.set(accountId, own + 1);
    try {
      await queue.written(accountId);
      return await work();
    } catch (error) {
      throw error instanceof GatewayError ? error : unreadable(error);
    } finally {
      reads -= 1;
      const left = (readsOf.get(accountId) ?? 0) - 1;
      if (left === 0) readsOf.delete(accountId);
      else readsOf.set(accountId, left);
    }
  }

  async function readTurns(
    accountId: string,
    responseId: string,
    { addRoom, charge }: Pick<ItemsQuery, "addRoom" | "charge">,
  ): Promise<{ ids: string[]; turns: OpenedTurn[] }> {
    const found = await lookAgain<StoredConversation>(
      () => sizeConversation(database, { accountId, responseId, maxResponses: MAX_TURNS }),
      ({ kind }) => kind === "missing",
    );
    switch (found.kind) {
      case "missing":
        throw previousMissing(responseId, found.missingId);
      case "too_long":
        throw tooLarge("previous_response_id");
      case "found": {
        addRoom(sum(found.turns.map(({ inputBytes, responseBytes }) => inputBytes + responseBytes)), "previous_response_id");
        const parts = found.turns.flatMap(({ responseId, inputBytes, responseBytes }): StoredPart[] => [
          { responseId, part: "input", bytes: inputBytes },
          { responseId, part: "response", bytes: responseBytes },
        ]);
        const opened = openParts(accountId, parts, charge);
        const turns: OpenedTurn[] = [];
        for (const { responseId: id } of found.turns) {
          const input = (await opened.next()).value;
          const response = (await opened.next()).value;
          // Deleted since its size was read.
          if (!(input instanceof Buffer && response instanceof Buffer)) throw previousMissing(responseId, id);
          turns.push({ input, response });
        }
        return { ids: found.turns.map(({ responseId }) => responseId), turns };
      }
    }
  }

  async function findItems({
    accountId,
    itemIds,
    fields,
    addRoom,
    charge,
  }: ItemsQuery): Promise<{ ids: string[]; items: Map<string, Buffer> }> {
    const items = new Map<string, Buffer>();
    if (itemIds.length === 0) return { ids: [], items };
    if (itemIds.length > MAX_ITEMS) throw tooLarge("input");
    const isIncomplete = (rows: readonly { itemIds: readonly string[] }[]) =>
      new Set(rows.flatMap((row) => row.itemIds)).size < itemIds.length;
    const rows = await lookAgain(() => sizeItems(database, { accountId, itemIds }), isIncomplete);
    addRoom(sum(rows.map(({ responseBytes }) => responseBytes)), "input");
    const isAsked = new Set(itemIds);
    const isAmbiguous = new Set<string>();
    const parts = rows.map(({ responseId, responseBytes: bytes }): StoredPart => ({ responseId, part: "response", bytes }));
    const take = (response: Buffer) => {
      for (const item of outputOf(response)) {
        const id = textMember(item, "id") ?? "";
        if (items.has(id)) isAmbiguous.add(id);
        if (isAsked.has(id)) items.set(id, item);
      }
    };
    for await (const response of openParts(accountId, parts, charge)) {
      // A response that was deleted since its size was read has no items.
      if (response !== undefined) charge(() => take(response));
    }
    for (const id of itemIds) if (!items.has(id) || isAmbiguous.has(id)) throw itemMissing(id, fields, isAmbiguous.has(id));
    return { ids: rows.map(({ responseId }) => responseId), items };
  }

  /** Sequentially: only one of the encrypted parts is in memory at a time. */
  async function* openParts(
    accountId: string,
    parts: readonly StoredPart[],
    charge: RecallRequest["charge"],
  ): AsyncGenerator<Buffer | undefined, void> {
    const sealed = readParts(database, accountId, parts);
    const slice = slices.begin();
    for (const { responseId, part } of parts) {
      const { value } = await sealed.next();
      await slice();
      const plain = value instanceof Buffer ? charge(() => open(value, { accountId, responseId, part })) : undefined;
      if (value instanceof Buffer) discard(value);
      yield plain;
    }
  }

  function findPart({ accountId, responseId, part }: SealedPart): Promise<Buffer> {
    return read(accountId, async () => {
      const look = () => sizePart(database, { accountId, responseId, part });
      const bytes = isStorableId(responseId) ? await lookAgain(look, (found) => found === undefined) : undefined;
      if (bytes === undefined) throw responseMissing(responseId);
      const { value } = await openParts(accountId, [{ responseId, part, bytes }], free).next();
      // Deleted since its size was read.
      if (!(value instanceof Buffer)) throw responseMissing(responseId);
      return value;
    });
  }

  const open = (sealed: Buffer, about: SealedPart): Buffer => {
    const plain = sealer.unseal(sealed, describe(about));
    if (plain === undefined) throw new Error("a stored response was sealed with another pepper, or changed");
    return plain;
  };

  return {
    keep: queue.add,
    recall: (accountId, { names: { previousResponseId: previous, items: fields }, own, reserve, charge }) =>
      read(accountId, async () => {
        if (previous !== null && !isStorableId(previous)) throw previousMissing(previous, previous);
        let recalled = 0;
        const addRoom: AddRoom = (bytes, field) => {
          recalled += bytes;
          if (recalled > MAX_REQUEST_BYTES) throw tooLarge(field);
          reserve(recalled);
        };
        const { ids, turns } =
          previous === null ? { ids: [], turns: [] } : await readTurns(accountId, previous, { addRoom, charge });
        const itemIds = charge(() => referencesIn([...turns.map(({ input }) => input), own]));
        for (const [id, field] of fields) if (!itemIds.has(id)) throw referenceTooLong(field);
        const found = await findItems({ accountId, itemIds: [...itemIds], fields, addRoom, charge });
        return { turns, items: found.items, usedResponseIds: [...new Set([...ids, ...found.ids])] };
      }),
    find: (accountId, responseId) => findPart({ accountId, responseId, part: "response" }),
    findInput: (accountId, responseId) => findPart({ accountId, responseId, part: "input" }),
    remove: (accountId, responseId) =>
      read(accountId, async () => {
        const look = () => deleteResponse(database, { accountId, responseId });
        const isThere = isStorableId(responseId) && (await lookAgain(look, (deleted) => !deleted));
        if (!isThere) throw responseMissing(responseId);
      }),
  };
}

/** Reading one response is a free request, with a rate of its own. */
const free = <Result>(work: () => Result): Result => work();

/** What a sealed part is bound to: it cannot be opened as anything else. */
export function describe({ accountId, responseId, part }: SealedPart): string {
  return JSON.stringify([accountId, responseId, part]);
}

function sum(sizes: readonly number[]): number {
  return sizes.reduce((total, size) => total + size, 0);
}

async function lookAgain<Found>(look: () => Promise<Found>, isMissing: (found: Found) => boolean): Promise<Found> {
  let found = await look();
  for (const afterMs of LOOK_AGAIN_AFTER_MS) {
    if (!isMissing(found)) break;
    await pause(afterMs, new AbortController().signal);
    found = await look();
  }
  return found;
}

const WHY_MISSING = "It may have expired, or may not have been stored.";
const SEND_ALL = "Send the whole conversation in `input`.";

function previousMissing(responseId: string, missingId: string): GatewayError {
  const missing = missingId === responseId ? WHY_MISSING : `It continues the response '${missingId}', which is no longer stored.`;
  const message = isStorableId(responseId)
    ? `Previous response with id '${responseId}' not found. ${missing} ${SEND_ALL}`
    : `\`previous_response_id\` is the id of no response: ${ID_FORM_IN_WORDS}. ${SEND_ALL}`;
  return new GatewayError("previous_response_not_found", message, { field: "previous_response_id" });
}

function referenceTooLong(field: string): GatewayError {
  const message = `\`${field}\` is in an item of more than ${MAX_REFERENCE_BYTES} bytes, too long for a reference. Send its \`type\` and \`id\` alone, or the item itself.`;
  return new GatewayError("invalid_request", message, { field });
}

function itemMissing(id: string, fields: ReadonlyMap<string, string>, isAmbiguous: boolean): GatewayError {
  const why = isAmbiguous ? "is in several responses" : "not found";
  const advice = isAmbiguous ? "" : ` ${WHY_MISSING}`;
  const field = fields.get(id) ?? "previous_response_id";
  return new GatewayError("not_found", `Item with id '${id}' ${why}.${advice} Send the item itself.`, { field });
}

function responseMissing(id: string): GatewayError {
  return new GatewayError(
    "not_found",
    isStorableId(id)
      ? `Response with id '${id}' not found. ${WHY_MISSING}`
      : `This is the id of no response: ${ID_FORM_IN_WORDS}.`,
  );
}

function unreadable(cause?: unknown): GatewayError {
  const message = "Stored responses cannot be read right now. Try again in a moment.";
  return new GatewayError("overloaded", message, { ...COME_AGAIN, cause });
}
