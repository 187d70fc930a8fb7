import { expect, test } from "vitest";
import { keepLabels } from "../../../ledger/labels/account-labels.ts";
import { removeMember } from "../../../ledger/people/members.ts";
import { expectToWait, hold } from "../../support/billing/held-rows.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import type { Thing } from "../../support/dashboard/access.ts";
import { makeThing } from "../../support/dashboard/account-things.ts";
import type { SignedIn } from "../../support/dashboard/dashboard.ts";
import { eventually } from "../../support/eventually.ts";
import { openScim } from "../scim/harness.ts";

/** What ends something is never limited, and still takes access to the account: whoever lost it ends nothing any more (S56). */
const postgres = usePostgres();

const STOPS = [
  ["disable a key", "key", (bob, id) => bob.post(`/dashboard/keys/${id}/disable`)],
  ["disable keys", "key", (bob, id) => bob.post("/dashboard/keys/disable", { keys: id })],
  ["delete a key", "key", (bob, id) => bob.post(`/dashboard/keys/${id}/delete`)],
  ["cancel a batch", "batch", (bob, id) => bob.post(`/dashboard/batches/${id}/cancel`)],
  ["delete a recorded prompt", "record", (bob, id) => bob.post(`/dashboard/prompt-log/${id}/delete`)],
  ["delete a budget", "budget", (bob, id) => bob.post(`/dashboard/budgets/${id}/delete`)],
  ["delete a budget in the API", "budget", (bob, id) => bob.call("DELETE", `/api/v1/budgets/${id}`)],
  ["disable a webhook", "webhook", (bob, id) => bob.call("PATCH", `/api/v1/webhooks/${id}`, { disabled: true })],
  ["delete a webhook", "webhook", (bob, id) => bob.call("DELETE", `/api/v1/webhooks/${id}`)],
  [
    "disable a trace destination",
    "trace destination",
    (bob, id) => bob.call("PATCH", `/api/v1/trace-destinations/${id}`, { disabled: true }),
  ],
  ["delete a trace destination", "trace destination", (bob, id) => bob.call("DELETE", `/api/v1/trace-destinations/${id}`)],
  ["revoke a token", "token", (bob, id) => bob.post(`/dashboard/tokens/${id}/revoke`)],
  ["revoke an invitation", "invitation", (bob, id) => bob.post(`/dashboard/members/invitations/${id}/revoke`)],
  ["turn tags off", "account", (bob) => bob.post("/dashboard/settings/tags", { isOn: "no" })],
  ["turn tags off in the API", "account", (bob) => bob.call("PUT", "/api/v1/attribution", { is_on: false })],
  ["delete tags", "account", (bob) => bob.post("/dashboard/settings/tags/delete")],
  ["delete tags in the API", "account", (bob) => bob.call("DELETE", "/api/v1/attribution")],
] as const satisfies readonly (readonly [string, Thing, (bob: SignedIn, id: string) => Promise<{ statusCode: number }>])[];

test.for(STOPS)("whoever is removed while they wait to %s does not (S56)", async ([_name, thing, send]) => {
  const { database, connect } = await postgres.migrated();
  const { accountId, ann, inAccount } = await openScim(database);
  const holder = connect("holder");
  const bob = await inAccount(accountId, "owner");
  await keepLabels(database, { accountId, isOn: true });
  const id = await makeThing(thing, { database, accountId, personId: ann.personId, mark: "kept" });

  const release = await hold(holder, "SELECT FROM account WHERE id = $1 FOR NO KEY UPDATE", [accountId]);
  const removed = database.transaction((transaction) => removeMember(transaction, { accountId, personId: bob.personId }));
  await eventually(() => expectToWait(holder, 1));
  const sent = send(bob, id);
  await eventually(() => expectToWait(holder, 2));
  await release();
  await removed;
  // What he changes is in the audit log in the same transaction.
  expect((await sent).statusCode).toBeGreaterThanOrEqual(400);
  expect(
    await database.execute("SELECT FROM audit_entry WHERE person_id = $1 AND account_id = $2", [bob.personId, accountId]),
  ).toBe(0);
});
