import { randomUUID } from "node:crypto";
import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import { findRedeemCode, listRedeemCodes, revokeRedeemCode } from "../../../ledger/credit/code-list.ts";
import { createRedeemCode, type CreatedCode } from "../../../ledger/credit/codes.ts";
import { formatNanoUsd } from "../../../ledger/money.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import { codesForm } from "./admin-form.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, submitForm, type FormState } from "../../http/form.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { adminOf } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { adminCodesPage, confirmCodePage, newCodesDialog } from "../../views/admin/codes.ts";
import { cutPage } from "../../../ledger/postgres/page.ts";

const PAGE = 100;
const querySchema = z.object({ before: z.uuid().optional().catch(undefined) });

type CodeRequest = FastifyRequest<{ Params: { id: string } }>;

interface Shown {
  form?: FormState;
  beforeId?: string | undefined;
  /** HTML. */
  dialog?: string;
}

export function adminCodeRoutes(app: FastifyInstance, { database, pepper }: AppDeps): void {
  async function render(visitor: Member, { form = EMPTY_FORM, beforeId, dialog = "" }: Shown): Promise<string> {
    const found = await listRedeemCodes(database, { limit: PAGE + 1, beforeId });
    const { page: codes, next } = cutPage(found, PAGE, ({ id }) => id);
    return adminCodesPage({ visitor, codes, form, next, dialog, attemptId: form.values["attempt"] ?? randomUUID() });
  }

  /**
   * Creates all of them, or none; once, however often the same form is sent: a browser that got no answer shows them after all.
   * @returns their texts.
   */
  async function makeCodes({ person }: Member, wanted: z.infer<typeof codesForm>): Promise<string[]> {
    const { count, amount: amountNanoUsd, uses: maxUses, expires, reason: note, attempt } = wanted;
    const subject = `${count} of ${formatNanoUsd(amountNanoUsd)} USD, each for ${maxUses}: ${note}`;
    const expiry = expires === null ? {} : { expiresAt: expires };
    const shared = { amountNanoUsd, pepper, maxUses, note, createdBy: person.id, ...expiry };
    return database.transaction(async (transaction) => {
      const codes: CreatedCode[] = [];
      for (let number = 1; number <= count; number++) {
        // What was changed before the form was sent again is another set.
        const reference = `${person.id} ${attempt} ${number} ${expires?.toISOString() ?? "never"} ${subject}`;
        codes.push(await createRedeemCode(transaction, { ...shared, reference }));
      }
      if (codes.some(({ isNew }) => isNew))
        await noteAction(transaction, { accountId: null, personId: person.id, action: "code.created", subject });
      return codes.map(({ code }) => code);
    });
  }

  app.get("/dashboard/admin/codes", async (request, reply) => {
    const visitor = adminOf(request);
    const { before } = querySchema.parse(request.query ?? {});
    return sendPage(reply, await render(visitor, { beforeId: before }));
  });

  app.post("/dashboard/admin/codes", async (request, reply) => {
    const visitor = adminOf(request);
    const values = readForm(request);
    let texts: string[] = [];
    const failed = await submitForm(values, async () => {
      texts = await makeCodes(visitor, codesForm.parse(values));
    });
    if (failed !== undefined) return sendPage(reply, await render(visitor, { form: failed }), 400);
    return sendPage(reply, await render(visitor, { dialog: newCodesDialog(texts) }));
  });

  app.get("/dashboard/admin/codes/:id/revoke", async (request: CodeRequest, reply) => {
    const visitor = adminOf(request);
    const code = await findRedeemCode(database, request.params.id);
    return sendPage(reply, confirmCodePage({ visitor, code }));
  });

  app.post("/dashboard/admin/codes/:id/revoke", async (request: CodeRequest, reply) => {
    const { person } = adminOf(request);
    const { id } = request.params;
    await database.transaction(async (transaction) => {
      await revokeRedeemCode(transaction, id);
      await noteAction(transaction, { accountId: null, personId: person.id, action: "code.revoked", subject: id });
    });
    return goTo(reply, "/dashboard/admin/codes", "Code revoked.");
  });
}
