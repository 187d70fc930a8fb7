/** Who gets what from a route: the words of test/support/dashboard/access-table.ts. */

/** The HTTP status for each of them. 303 follows a form, or leads a guest to the sign-in page. */
export interface Access {
  /** Nobody signed in. */
  guest: number;
  /** In the account, by role. */
  viewer: number;
  member: number;
  owner: number;
  /** The owner of another account, with this account's ids. */
  stranger: number;
  /** An administrator in an account of their own, with this account's ids. */
  admin: number;
  /** Values of the path's parameters, each a thing of the account's that is made anew for each try. */
  ids?: Readonly<Record<string, Thing>>;
  /** Of the form, or the JSON body. */
  body?: Readonly<Record<string, unknown>>;
  /** Sent by a machine that proves itself in the body: no session, no form's token. */
  isWebhook?: boolean;
}

export type Thing =
  | "key"
  | "person"
  | "invitation"
  | "session"
  | "token"
  | "code"
  | "account"
  | "payment"
  | "budget"
  | "project"
  | "provider"
  | "receipt"
  | "request"
  | "record"
  | "webhook"
  | "trace destination"
  | "batch"
  | "ended batch"
  | { text: string };

/** The same for everyone, signed in or not. */
export const forAll = (status: number, more: Partial<Access> = {}): Access => ({
  guest: status,
  viewer: status,
  member: status,
  owner: status,
  stranger: status,
  admin: status,
  ...more,
});

/** For those in an account, from a role on; without ids, a stranger and an admin see their own account's. */
export function page(least: "viewer" | "member" | "owner", status: number, more: Partial<Access> = {}): Access {
  const hasIds = more.ids !== undefined;
  return {
    guest: 303,
    viewer: least === "viewer" ? status : 403,
    member: least === "owner" ? 403 : status,
    owner: status,
    stranger: hasIds ? 404 : status,
    admin: hasIds ? 404 : status,
    ...more,
  };
}

/** The same in the API, which asks a guest for a token. */
export const api: typeof page = (least, status, more) => ({ ...page(least, status, more), guest: 401 });

/** For those who run the service; for all others there is no such page. */
export const admin = (status: number, more: Partial<Access> = {}): Access => ({ ...forAll(404), admin: status, ...more });
