import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import { seal, unseal } from "../../ledger/people/sealed.ts";
import { knownBrowsers } from "./known-browser.ts";

/** What somebody had typed into a form when their session turned out to have ended. */
export interface Draft {
  /** Path of the page that the form is on. */
  page: string;
  /** Path that the form is sent to. */
  action: string;
  fields: Readonly<Record<string, string>>;
}

const KEPT_FOR_MS = 15 * 60_000;
/** Browsers keep cookies of 4 KB; a longer draft is lost. */
const MAX_CHARACTERS = 3_500;
/** Passwords, codes and the tokens of forms are not kept. */
const SECRET = /password|current|code|secret|token/i;
const PURPOSE = "draft of a form";
const draftSchema = z.strictObject({
  personId: z.uuid(),
  page: z.string(),
  action: z.string(),
  fields: z.record(z.string(), z.string()),
  untilMs: z.int(),
});

/**
 * A draft crosses the sign-in in an encrypted cookie, which the page that shows it clears. It belongs to whoever signed in
 * last in this browser: theirs is the session that ended. Anyone else who signs in does not see it.
 */
export interface Drafts {
  /** For the requested page; null: this person has none there. */
  read(request: FastifyRequest, person: { id: string }): Draft | null;
}

export function createDrafts(app: FastifyInstance, { publicBaseUrl, pepper }: { publicBaseUrl: string; pepper: Buffer }): Drafts {
  const isSecure = publicBaseUrl.startsWith("https:");
  const name = isSecure ? "__Host-draft" : "draft";
  const options = { path: "/", httpOnly: true, sameSite: "lax", secure: isSecure } as const;
  const browsers = knownBrowsers({ publicBaseUrl, pepper });
  app.decorateRequest("draft", null);

  app.addHook("onSend", async (request, reply) => {
    const { draft, visitor } = request;
    // Without a person to bind it to, a draft is lost.
    const personId = browsers.read(request)?.personIds[0];
    if (draft !== null && personId !== undefined) {
      const fields = Object.fromEntries(Object.entries(draft.fields).filter(([field]) => !SECRET.test(field)));
      const text = JSON.stringify({ ...draft, personId, fields, untilMs: Date.now() + KEPT_FOR_MS });
      const sealed = seal(text, { pepper, about: PURPOSE }).toString("base64url");
      if (sealed.length <= MAX_CHARACTERS) void reply.setCookie(name, sealed, { ...options, maxAge: KEPT_FOR_MS / 1000 });
    } else if (visitor?.draft != null) void reply.clearCookie(name, options);
  });

  return {
    read(request, { id }) {
      const sealed = request.cookies[name];
      if (sealed === undefined || request.method !== "GET") return null;
      const text = unseal(Buffer.from(sealed, "base64url"), { pepper, about: PURPOSE });
      const { data } = draftSchema.safeParse(text === undefined ? undefined : JSON.parse(text));
      if (data === undefined || data.personId !== id) return null;
      const isHere = data.untilMs > Date.now() && data.page === pathOf(request.url);
      return isHere ? { page: data.page, action: data.action, fields: data.fields } : null;
    },
  };
}

/** Path of the page of ours that a form was sent from; the overview's where the browser does not say. */
export function pageOfForm({ headers: { referer } }: FastifyRequest, publicBaseUrl: string): string {
  if (referer === undefined || !URL.canParse(referer)) return "/dashboard";
  const { origin, pathname } = new URL(referer);
  return origin === new URL(publicBaseUrl).origin && pathname.startsWith("/dashboard") ? pathname : "/dashboard";
}

function pathOf(url: string): string {
  return url.split("?", 1)[0] ?? url;
}

declare module "fastify" {
  interface FastifyRequest {
    /** To be shown again on its page, after signing in. */
    draft: Draft | null;
  }
}
