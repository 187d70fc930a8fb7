import { GatewayError } from "../../contract/errors.ts";
import { isPublicId } from "../../ledger/keys/keys.ts";
import type { ProjectPosition } from "../../ledger/projects/project-list.ts";
import type { KeyUsagePosition } from "../../ledger/usage/reports.ts";
import type { RequestPosition } from "../../ledger/usage/request-list.ts";

const UUID = "[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}";
const ID = new RegExp(`^${UUID}$`);
const POSITION_OF_PROJECT = new RegExp(String.raw`^(${UUID})\.([^\0]{1,64})$`);
const POSITION_OF_REQUEST = new RegExp(String.raw`^(${UUID})\.(\d{1,4})$`);

/** The position where a page ended, as an opaque text for callers. */
export function encodeCursor(position: string): string {
  return Buffer.from(position).toString("base64url");
}

/** Of a list of entries. @throws GatewayError `invalid_request` for a foreign text. */
export function readEntryCursor(cursor: string): bigint {
  const text = decode(cursor);
  if (!/^\d{1,18}$/.test(text)) throw unknownCursor();
  return BigInt(text);
}

/** Of a list of keys. @throws as `readEntryCursor`. */
export function readKeyCursor(cursor: string): string {
  const publicId = decode(cursor);
  if (!isPublicId(publicId)) throw unknownCursor();
  return publicId;
}

export function encodeKeyUsageCursor({ keyId, chargeNanoUsd }: KeyUsagePosition): string {
  return encodeCursor(`${keyId}.${chargeNanoUsd}`);
}

/** Of a list of keys sorted by use. @throws as `readEntryCursor`. */
export function readKeyUsageCursor(cursor: string): KeyUsagePosition {
  const [, keyId, charge] = /^([0-9A-Za-z]{12})\.(\d{1,18})$/.exec(decode(cursor)) ?? [];
  if (keyId === undefined || charge === undefined) throw unknownCursor();
  return { keyId, chargeNanoUsd: BigInt(charge) };
}

export function encodeProjectCursor({ id, name }: ProjectPosition): string {
  return encodeCursor(`${id}.${name}`);
}

/** Of a list of projects. @throws as `readEntryCursor`. */
export function readProjectCursor(cursor: string): ProjectPosition {
  const [, id, name] = POSITION_OF_PROJECT.exec(decode(cursor, "utf8")) ?? [];
  if (id === undefined || name === undefined) throw unknownCursor();
  return { id, name };
}

/** Of a list of incidents. @throws as `readEntryCursor`. */
export function readIdCursor(cursor: string): string {
  const id = decode(cursor);
  if (!ID.test(id)) throw unknownCursor();
  return id;
}

export function encodeRequestCursor({ requestId, attempt }: RequestPosition): string {
  return encodeCursor(`${requestId}.${attempt}`);
}

/** Of a list of requests. @throws as `readEntryCursor`. */
export function readRequestCursor(cursor: string): RequestPosition {
  const [, requestId, attempt] = POSITION_OF_REQUEST.exec(decode(cursor)) ?? [];
  if (requestId === undefined || attempt === undefined) throw unknownCursor();
  return { requestId, attempt: Number(attempt) };
}

function decode(cursor: string, encoding: "latin1" | "utf8" = "latin1"): string {
  return Buffer.from(cursor, "base64url").toString(encoding);
}

function unknownCursor(): GatewayError {
  return new GatewayError(
    "invalid_request",
    "This cursor does not belong to this list. Send the `next_cursor` of one of its pages.",
    {
      field: "cursor",
    },
  );
}
