import { randomUUID } from "node:crypto";
import type { FastifyInstance, InjectOptions, LightMyRequestResponse } from "fastify";
import { onTestFinished } from "vitest";
import * as z from "zod";
import { createApp } from "../../../dashboard/app.ts";
import type { AppDeps } from "../../../dashboard/app-deps.ts";
import { CSRF_FIELD, csrfToken } from "../../../dashboard/session/csrf.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { setAdmin } from "../../../ledger/people/admins.ts";
import { addMember, type Role } from "../../../ledger/people/members.ts";
import { createManagementToken } from "../../../ledger/people/management-tokens.ts";
import { startSession } from "../../../ledger/sign-in/sessions.ts";
import { PEPPER } from "../billing/ledger.ts";
import { captureLog } from "../stacks/log.ts";
import { createPerson } from "./people.ts";

const BASE_URL = "http://gateway.example";
const methodSchema = z.enum(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]);
type Send = (url: string, options?: InjectOptions) => Promise<LightMyRequestResponse>;

/** A signed-in person, or a program with a token: requests pages, sends forms, and calls the API. */
export interface Client {
  get: Send;
  /** A form of a page's. */
  post(url: string, form?: Readonly<Record<string, string>>, headers?: Record<string, string>): Promise<LightMyRequestResponse>;
  /** JSON, as a page's script or a program sends it. */
  call(method: string, url: string, body?: object): Promise<LightMyRequestResponse>;
}

export interface SignedIn extends Client {
  cookie: string;
  /** The hidden fields of its forms. */
  csrf: string;
  personId: string;
  accountId: string;
}

/** As fastify has it, one for each method. */
export interface Route {
  method: string;
  /** With `:name` for what differs. */
  url: string;
}

export interface TestDashboard {
  app: FastifyInstance;
  database: Database;
  routes: readonly Route[];
  /** All that was logged. */
  logged(): string;
  guest: Client;
  /** A person with an account of their own, signed in to it. */
  owner(email: string): Promise<SignedIn>;
  /** Such a person who administers the service too. */
  admin(email?: string): Promise<SignedIn>;
  /** An existing member of this account, in another browser. */
  signIn(personId: string, accountId: string, hasSecondFactor?: boolean): Promise<SignedIn>;
  /** Another person, signed in to this account. */
  inAccount(accountId: string, role: Role, email?: string): Promise<SignedIn>;
  /** A program with a management token. */
  program(accountId: string, personId: string, role: Role): Promise<Client & { token: string; tokenId: string }>;
  /** The client that sends these headers. */
  client(headers: Readonly<Record<string, string>>, csrf?: string): Client;
}

/** The dashboard's process on a real database, without a port. */
export async function openDashboard(database: Database, options: Partial<AppDeps> = {}): Promise<TestDashboard> {
  const { log, lines } = captureLog();
  const routes: Route[] = [];
  const { publicBaseUrl = BASE_URL } = options;
  const app = await createApp({
    database,
    log,
    pepper: PEPPER,
    publicBaseUrl,
    signUp: { isOpen: true, domains: null },
    // Of administrators in tests of other things.
    adminSecondFactor: "optional",
    onRoute: ({ method, url }) => void routes.push(...[method].flat().map((each) => ({ method: each, url }))),
    ...options,
  });
  onTestFinished(() => app.close());

  function client(headers: Readonly<Record<string, string>>, csrf = ""): Client {
    return {
      get: (url, options = {}) => app.inject({ method: "GET", url, ...options, headers: { ...headers, ...options.headers } }),
      post: (url, form = {}, changed = {}) =>
        app.inject({
          method: "POST",
          url,
          headers: { origin: publicBaseUrl, ...headers, "content-type": "application/x-www-form-urlencoded", ...changed },
          payload: new URLSearchParams({ [CSRF_FIELD]: csrf, ...form }).toString(),
        }),
      call: (method, url, body) =>
        app.inject({
          method: methodSchema.parse(method),
          url,
          headers: { origin: publicBaseUrl, ...headers, ...(method === "GET" ? {} : { "content-type": "application/json" }) },
          ...(method === "GET" ? {} : { payload: JSON.stringify(body ?? {}) }),
        }),
    };
  }

  async function signedIn(personId: string, accountId: string, hasSecondFactor = false): Promise<SignedIn> {
    const token = await startSession(database, { personId, accountId, userAgent: "test", hasSecondFactor });
    const cookie = `${publicBaseUrl.startsWith("https:") ? "__Host-" : ""}session=${token}`;
    const csrf = csrfToken(token, accountId);
    return { ...client({ cookie }, csrf), cookie, csrf, personId, accountId };
  }

  return {
    app,
    database,
    routes,
    logged: () => JSON.stringify(lines),
    guest: client({}),
    client,
    signIn: signedIn,
    async owner(email) {
      const { person, accountId } = await createPerson(database, email);
      return signedIn(person.id, accountId);
    },
    async admin(email = "root@example.com") {
      const { person, accountId } = await createPerson(database, email);
      await setAdmin(database, { email, isAdmin: true });
      return signedIn(person.id, accountId);
    },
    async inAccount(accountId, role, email = `${role}-${randomUUID()}@example.com`) {
      const { person } = await createPerson(database, email);
      await addMember(database, { accountId, personId: person.id, role });
      return signedIn(person.id, accountId);
    },
    async program(accountId, personId, role) {
      const made = { accountId, name: `a ${role}'s program`, role, createdBy: personId, expiresAt: null };
      const { id, value } = await createManagementToken(database, made);
      return { ...client({ authorization: `Bearer ${value}` }), token: value, tokenId: id };
    },
  };
}
