import type { FastifyReply } from "fastify";

export function sendPage(reply: FastifyReply, page: string, status = 200) {
  return reply.status(status).type("text/html; charset=utf-8").send(page);
}

/**
 * After a form: the browser loads the page anew, and a reload sends nothing twice.
 * @param toast what was done; the page says it once.
 */
export function goTo(reply: FastifyReply, path: string, toast?: string) {
  if (toast !== undefined) reply.request.toast = toast;
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
