import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import type { Member, Toast } from "./visitor.ts";
import { signedNote } from "./signed-note.ts";

/** A page slower than this does not show old news. */
const SHOWN_FOR_MS = 60_000;
const toastSchema = z.strictObject({ personId: z.uuid(), text: z.string().max(300), isProblem: z.literal(true).optional() });

/** The result of a form, shown on the page that follows: it survives the redirect in a signed cookie, which that page clears. */
export interface Toasts {
  /** Of the request's cookie; null if there is none for this person. */
  read(request: FastifyRequest, person: Member["person"]): Toast | null;
}

export function createToasts(app: FastifyInstance, { publicBaseUrl, pepper }: { publicBaseUrl: string; pepper: Buffer }): Toasts {
  const isSecure = publicBaseUrl.startsWith("https:");
  const name = isSecure ? "__Host-toast" : "toast";
  const options = { path: "/", httpOnly: true, sameSite: "lax", secure: isSecure } as const;
  const notes = signedNote(toastSchema, { purpose: "toast", pepper, forMs: SHOWN_FOR_MS });
  app.decorateRequest("toast", null);

  app.addHook("onSend", async (request, reply) => {
    const { toast, visitor } = request;
    const isPage = String(reply.getHeader("content-type")).startsWith("text/html");
    if (toast !== null && visitor !== null) {
      const note = { personId: visitor.person.id, ...toast, text: toast.text.slice(0, 300) };
      void reply.setCookie(name, notes.write(note), { ...options, maxAge: SHOWN_FOR_MS / 1000 });
    } else if (isPage && request.cookies[name] !== undefined) void reply.clearCookie(name, options);
  });

  return {
    read(request, { id }) {
      const note = notes.read(request.cookies[name] ?? "");
      return note?.personId === id ? note : null;
    },
  };
}

declare module "fastify" {
  interface FastifyRequest {
    /** For the page that the answer leads to. */
    toast: Toast | null;
  }
}
