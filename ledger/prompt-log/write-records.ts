import type { Interface } from "../../contract/protocol.ts";
import type { Queryable } from "../postgres/database.ts";

/** A request of a key with a prompt log; its content is encrypted. */
export interface NewRecord {
  accountId: string;
  keyId: string;
  /** UUIDv7. */
  requestId: string;
  startedAt: Date;
  interface: Interface;
  /** Null: it was refused before its model was known. */
  model: string | null;
  isStream: boolean;
  /** Null: the client left before it was answered. */
  status: number | null;
  /** The client got the answer to its end. */
  isWhole: boolean;
  /** As they were sent; the content may have less. More than the columns can hold is stored as the most that they can. */
  requestBytes: number;
  answerBytes: number;
  content: Buffer;
}

/** Of Postgres's type. An endless stream gets there. */
const MAX_INTEGER = 2 ** 31 - 1;
const COLUMNS = [
  "account_id text",
  "key_id text",
  "request_id uuid",
  "started_at timestamptz",
  "interface text",
  "model text",
  "is_stream boolean",
  "status smallint",
  "is_whole boolean",
  "request_bytes integer",
  "answer_bytes integer",
  "content bytea",
].map((column) => column.split(" "));
const NAMES = COLUMNS.map(([name]) => name).join(", ");

/**
 * Stores a batch in one statement. What the key's settings say at this moment counts: nothing is stored for a key that has no
 * prompt log any more, or of a request whose record was to be deleted.
 * @returns how many it stored.
 */
export async function writeRecords(database: Queryable, batch: readonly NewRecord[]): Promise<number> {
  const rows = batch.map((_, index) => {
    const positions = COLUMNS.map(([, type], column) => `$${index * COLUMNS.length + column + 1}::${type}`);
    return `(${positions.join(", ")})`;
  });
  return database.execute(
    `INSERT INTO prompt_record (expires_at, ${NAMES})
     SELECT new.started_at + make_interval(days => prompt_log_days), ${NAMES.replaceAll(/\w+/g, "new.$&")}
     FROM (VALUES ${rows.join(", ")}) AS new (${NAMES})
     JOIN api_key ON api_key.public_id = new.key_id AND api_key.account_id = new.account_id
     WHERE revoked_at IS NULL AND prompt_log_days IS NOT NULL AND (prompt_log_after IS NULL OR new.request_id > prompt_log_after)
     ON CONFLICT DO NOTHING`,
    batch.flatMap(valuesOf),
  );
}

function valuesOf(record: NewRecord): unknown[] {
  return [
    record.accountId,
    record.keyId,
    record.requestId,
    record.startedAt,
    record.interface,
    record.model,
    record.isStream,
    record.status,
    record.isWhole,
    Math.min(record.requestBytes, MAX_INTEGER),
    Math.min(record.answerBytes, MAX_INTEGER),
    record.content,
  ];
}
