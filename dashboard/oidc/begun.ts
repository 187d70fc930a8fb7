import { createHmac } from "node:crypto";
import { Signer } from "@fastify/cookie";
import type { FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";

const MINUTES_15_MS = 15 * 60_000;

const begunSchema = z.strictObject({
  state: z.string(),
  nonce: z.string(),
  codeVerifier: z.string(),
  /** Path of ours to go to afterwards. */
  next: z.string(),
  untilMs: z.int(),
});

/** A sign-in elsewhere that this browser has begun. */
export type Begun = Omit<z.infer<typeof begunSchema>, "untilMs">;

/** The cookie that holds it: whoever comes back must be the browser that left. */
interface BegunCookie {
  set(reply: FastifyReply, begun: Begun): void;
  /** It counts once. @throws GatewayError `invalid_request` for a browser that has begun nothing lately. */
  take(request: FastifyRequest, reply: FastifyReply): Begun;
}

export function begunCookie({ publicBaseUrl, pepper }: { publicBaseUrl: string; pepper: Buffer }): BegunCookie {
  const isSecure = publicBaseUrl.startsWith("https:");
  const name = isSecure ? "__Host-oidc" : "oidc";
  // Lax: the browser comes back from another site.
  const options = { path: "/", httpOnly: true, sameSite: "lax", secure: isSecure } as const;
  const signer = new Signer(createHmac("sha256", pepper).update("sign-in elsewhere").digest());

  function read(request: FastifyRequest): z.infer<typeof begunSchema> | undefined {
    const { valid, value } = signer.unsign(request.cookies[name] ?? "");
    if (!valid || value === null) return undefined;
    return begunSchema.safeParse(JSON.parse(Buffer.from(value, "base64url").toString())).data;
  }

  return {
    set(reply, begun) {
      const text = JSON.stringify({ ...begun, untilMs: Date.now() + MINUTES_15_MS });
      reply.setCookie(name, signer.sign(Buffer.from(text).toString("base64url")), { ...options, maxAge: MINUTES_15_MS / 1000 });
    },
    take(request, reply) {
      const begun = read(request);
      reply.clearCookie(name, options);
      if (begun !== undefined && begun.untilMs > Date.now()) return begun;
      throw new GatewayError(
        "invalid_request",
        "This browser has begun no such sign-in, or it took more than 15 minutes. Go to the sign-in page and begin again.",
      );
    },
  };
}
