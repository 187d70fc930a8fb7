import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import { seal, unseal } from "../../ledger/people/sealed.ts";
import { knownBrowsers } from "./known-browser.ts";

/** Form input that was typed before the session turned out to have ended, or to be too old for the form. */
export interface Draft {
  /** Path of the form's page. */
  page: string;
  /** Path of the form's target. */
  action: string;
  fields: Readonly<Record<string, string>>;
}

const KEPT_FOR_MS = 15 * 60_000;
/** Browsers limit cookies to 4 KB; a longer draft is lost. */
const MAX_CHARACTERS = 3_500;
/** Passwords, codes and form tokens are not kept. */
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
 * A draft survives the sign-in in an encrypted cookie, which the page that shows it clears. It belongs to the person whose
 * session it was: if it has ended, the last to sign in on this browser. Nobody else sees it.
 */
export interface Drafts {
  /** For the requested page; null if this person has none there. */
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
    const personId = visitor?.person.id ?? browsers.read(request)?.personIds[0];
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

/** Path of our page that a form was sent from; the overview's if the browser does not say. */
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
