import { UNBOUND, type KeyAccess } from "../../contract/key-access.ts";
import type { Limits } from "../../contract/limits.ts";
import type { StoredSecret } from "../../ledger/keys/keys.ts";
import { createIdIndex, hashBytes } from "./id-index.ts";
import { createInterner } from "./interner.ts";
import { createTally } from "./tally.ts";

/** A key that is not deleted, as a request needs it. */
export interface WorldKey extends StoredSecret, KeyAccess {
  publicId: string;
  accountId: string;
  isDisabled: boolean;
  /** A newer version wrote its row: nothing but its id is known. */
  isUnreadable: boolean;
  expiresAt: Date | null;
  /** null: all models. */
  allowedModels: readonly string[] | null;
  limits: Limits;
  /** Prompts and answers are recorded. */
  hasPromptLog: boolean;
}

/**
 * Keys by public id, in typed arrays: 80 bytes a key where an object, its hash and its id would take 400, and nothing for
 * the garbage collector to walk through (docs/decisions/0028).
 */
export interface KeyTable {
  find(publicId: string): WorldKey | undefined;
  set(key: WorldKey): void;
  delete(publicId: string): void;
  /** Keys that are set from now on belong to a new generation. */
  beginGeneration(): void;
  /** Deletes keys that were not set since. @returns their ids. */
  deleteOlder(): string[];
  /** Whether a key is bound to this origin. */
  hasOrigin(origin: string): boolean;
  readonly size: number;
  /** How many of them cannot be read. */
  readonly unreadable: number;
}

/** Grows by so many rows at a time: nothing is ever copied into something larger. */
const CHUNK_ROWS = 8_192;
const ID_BYTES = 12;
const HASH_BYTES = 32;
const NEVER = Infinity;
const DISABLED = 1;
const UNREADABLE = 2;
const PROMPT_LOG = 4;

/** What many keys have in common, kept once. */
interface Settings extends KeyAccess {
  allowedModels: readonly string[] | null;
  limits: Limits;
}

interface Chunk {
  ids: Uint8Array;
  hashes: Uint8Array;
  /** Unix ms. */
  expiries: Float64Array;
  generations: Uint32Array;
  flags: Uint8Array;
  /** null: the row is free. */
  accountIds: (string | null)[];
  settings: Settings[];
}

const NO_SETTINGS: Settings = { allowedModels: null, limits: {}, ...UNBOUND };

