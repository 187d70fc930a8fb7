import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { listKeys } from "../../../ledger/keys/key-list.ts";
import { isPublicId } from "../../../ledger/keys/keys.ts";
import { setAccountLimits } from "../../../ledger/leases/account-limits.ts";
import { readCountsInUse } from "../../../ledger/leases/limit-use.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import type { AppDeps } from "../../app-deps.ts";
import { readForm, submitForm, type FormState } from "../../http/form.ts";
import { parseLimitsForm, writeLimitsForm } from "../../limits/limits-form.ts";
import { describeLimits, readAccountLimitsInUse } from "../../limits/read-account-limits.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { memberOf } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { limitsPage } from "../../views/limits/limits.ts";

const PATH = "/dashboard/limits";
const PAGE = 50;
const pageQuery = z.object({ after: z.string().refine(isPublicId).optional().catch(undefined) });

/** Limits of the account and its keys, and how much of each is used. */
export function limitRoutes(app: FastifyInstance, { database }: AppDeps): void {
  async function render(visitor: Member, { form, afterId }: { form?: FormState; afterId?: string | undefined }): Promise<string> {
    const { accountId } = visitor.membership;
    const [account, keys] = await Promise.all([
      readAccountLimitsInUse(database, accountId),
      listKeys(database, { accountId, limit: PAGE, afterId, hasLimits: true }),
    ]);
    const subjects = keys.keys.map(({ publicId }) => `key:${publicId}`);
    const used = await readCountsInUse(database, subjects, Date.now());
    const counts = new Map([...used].map(([subject, each]) => [subject.slice("key:".length), each]));
    const shown = form ?? { values: writeLimitsForm(account.owner), problems: {} };
    return limitsPage({ visitor, account, keys, counts, form: shown });
  }

  app.get(PATH, async (request, reply) => {
    const { after } = pageQuery.parse(request.query ?? {});
    return sendPage(reply, await render(memberOf(request), { afterId: after }));
  });

  app.post(PATH, async (request, reply) => {
    const visitor = memberOf(request, "setLimits");
    const { person, membership } = visitor;
    const { accountId } = membership;
    const values = readForm(request);
    const form = await submitForm(values, async () => {
      const limits = parseLimitsForm(values);
      await database.transaction(async (transaction) => {
        await setAccountLimits(transaction, { accountId, personId: person.id, by: "owner", limits });
        const subject = describeLimits(limits);
        await noteAction(transaction, { accountId, personId: person.id, action: "account.limits_changed", subject });
      });
    });
    if (form !== undefined) return sendPage(reply, await render(visitor, { form }), 400);
    return goTo(reply, PATH, "Account limits saved.");
  });
}
