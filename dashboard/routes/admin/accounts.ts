import { randomUUID } from "node:crypto";
import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { ACCOUNT_SORTS, listAccounts, type AccountPosition, type AccountSort } from "../../../ledger/accounts/account-list.ts";
import { readBalance, setAccountStatus, type Account } from "../../../ledger/accounts/accounts.ts";
import type { Queryable } from "../../../ledger/postgres/database.ts";
import { postCreditIn } from "../../../ledger/credit/entries.ts";
import { listEntries } from "../../../ledger/credit/entry-list.ts";
import { postExpiringGrantIn } from "../../../ledger/credit/grants.ts";
import { listKeys } from "../../../ledger/keys/key-list.ts";
import { isPublicId } from "../../../ledger/keys/keys.ts";
import type { ActionName } from "../../../ledger/people/action-names.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import { listMembers } from "../../../ledger/people/members.ts";
import { listPayments } from "../../../ledger/payments/payments.ts";
import { usageByModel } from "../../../ledger/usage/reports.ts";
import { dayOf, daysBefore } from "../../../contract/days.ts";
import { formatNanoUsd } from "../../../ledger/money.ts";
import { adjustForm, grantForm } from "./admin-form.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, submitForm, type FormState } from "../../http/form.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { adminOf } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { adminAccountPage, confirmSuspendPage } from "../../views/admin/account.ts";
import { adminAccountsPage } from "../../views/admin/accounts.ts";
import { accountOf, type AccountRequest } from "./account-of.ts";
import { cutPage } from "../../../ledger/postgres/page.ts";

const PAGE = 50;
const PAYMENTS = 20;
const USAGE_DAYS = 30;
const listQuery = z
  .object({
    // Postgres rejects a NUL in a text.
    search: z
      .string()
      .trim()
      .max(200)
      .regex(/^[^\0]*$/)
      .default("")
      .catch(""),
    sort: z.enum(ACCOUNT_SORTS).default("active").catch("active"),
    /** Rank and id of the last account on the previous page. */
    after: z
      .string()
      .regex(/^[^\0]{1,200}\.[a-z0-9-]{1,63}$/)
      .transform((text) => {
        const end = text.lastIndexOf(".");
        return { rank: text.slice(0, end), id: text.slice(end + 1) };
      })
      .optional()
      .catch(undefined),
  })
  .transform(({ after, ...query }) => ({ ...query, after: after && positionIn(query.sort, after) }));

/** From the address, which anyone may have changed. */
function positionIn(sort: AccountSort, { rank, id }: AccountPosition): AccountPosition | undefined {
  if (sort === "name") return { rank, id };
  if (!/^-?\d{1,19}$/.test(rank)) return undefined;
  return { rank: BigInt.asIntN(64, BigInt(rank)).toString(), id };
}

const entryQuery = z.object({
  after: z
    .string()
    .regex(/^\d{1,18}$/)
    .transform(BigInt)
    .optional()
    .catch(undefined),
  /** Id of the last key on the previous page. */
  key: z.string().refine(isPublicId).optional().catch(undefined),
  /** The same for payments. */
  payment: z.uuid().optional().catch(undefined),
});