export function createKeyTable(): KeyTable {
  const chunks: Chunk[] = [];
  const freeRows: number[] = [];
  /** Of rows whose secret was rotated a short time ago. */
  const previousSecrets = new Map<number, NonNullable<StoredSecret["previousSecret"]>>();
  const settings = createInterner<Settings>((value) =>
    JSON.stringify([value.allowedModels, value.limits, value.allowedAddresses, value.allowedOrigins]),
  );
  const origins = createTally();
  const index = createIdIndex({
    hasId(row, id) {
      const { ids } = chunkOf(row);
      const start = (row % CHUNK_ROWS) * ID_BYTES;
      if (id.length !== ID_BYTES) return false;
      for (let at = 0; at < ID_BYTES; at++) if (ids[start + at] !== id.charCodeAt(at)) return false;
      return true;
    },
    hashOf: (row) => hashBytes(chunkOf(row).ids, (row % CHUNK_ROWS) * ID_BYTES, ID_BYTES),
  });
  let rows = 0;
  let size = 0;
  let unreadable = 0;
  let generation = 0;

  function chunkOf(row: number): Chunk {
    const chunk = chunks[Math.floor(row / CHUNK_ROWS)];
    if (chunk === undefined) throw new Error(`The table has no row ${row}.`);
    return chunk;
  }

  function addRow(publicId: string): number {
    const row = freeRows.pop() ?? rows++;
    if (row === chunks.length * CHUNK_ROWS) chunks.push(createChunk());
    const { ids } = chunkOf(row);
    const start = (row % CHUNK_ROWS) * ID_BYTES;
    for (let at = 0; at < ID_BYTES; at++) ids[start + at] = publicId.charCodeAt(at);
    index.add(publicId, row);
    size++;
    return row;
  }

  /** Most keys have none, and take no look into the table of all. */
  function takeSettings({ allowedModels, limits, allowedAddresses, allowedOrigins }: Settings): Settings {
    const isBound = allowedAddresses !== null || allowedOrigins !== null;
    if (allowedModels === null && !isBound && Object.keys(limits).length === 0) return NO_SETTINGS;
    for (const origin of allowedOrigins ?? []) origins.add(origin);
    return settings.take({ allowedModels, limits, allowedAddresses, allowedOrigins });
  }

  function releaseSettings(value: Settings | undefined): void {
    if (value === undefined || value === NO_SETTINGS) return;
    for (const origin of value.allowedOrigins ?? []) origins.remove(origin);
    settings.release(value);
  }

  function setFlags({ flags }: Chunk, at: number, next: number): void {
    unreadable += (isSet(next, UNREADABLE) ? 1 : 0) - (isSet(flags[at], UNREADABLE) ? 1 : 0);
    flags[at] = next;
  }

  function deleteRow(publicId: string, row: number): void {
    const chunk = chunkOf(row);
    const at = row % CHUNK_ROWS;
    index.remove(publicId, row);
    releaseSettings(chunk.settings[at]);
    chunk.settings[at] = NO_SETTINGS;
    setFlags(chunk, at, 0);
    chunk.accountIds[at] = null;
    chunk.hashes.fill(0, at * HASH_BYTES, (at + 1) * HASH_BYTES);
    previousSecrets.delete(row);
    freeRows.push(row);
    size--;
  }

  return {
    get size() {
      return size;
    },
    get unreadable() {
      return unreadable;
    },
    hasOrigin: origins.has,
    find(publicId) {
      const row = index.find(publicId);
      if (row < 0) return undefined;
      const chunk = chunkOf(row);
      const at = row % CHUNK_ROWS;
      const expiresMs = chunk.expiries[at] ?? NEVER;
      const { allowedModels, limits, allowedAddresses, allowedOrigins } = chunk.settings[at] ?? NO_SETTINGS;
      return {
        publicId,
        accountId: chunk.accountIds[at] ?? "",
        // A copy: the row may become another key's.
        secretHash: Buffer.from(chunk.hashes.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES)),
        previousSecret: previousSecrets.get(row) ?? null,
        isDisabled: isSet(chunk.flags[at], DISABLED),
        isUnreadable: isSet(chunk.flags[at], UNREADABLE),
        expiresAt: expiresMs === NEVER ? null : new Date(expiresMs),
        allowedModels,
        limits,
        hasPromptLog: isSet(chunk.flags[at], PROMPT_LOG),
        allowedAddresses,
        allowedOrigins,
      };
    },
    set({ publicId, accountId, secretHash, previousSecret, isDisabled, isUnreadable, hasPromptLog, expiresAt, ...shared }) {
      const known = index.find(publicId);
      const row = known < 0 ? addRow(publicId) : known;
      const chunk = chunkOf(row);
      const at = row % CHUNK_ROWS;
      releaseSettings(chunk.settings[at]);
      chunk.settings[at] = takeSettings(shared);
      chunk.accountIds[at] = accountId;
      chunk.hashes.set(secretHash, at * HASH_BYTES);
      chunk.expiries[at] = expiresAt?.getTime() ?? NEVER;
      setFlags(chunk, at, (isDisabled ? DISABLED : 0) | (isUnreadable ? UNREADABLE : 0) | (hasPromptLog ? PROMPT_LOG : 0));
      chunk.generations[at] = generation;
      if (previousSecret === null) previousSecrets.delete(row);
      else previousSecrets.set(row, previousSecret);
    },
    delete(publicId) {
      const row = index.find(publicId);
      if (row >= 0) deleteRow(publicId, row);
    },
    beginGeneration() {
      generation++;
    },
    deleteOlder() {
      const deleted: string[] = [];
      for (let row = 0; row < rows; row++) {
        const { ids, accountIds, generations } = chunkOf(row);
        const at = row % CHUNK_ROWS;
        if (accountIds[at] === null || generations[at] === generation) continue;
        const publicId = Buffer.from(ids.buffer, at * ID_BYTES, ID_BYTES).toString("latin1");
        deleteRow(publicId, row);
        deleted.push(publicId);
      }
      return deleted;
    },
  };
}

const isSet = (flags: number | undefined, flag: number): boolean => ((flags ?? 0) & flag) !== 0;

function createChunk(): Chunk {
  return {
    ids: new Uint8Array(CHUNK_ROWS * ID_BYTES),
    hashes: new Uint8Array(CHUNK_ROWS * HASH_BYTES),
    expiries: new Float64Array(CHUNK_ROWS),
    generations: new Uint32Array(CHUNK_ROWS),
    flags: new Uint8Array(CHUNK_ROWS),
    accountIds: Array.from({ length: CHUNK_ROWS }, () => null),
    settings: Array.from({ length: CHUNK_ROWS }, () => NO_SETTINGS),
  };
}
