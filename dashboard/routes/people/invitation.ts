import type { FastifyInstance, FastifyRequest } from "fastify";
import { GatewayError } from "../../../contract/errors.ts";
import { readInvitation } from "../../../ledger/people/invitations.ts";
import { viewAccount } from "../../../ledger/sign-in/sessions.ts";
import type { AppDeps } from "../../app-deps.ts";
import { readForm, readQuery } from "../../http/form.ts";
import { orDeadLink } from "../../http/dead-link.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { BEFORE_FACTOR, memberOf, PERSONAL } from "../../session/guard.ts";
import { invitationPage } from "../../views/people/invitation.ts";
import { createEntry } from "./entry.ts";

/** The target of an invitation, and the account that somebody has in view. */
export function invitationRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { database } = deps;
  const entry = createEntry(deps);
  app.get("/dashboard/invitation", async (request, reply) => {
    const token = readQuery(request, "token");
    const invitation = await orDeadLink(readInvitation(database, token));
    return sendPage(reply, invitationPage({ visitor: request.visitor, invitation, token }));
  });

  app.post("/dashboard/invitation", PERSONAL, async (request, reply) => {
    const { person, session } = memberOf(request);
    const { accountId, accountName } = await entry.accept(person, readForm(request)["token"] ?? "");
    await viewAccount(database, { ...session, accountId });
    return goTo(reply, "/dashboard", `You joined ${accountName}.`);
  });

  app.post(
    "/dashboard/accounts/:accountId/view",
    BEFORE_FACTOR,
    async (request: FastifyRequest<{ Params: { accountId: string } }>, reply) => {
      const { session, memberships } = memberOf(request);
      const wanted = memberships.find(({ accountId }) => accountId === request.params.accountId);
      if (wanted === undefined) throw new GatewayError("not_found", "You are not a member of this account.");
      await viewAccount(database, { ...session, accountId: wanted.accountId });
      return goTo(reply, "/dashboard", `You switched to ${wanted.accountName}.`);
    },
  );
}
