import type { FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { PROVIDER_IDS } from "./config.ts";
import { signedNote } from "../session/signed-note.ts";

const MINUTES_15_MS = 15 * 60_000;

const begunSchema = z.strictObject({
  /** The provider where it started: another provider's answer is rejected. */
  provider: z.enum(PROVIDER_IDS),
  state: z.string(),
  nonce: z.string(),
  codeVerifier: z.string(),
  /** Path to go to afterwards. */
  next: z.string(),
  /** Whether one of our pages led there: a link from elsewhere may carry an invitation that nobody has read. */
  isAsked: z.boolean(),
  /** It is to prove who its person is, who has a session already. */
  isAgain: z.boolean().optional(),
});

/** A sign-in elsewhere that this browser has started. */
type Begun = z.infer<typeof begunSchema>;

/** The cookie that contains it: the returning browser must be the one that left. */
interface BegunCookie {
  set(reply: FastifyReply, begun: Begun): void;
  /** It counts once. @throws GatewayError `invalid_request` for a browser that has not started a sign-in recently. */
  take(request: FastifyRequest, reply: FastifyReply): Begun;
}

export function begunCookie({ publicBaseUrl, pepper }: { publicBaseUrl: string; pepper: Buffer }): BegunCookie {
  const isSecure = publicBaseUrl.startsWith("https:");
  const name = isSecure ? "__Host-oidc" : "oidc";
  // Lax: the browser returns from another site.
  const options = { path: "/", httpOnly: true, sameSite: "lax", secure: isSecure } as const;
  const notes = signedNote(begunSchema, { purpose: "sign-in elsewhere", pepper, forMs: MINUTES_15_MS });

  return {
    set(reply, begun) {
      reply.setCookie(name, notes.write(begun), { ...options, maxAge: MINUTES_15_MS / 1000 });
    },
    take(request, reply) {
      const begun = notes.read(request.cookies[name] ?? "");
      reply.clearCookie(name, options);
      if (begun !== undefined) return begun;
      throw new GatewayError(
        "invalid_request",
        "This browser did not start this sign-in, or it took more than 15 minutes. Go to the sign-in page and start again.",
      );
    },
  };
}
