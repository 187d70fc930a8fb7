import { randomUUID } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import type { KnownBrowser } from "../../ledger/sign-in/sign-in.ts";
import { signedNote } from "./signed-note.ts";
import { DAY_MS } from "../../contract/days.ts";

const DAYS_180_MS = 180 * DAY_MS;
/** Someone who shares a browser with more people signs in as from a new one. */
const MAX_PEOPLE = 5;
const browserSchema = z.strictObject({ id: z.uuid(), personIds: z.array(z.uuid()).max(MAX_PEOPLE) });

/**
 * The cookie that identifies a browser in which somebody has signed in before. It grants no access: guesses from other browsers
 * do not lock this one out, and no email is sent about it.
 */
export interface KnownBrowsers {
  read(request: FastifyRequest): KnownBrowser | undefined;
  remember(request: FastifyRequest, reply: FastifyReply, personId: string): void;
}

export function knownBrowsers({ publicBaseUrl, pepper }: { publicBaseUrl: string; pepper: Buffer }): KnownBrowsers {
  const isSecure = publicBaseUrl.startsWith("https:");
  const name = isSecure ? "__Host-browser" : "browser";
  const options = { path: "/", httpOnly: true, sameSite: "lax", secure: isSecure, maxAge: DAYS_180_MS / 1000 } as const;
  const notes = signedNote(browserSchema, { purpose: "browser of people", pepper, forMs: DAYS_180_MS });
  const read: KnownBrowsers["read"] = (request) => notes.read(request.cookies[name] ?? "");
  return {
    read,
    remember(request, reply, personId) {
      const { id, personIds } = read(request) ?? { id: randomUUID(), personIds: [] };
      const others = personIds.filter((other) => other !== personId).slice(0, MAX_PEOPLE - 1);
      reply.setCookie(name, notes.write({ id, personIds: [personId, ...others] }), options);
    },
  };
}
