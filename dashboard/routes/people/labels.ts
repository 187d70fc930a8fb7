import type { FastifyInstance } from "fastify";
import { eraseLabels, keepLabels } from "../../../ledger/labels/account-labels.ts";
import { lockForChange } from "../../../ledger/people/actor.ts";
import { admitChange, noteAction } from "../../../ledger/people/audit.ts";
import type { AppDeps } from "../../app-deps.ts";
import { readForm } from "../../http/form.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { memberOf } from "../../session/guard.ts";
import { deleteLabelsPage } from "../../views/people/labels.ts";

const SETTINGS = "/dashboard/settings";
const PATH = `${SETTINGS}/tags`;

/** An owner turns tags and end users on and off, and deletes those that were kept. */
export function labelRoutes(app: FastifyInstance, { database }: AppDeps): void {
  app.post(PATH, async (request, reply) => {
    const { person, membership } = memberOf(request, "setLabels");
    const { accountId } = membership;
    const isOn = readForm(request)["isOn"] === "yes";
    await database.transaction(async (transaction) => {
      const actor = { accountId, personId: person.id };
      await admitChange(transaction, isOn ? "settings" : null, actor, "setLabels");
      if (!(await keepLabels(transaction, { accountId, isOn }))) return;
      const action = isOn ? "account.tags_on" : "account.tags_off";
      await noteAction(transaction, { accountId, personId: person.id, action, subject: accountId });
    });
    return goTo(reply, `${SETTINGS}#tags`, `Tags and end users are ${isOn ? "on" : "off"}.`);
  });

  app.get(`${PATH}/delete`, async (request, reply) => sendPage(reply, deleteLabelsPage(memberOf(request, "setLabels"))));

  app.post(`${PATH}/delete`, async (request, reply) => {
    const { person, membership } = memberOf(request, "setLabels");
    const { accountId } = membership;
    await database.transaction(async (transaction) => {
      await lockForChange(transaction, { accountId, personId: person.id }, "setLabels");
      if (!(await eraseLabels(transaction, accountId))) return;
      await noteAction(transaction, { accountId, personId: person.id, action: "account.tags_deleted", subject: accountId });
    });
    return goTo(reply, `${SETTINGS}#tags`, "Tags and end users are being deleted.");
  });
}
