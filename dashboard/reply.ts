import type { FastifyReply } from "fastify";

export function sendPage(reply: FastifyReply, page: string, status = 200) {
  return reply.status(status).type("text/html; charset=utf-8").send(page);
}

/** After a form: the browser asks for the page anew, and a reload sends nothing twice. */
export function goTo(reply: FastifyReply, path: string) {
  return reply.redirect(path, 303);
}

/**
 * Where to go after signing in, as a page of ours asked for it: never to another site.
 * @param next anything at all.
 */
export function safeNext(next: unknown): string {
  if (typeof next !== "string" || !/^\/dashboard(?:[/?][\w\-./?=&%,:]*)?$/.test(next) || /\/\/|\.\./.test(next))
    return "/dashboard";
  return next.startsWith("/dashboard/sign-") ? "/dashboard" : next;
}
