import type { FastifyInstance, FastifyRequest } from "fastify";
import { GatewayError } from "../../../contract/errors.ts";
import * as z from "zod";
import { renameAccount } from "../../../ledger/accounts/accounts.ts";
import { ACTION_FILTERS, type ActionName } from "../../../ledger/people/action-names.ts";
import { admitChange, admitOwnChange, listActions, listOwnActions, noteAction } from "../../../ledger/people/audit.ts";
import { readAccountLabels } from "../../../ledger/labels/account-labels.ts";
import { renamePerson, setPassword } from "../../../ledger/people/persons.ts";
import { listPasskeys } from "../../../ledger/sign-in/passkeys.ts";
import { countRecoveryCodes } from "../../../ledger/sign-in/recovery-codes.ts";
import { endOtherSessions, endSession, listSessions } from "../../../ledger/sign-in/sessions.ts";
import { checkPassword } from "../../../ledger/sign-in/sign-in.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, readQuery, refuseForm, submitForm, type FormState } from "../../http/form.ts";
import { createNotifier } from "../../mail/notifier.ts";
import { newPasswordLetter } from "../../mail/security-letters.ts";
import { checkProvider } from "../../oidc/provider-domains.ts";
import { goTo, sendPage, turnAway } from "../../http/reply.ts";
import { memberOf, PERSONAL } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { activityPage } from "../../views/people/activity.ts";
import { securityLogPage } from "../../views/people/security-log.ts";
import { confirmEndOthersPage, settingsPage } from "../../views/people/settings.ts";
import { cutPage } from "../../../ledger/postgres/page.ts";

const ACTIONS_SHOWN = 20;
const LOG_PAGE = 50;
const activityQuery = z.object({
  action: z.enum(ACTION_FILTERS).optional().catch(undefined),
  before: z.uuid().optional().catch(undefined),
});

/** What belongs to the person: name, password, signed-in browsers. */
export function settingsRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { database, publicBaseUrl } = deps;
  const notify = createNotifier(deps);
  async function render(visitor: Member, form: FormState): Promise<string> {
    const [sessions, actions, codesLeft, passkeys, labels] = await Promise.all([
      listSessions(database, visitor.person.id),
      listActions(database, { accountId: visitor.membership.accountId, limit: ACTIONS_SHOWN }),
      countRecoveryCodes(database, visitor.person.id),
      listPasskeys(database, visitor.person.id),
      readAccountLabels(database, visitor.membership.accountId),
    ]);
    const secondFactors = { passkeys, codesLeft, canAddPasskey: deps.passkeys !== undefined };
    return settingsPage({ visitor, sessions, actions, secondFactors, labels, canMail: deps.mailer !== undefined, form });
  }

  const note = ({ person }: Member, action: ActionName) =>
    noteAction(database, { accountId: null, personId: person.id, action, subject: person.email });

  app.get("/dashboard/settings", async (request, reply) => sendPage(reply, await render(memberOf(request), EMPTY_FORM)));

  app.get("/dashboard/settings/log", async (request, reply) => {
    const visitor = memberOf(request);
    const before = z.uuid().safeParse(readQuery(request, "before")).data;
    const found = await listOwnActions(database, { personId: visitor.person.id, limit: LOG_PAGE + 1, beforeId: before });
    const { page: actions, next } = cutPage(found, LOG_PAGE, ({ id }) => id);
    return sendPage(reply, securityLogPage({ visitor, actions, next }));
  });

  app.get("/dashboard/settings/activity", async (request, reply) => {
    const visitor = memberOf(request);
    const { action, before } = activityQuery.parse(request.query ?? {});
    const { accountId } = visitor.membership;
    const found = await listActions(database, { accountId, action, limit: LOG_PAGE + 1, beforeId: before });
    const { page: actions, next } = cutPage(found, LOG_PAGE, ({ id }) => id);
    return sendPage(reply, activityPage({ visitor, actions, action, next }));
  });

  app.post("/dashboard/settings/name", PERSONAL, async (request, reply) => {
    const visitor = memberOf(request);
    const values = readForm(request);
    const failed = await submitForm(values, async () => {
      const { id: personId, email: subject } = visitor.person;
      await database.transaction(async (transaction) => {
        await admitOwnChange(transaction, personId);
        await renamePerson(transaction, personId, values["name"] ?? "");
        await noteAction(transaction, { accountId: null, personId, action: "person.renamed", subject });
      });
    });
    if (failed !== undefined) return refuseForm(reply, await render(visitor, failed), { form: failed });
    return goTo(reply, "/dashboard/settings", "Name saved.");
  });

  app.post("/dashboard/settings/account", async (request, reply) => {
    const visitor = memberOf(request, "renameAccount");
    const { accountId, accountName } = visitor.membership;
    const values = readForm(request);
    const failed = await submitForm(values, async () => {
      const name = values["accountName"] ?? "";
      await database.transaction(async (transaction) => {
        await admitChange(transaction, "settings", { accountId, personId: visitor.person.id }, "renameAccount");
        await renameAccount(transaction, accountId, name);
        const subject = `${accountName} → ${name}`;
        await noteAction(transaction, { accountId, personId: visitor.person.id, action: "account.renamed", subject });
      });
    });
    if (failed === undefined) return goTo(reply, "/dashboard/settings", "Account renamed.");
    const { name: problem = "", ...others } = failed.problems;
    return sendPage(reply, await render(visitor, { ...failed, problems: { ...others, accountName: problem } }), 400);
  });

  app.post("/dashboard/settings/password", PERSONAL, async (request, reply) => {
    const visitor = memberOf(request);
    const { person, session } = visitor;
    const values = readForm(request);
    checkProvider(deps.providerDomains, person.email, undefined);
    const failed = await submitForm(values, async () => {
      await checkPassword(database, person.id, { password: values["current"] ?? "", sessionId: session.id });
      await setPassword(database, person, values["password"] ?? "");
      await endOtherSessions(database, { personId: person.id, id: session.id });
      await note(visitor, "person.changed_password");
      notify(newPasswordLetter({ person, publicBaseUrl }));
    });
    if (failed !== undefined) return refuseForm(reply, await render(visitor, failed), { form: failed });
    return goTo(reply, "/dashboard/settings", "Password changed. You were signed out everywhere else.");
  });

  app.post(
    "/dashboard/settings/sessions/:id/end",
    PERSONAL,
    async (request: FastifyRequest<{ Params: { id: string } }>, reply) => {
      const visitor = memberOf(request);
      const ended = await endSession(database, { personId: visitor.person.id, id: request.params.id });
      if (!ended) throw new GatewayError("not_found", "This session is already signed out.");
      await note(visitor, "person.ended_session");
      return goTo(reply, "/dashboard/settings", "Session signed out.");
    },
  );

  app.get("/dashboard/settings/sessions/end-others", async (request, reply) => {
    const visitor = memberOf(request);
    const others = (await listSessions(database, visitor.person.id)).length - 1;
    if (others < 1) return turnAway(reply, "/dashboard/settings", "You are not signed in anywhere else.");
    return sendPage(reply, confirmEndOthersPage({ visitor, others }));
  });

  app.post("/dashboard/settings/sessions/end-others", PERSONAL, async (request, reply) => {
    const visitor = memberOf(request);
    const ended = await endOtherSessions(database, { personId: visitor.person.id, id: visitor.session.id });
    if (ended > 0) await note(visitor, "person.ended_sessions");
    return goTo(reply, "/dashboard/settings", "All other sessions were signed out.");
  });
}
