import type { FastifyReply } from "fastify";

export function sendPage(reply: FastifyReply, page: string, status = 200) {
  return reply.status(status).type("text/html; charset=utf-8").send(page);
}

/**
 * After a form: the browser loads the page again, and a reload sends nothing twice.
 * @param toast the result; the page shows it once.
 */
export function goTo(reply: FastifyReply, path: string, toast?: string) {
  if (toast !== undefined) reply.request.toast = { text: toast };
  return reply.redirect(path, 303);
}

/** The same after a form that changed nothing. @param reason shown as a problem. */
export function turnAway(reply: FastifyReply, path: string, reason: string) {
  reply.request.toast = { text: reason, isProblem: true };
  return reply.redirect(path, 303);
}

/**
 * Where to go after signing in, as one of our pages requested: never to another site.
 * @param next any value.
 */
export function safeNext(next: unknown): string {
  if (typeof next !== "string" || !/^\/dashboard(?:[/?][\w\-./?=&%,:+*~]*)?$/.test(next) || /\/\/|\.\./.test(next))
    return "/dashboard";
  return next.startsWith("/dashboard/sign-") ? "/dashboard" : next;
}