export function adminAccountRoutes(app: FastifyInstance, { database }: AppDeps): void {
  async function render(
    visitor: Member,
    account: Account,
    forms: { grant?: FormState; adjust?: FormState },
    pages: z.infer<typeof entryQuery> = {},
  ) {
    const { after: afterId, key: afterKey, payment } = pages;
    const accountId = account.id;
    const today = dayOf(Date.now());
    const [balance, members, keys, page, usage, found] = await Promise.all([
      readBalance(database, accountId),
      listMembers(database, accountId),
      listKeys(database, { accountId, limit: PAGE, afterId: afterKey }),
      listEntries(database, { accountId, limit: PAGE, afterId }),
      usageByModel(database, { accountId, fromDay: daysBefore(today, USAGE_DAYS - 1), toDay: today }),
      listPayments(database, { accountId, limit: PAYMENTS + 1, beforeId: payment }),
    ]);
    const { page: payments, next: nextPayment } = cutPage(found, PAYMENTS, ({ id }) => id);
    const { grant = EMPTY_FORM, adjust = EMPTY_FORM } = forms;
    return adminAccountPage({
      visitor,
      account,
      balance,
      members,
      keys,
      page,
      usage,
      payments,
      nextPayment,
      grant,
      adjust,
      attemptId: randomUUID(),
    });
  }

  /** Changes an account's credit and logs who did it: both, or nothing; once, however often the form is sent. */
  async function move(
    { person }: Member,
    action: ActionName,
    { account, amountNanoUsd, reason }: { account: Account; amountNanoUsd: bigint; reason: string },
    post: (transaction: Queryable) => Promise<{ isNew: boolean }>,
  ): Promise<void> {
    await database.transaction(async (transaction) => {
      const { isNew } = await post(transaction);
      const subject = `${formatNanoUsd(amountNanoUsd)} USD: ${reason}`;
      if (isNew) await noteAction(transaction, { accountId: account.id, personId: person.id, action, subject });
    });
  }

  app.get("/dashboard/admin", async (request, reply) => {
    const visitor = adminOf(request);
    const { search, sort, after } = listQuery.parse(request.query ?? {});
    const page = await listAccounts(database, { search, sort, after, limit: PAGE });
    return sendPage(reply, adminAccountsPage({ visitor, search, sort, ...page }));
  });

  app.get("/dashboard/admin/accounts/:accountId", async (request: AccountRequest, reply) => {
    const visitor = adminOf(request);
    const pages = entryQuery.parse(request.query ?? {});
    return sendPage(reply, await render(visitor, await accountOf(database, request), {}, pages));
  });

  app.post("/dashboard/admin/accounts/:accountId/grant", async (request: AccountRequest, reply) => {
    const visitor = adminOf(request);
    const account = await accountOf(database, request);
    const values = readForm(request);
    const grant = await submitForm(values, async () => {
      const { amount: amountNanoUsd, reason, expires, attempt } = grantForm.parse(values);
      const credit = { accountId: account.id, amountNanoUsd, reference: `admin:${attempt}`, note: reason };
      await move(visitor, "credit.granted", { account, amountNanoUsd, reason }, (transaction) =>
        expires === null
          ? postCreditIn(transaction, { ...credit, kind: "grant" })
          : postExpiringGrantIn(transaction, { ...credit, expiresAt: expires }),
      );
    });
    if (grant !== undefined) return sendPage(reply, await render(visitor, account, { grant: explainReplay(grant) }), 400);
    return goTo(reply, `/dashboard/admin/accounts/${account.id}`, "Credit granted.");
  });

  app.post("/dashboard/admin/accounts/:accountId/adjust", async (request: AccountRequest, reply) => {
    const visitor = adminOf(request);
    const account = await accountOf(database, request);
    const values = readForm(request);
    const adjust = await submitForm(values, async () => {
      const { amount: amountNanoUsd, reason, attempt } = adjustForm.parse(values);
      const credit = { accountId: account.id, amountNanoUsd, reference: `admin:${attempt}`, note: reason };
      await move(visitor, "credit.adjusted", { account, amountNanoUsd, reason }, (transaction) =>
        postCreditIn(transaction, { ...credit, kind: "adjust" }),
      );
    });
    if (adjust !== undefined) return sendPage(reply, await render(visitor, account, { adjust: explainReplay(adjust) }), 400);
    return goTo(reply, `/dashboard/admin/accounts/${account.id}`, "Balance adjusted.");
  });

  app.get("/dashboard/admin/accounts/:accountId/suspend", async (request: AccountRequest, reply) => {
    const visitor = adminOf(request);
    return sendPage(reply, confirmSuspendPage({ visitor, account: await accountOf(database, request) }));
  });

  for (const [verb, status, action] of [
    ["suspend", "suspended", "account.suspended"],
    ["resume", "active", "account.resumed"],
  ] as const) {
    app.post(`/dashboard/admin/accounts/:accountId/${verb}`, async (request: AccountRequest, reply) => {
      const { person } = adminOf(request);
      const { id } = await accountOf(database, request);
      await database.transaction(async (transaction) => {
        if (await setAccountStatus(transaction, id, status))
          await noteAction(transaction, { accountId: id, personId: person.id, action, subject: id });
      });
      return goTo(reply, `/dashboard/admin/accounts/${id}`, status === "active" ? "Account reactivated." : "Account suspended.");
    });
  }
}

/** The form was sent before with another amount, which was posted. */
function explainReplay(form: FormState): FormState {
  if (form.problems["reference"] === undefined) return form;
  const words =
    "This form was already sent with another amount, which was posted. Check the history below, then submit again to add this one.";
  return { ...form, problems: { "": words } };
}
