import type { FastifyReply, FastifyRequest } from "fastify";

/**
 * The session's cookie. The prefix makes browsers reject one that was set by another host or without TLS; it is omitted on plain
 * HTTP, which is only for one machine.
 */
interface SessionCookie {
  read(request: FastifyRequest): string | undefined;
  set(reply: FastifyReply, token: string): void;
  clear(reply: FastifyReply): void;
}

const DAYS_30_SECONDS = 30 * 24 * 60 * 60;

export function sessionCookie(publicBaseUrl: string): SessionCookie {
  const isSecure = publicBaseUrl.startsWith("https:");
  const name = isSecure ? "__Host-session" : "session";
  const options = { path: "/", httpOnly: true, sameSite: "lax", secure: isSecure } as const;
  return {
    read: (request) => request.cookies[name],
    set: (reply, token) => void reply.setCookie(name, token, { ...options, maxAge: DAYS_30_SECONDS }),
    clear: (reply) => void reply.clearCookie(name, options),
  };
}
