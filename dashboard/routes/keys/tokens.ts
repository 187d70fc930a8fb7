import type { FastifyInstance, FastifyRequest } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { lockForChange, checkActor } from "../../../ledger/people/actor.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import { createManagementToken, listManagementTokens, revokeManagementToken } from "../../../ledger/people/management-tokens.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, submitForm, type FormState } from "../../http/form.ts";
import { createOwnerNotifier } from "../../mail/notifier.ts";
import { newTokenLetter } from "../../mail/security-letters.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { memberOf } from "../../session/guard.ts";
import { checkFresh } from "../../session/fresh.ts";
import { checkEmailProved } from "../../session/requirements.ts";
import type { Member } from "../../session/visitor.ts";
import { confirmTokenPage, tokensPage, tokenValueDialog } from "../../views/keys/tokens.ts";
import { endOfDay } from "../../../contract/days.ts";

type TokenRequest = FastifyRequest<{ Params: { id: string } }>;

const tokenForm = z.object({
  name: z.string(),
  role: z.enum(["viewer", "member", "owner"], "Choose a role."),
  service: z.literal("yes").optional().catch(undefined),
  expires: z.union([z.literal("").transform(() => null), z.iso.date("Choose a day.")]).default(null),
});

/** Management tokens: everybody in the account sees them, its owners create and revoke them. */
export function tokenRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { database, publicBaseUrl } = deps;
  const notifyOwners = createOwnerNotifier(deps);
  async function render(visitor: Member, form: FormState, dialog = ""): Promise<string> {
    const tokens = await listManagementTokens(database, visitor.membership.accountId);
    return tokensPage({ visitor, tokens, form, baseUrl: publicBaseUrl, dialog });
  }

  app.get("/dashboard/tokens", async (request, reply) => sendPage(reply, await render(memberOf(request), EMPTY_FORM)));

  app.post("/dashboard/tokens", async (request, reply) => {
    const visitor = memberOf(request, "manageTokens");
    checkEmailProved(visitor);
    checkFresh(visitor, "/dashboard/tokens");
    const { accountId } = visitor.membership;
    const values = readForm(request);
    let value = "";
    const failed = await submitForm(values, async () => {
      const { name, role, expires, service } = tokenForm.parse(values);
      const readsService = service === "yes" && visitor.person.isAdmin;
      const proved = { hasSecondFactor: visitor.session.hasSecondFactor };
      // The given day is included.
      const expiresAt = expires === null ? null : endOfDay(expires);
      await database.transaction(async (transaction) => {
        const token = { accountId, name, role, createdBy: visitor.person.id, expiresAt, readsService, ...proved };
        const made = await createManagementToken(transaction, token);
        await checkActor(transaction, { accountId, personId: visitor.person.id }, "manageTokens");
        await noteAction(transaction, { accountId, personId: visitor.person.id, action: "token.created", subject: made.id });
        value = made.value;
      });
    });
    if (failed !== undefined) return sendPage(reply, await render(visitor, failed), 400);
    const { person, membership } = visitor;
    await notifyOwners(accountId, (to) =>
      newTokenLetter({ person: to, by: person, name: values["name"] ?? "", accountName: membership.accountName, publicBaseUrl }),
    );
    const dialog = tokenValueDialog({ value, baseUrl: publicBaseUrl });
    return sendPage(reply, await render(visitor, EMPTY_FORM, dialog));
  });

  app.get("/dashboard/tokens/:id/revoke", async (request: TokenRequest, reply) => {
    const visitor = memberOf(request, "manageTokens");
    const tokens = await listManagementTokens(database, visitor.membership.accountId);
    const token = tokens.find(({ id }) => id === request.params.id);
    if (token === undefined) throw new GatewayError("not_found", "This account has no such token.");
    return sendPage(reply, confirmTokenPage({ visitor, token }));
  });

  app.post("/dashboard/tokens/:id/revoke", async (request: TokenRequest, reply) => {
    const visitor = memberOf(request, "manageTokens");
    const { accountId } = visitor.membership;
    const { id } = request.params;
    await database.transaction(async (transaction) => {
      await lockForChange(transaction, { accountId, personId: visitor.person.id }, "manageTokens");
      await revokeManagementToken(transaction, { accountId, id });
      await noteAction(transaction, { accountId, personId: visitor.person.id, action: "token.revoked", subject: id });
    });
    return goTo(reply, "/dashboard/tokens", "Token revoked.");
  });
}
