import { createHmac, createSecretKey, hkdfSync, timingSafeEqual } from "node:crypto";
import * as z from "zod";
import type { Pepper } from "../keys/keys.ts";

/**
 * The credential of one request of a batch. Keys are stored as hashes, so the gateway cannot send a customer's key: instead it
 * signs which key pays, and under which id the request is settled. Only who knows the pepper can sign one
 * (docs/decisions/0086).
 */
export interface Ticket {
  /** Public id of the key that created the batch. */
  keyId: string;
  /** UUIDv7. */
  requestId: string;
}

export interface Tickets {
  issue(ticket: Ticket, nowMs: number): string;
  /** @returns undefined for anything that was not issued here, or has expired. */
  read(text: string, nowMs: number): Ticket | undefined;
}

const PREFIX = "batch-";
/** From signing until extproc reads the headers. */
const LASTS_MS = 60_000;
const MAC_BYTES = 32;

const content = z.tuple([z.string(), z.uuid(), z.int()]);

/** Whether it may be a ticket. No key looks like one. */
export function isTicket(credential: string): boolean {
  return credential.startsWith(PREFIX);
}

export function createTickets(pepper: Pepper): Tickets {
  const key = createSecretKey(Buffer.from(hkdfSync("sha256", pepper, "", "batch tickets", MAC_BYTES)));
  const sign = (payload: string) => createHmac("sha256", key).update(payload).digest();

  return {
    issue({ keyId, requestId }, nowMs) {
      const payload = Buffer.from(JSON.stringify([keyId, requestId, nowMs + LASTS_MS])).toString("base64url");
      return `${PREFIX}${payload}.${sign(payload).toString("base64url")}`;
    },
    read(text, nowMs) {
      const match = /^batch-([\w-]{1,256})\.([\w-]{43})$/.exec(text);
      if (match?.[1] === undefined || match[2] === undefined) return undefined;
      const [, payload, mac] = match;
      const sent = Buffer.from(mac, "base64url");
      if (sent.length !== MAC_BYTES || !timingSafeEqual(sent, sign(payload))) return undefined;
      const [keyId, requestId, expiresMs] = content.parse(JSON.parse(Buffer.from(payload, "base64url").toString()));
      return nowMs < expiresMs ? { keyId, requestId } : undefined;
    },
  };
}
