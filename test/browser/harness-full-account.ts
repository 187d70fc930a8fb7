import * as z from "zod";
import { publishModels } from "../../ledger/models/catalogue.ts";
import { setBillingDetails } from "../../ledger/billing/billing-details.ts";
import { openIncident } from "../../ledger/incidents/incidents.ts";
import { beginPayment, completePayment } from "../../ledger/payments/payments.ts";
import { saveCard } from "../../ledger/payments/saved-cards.ts";
import { postCredit } from "../../ledger/credit/entries.ts";
import { keepLabels } from "../../ledger/labels/account-labels.ts";
import { END_USER, tagDimension } from "../../contract/labels.ts";
import { DAY_MS } from "../../contract/days.ts";
import { createBatch } from "../../ledger/batches/batches.ts";
import { createBatchRoom } from "../../ledger/batches/room.ts";
import { startBatch } from "../../ledger/batches/requests.ts";
import { setBudget } from "../../ledger/budgets/set-budget.ts";
import { rotateApiKey } from "../../ledger/keys/keys.ts";
import { setAccountLimits } from "../../ledger/leases/account-limits.ts";
import { setKeyLimits } from "../../ledger/leases/limits.ts";
import { assignProject } from "../../ledger/projects/project-keys.ts";
import { createProject } from "../../ledger/projects/projects.ts";
import { claimDeliveries, noteUndelivered } from "../../ledger/webhooks/deliveries.ts";
import { addDestination } from "../../ledger/traces/destinations.ts";
import { addEndpoint } from "../../ledger/webhooks/endpoints.ts";
import { EVENT_TYPES } from "../../ledger/webhooks/event-types.ts";
import { queueEvent, queueTestEvent } from "../../ledger/webhooks/events.ts";
import { invite } from "../../ledger/people/invitations.ts";
import { CAPABILITIES } from "../../contract/capability.ts";
import type { CatalogueModel } from "../../contract/catalogue.ts";
import { createManagementToken } from "../../ledger/people/management-tokens.ts";
import { setProviderKey } from "../../ledger/provider-keys/provider-keys.ts";
import { publishSealing } from "../../ledger/provider-keys/sealing.ts";
import { noteServed, readSealedKeys } from "../../ledger/provider-keys/served-keys.ts";
import { settle } from "../../ledger/settlement/settle.ts";
import { boxKey } from "../../runtime/sealed-box.ts";
import { catalogueModel, PEPPER, PRICE, settlementOf } from "../support/billing/ledger.ts";
import { useForAMonth } from "./harness-month.ts";
import type { TestService } from "./harness-service.ts";

/** As long as names get in practice, and some longer. */
export const NAME = "Wolfeschlegelsteinhausenbergerdorff & Söhne International Holdings (Europe) GmbH";
export const EMAIL = "maximiliana.wolfeschlegelsteinhausenbergerdorff@research-and-development.example.com";
export const LONG_MODEL = "modelx-v4-pro-experimental-preview-with-extended-reasoning-2026-11-22";
export const PROVIDERS = ["wolfeschlegelsteinhausenbergerdo", "example"] as const;
const ORIGIN = `https://${EMAIL.replace("@", ".")}:8443`;

const idRow = z.strictObject({ id: z.string() });

async function addBatches(database: TestService["database"], owner: { accountId: string; keyId: string }): Promise<void> {
  const batch = { ...owner, kind: "batch", interface: "chat", bytes: 0, room: createBatchRoom({ maxBytes: Infinity }) } as const;
  const failed = await createBatch(database, batch);
  const errors = JSON.stringify(Array.from({ length: 12 }, (_, line) => ({ code: "invalid_request", message: NAME, line })));
  await database.execute(
    `UPDATE batch SET state = 'ended', stopped_by = 'invalid_request', errors = $2, requests = 50000, succeeded = 40000, errored = 9000,
       canceled = 1000, output_bytes = 1, error_bytes = 1, charge_nano_usd = 12345678900000, started_at = now(), ended_at = now(),
       deleted_at = now() + interval '30 days' WHERE id = $1`,
    [failed, errors],
  );
  const running = await createBatch(database, { ...batch, kind: "msgbatch", interface: "messages" });
  await startBatch(database, { batchId: running, requests: 50_000, bytes: 1 });
}

/** Of an account with credit: one that is used, and one that cannot be. */
async function addProviderKeys(database: TestService["database"], accountId: string): Promise<void> {
  const { id, publicKey } = boxKey(Buffer.alloc(32, 1));
  await publishSealing(database, { keyId: id, publicKey, maxClusters: 100 }, PEPPER);
  const actor = { accountId, personId: null, tokenId: null };
  for (const provider of PROVIDERS)
    await setProviderKey(database, actor, {
      provider,
      origin: ORIGIN,
      value: `px-${NAME.replaceAll(/\W/g, "")}`,
      pepper: PEPPER,
    });
  const states = ["active", "unusable"] as const;
  const keys = await readSealedKeys(database);
  await noteServed(
    database,
    keys.map((key, at) => ({ ...key, state: states[at] ?? "active", fingerprints: [] })),
  );
}

/** With backends that take accounts' own keys. */
function takingOwnKeys(model: CatalogueModel): CatalogueModel {
  const [backend] = model.backends;
  if (backend === undefined) return model;
  const backends = PROVIDERS.map((provider) => ({
    ...backend,
    name: provider,
    providerKey: { provider, origin: ORIGIN, endpoint: provider },
  }));
  return { ...model, backends };
}

/** An account with everything that makes a page wide. */
export async function fillAccount({ database, inAccount }: TestService): Promise<string> {
  const models = ["modelx-v4-pro", "modelx-flash", "modelx-v4-mini", LONG_MODEL].map((name) => ({
    model: takingOwnKeys(
      catalogueModel(
        name,
        name === "modelx-flash"
          ? {}
          : {
              displayName: name === LONG_MODEL ? NAME : "ModelX v4",
              description: NAME.repeat(8),
              capabilities: [...CAPABILITIES],
            },
      ),
    ),
    price: PRICE,
    providerKeyFee: { requestPicoUsd: 123_456_789n, millionths: 12_345n },
  }));
  await publishModels(database, models);
  const [account, person] = await Promise.all([
    database.query({ text: "SELECT id FROM account", row: idRow }),
    database.query({ text: "SELECT id FROM person", row: idRow }),
  ]);
  const accountId = account[0]?.id ?? "";
  const personId = person[0]?.id ?? "";
  for (const role of ["owner", "member", "viewer"] as const)
    await inAccount(accountId, role, `${role}-with-a-very-long-address@subsidiary-of-the-holding.example.com`);
  await database.execute("UPDATE person SET is_admin = true WHERE id = $1", [personId]);
  await invite(database, { accountId, email: EMAIL.replace("maxi", "mini"), role: "viewer", invitedBy: personId });
  await createManagementToken(database, { accountId, name: NAME, role: "owner", createdBy: personId, expiresAt: null });
  await keepLabels(database, { accountId, isOn: true });
  const [first = "", second = ""] = await useForAMonth(database, accountId, ["laptop", NAME, "nightly evaluation"]);
  await setKeyLimits(database, first, { spendPerDayUsd: "1.000000001", spendPerMonthUsd: "1234567.89" });
  const limits = { spendPerMonthUsd: "123456789.987654321", requestsPerMinute: 999_999_999, concurrentRequests: 4 };
  await setAccountLimits(database, { accountId, by: "operator", limits });
  await setAccountLimits(database, { accountId, by: "owner", limits: { spendPerDayUsd: "0.02", requestsPerMinute: 60 } });
  await addBatches(database, { accountId, keyId: second });
  const actor = { accountId, personId, tokenId: null };
  const projectId = await database.transaction((transaction) => createProject(transaction, actor, NAME.slice(0, 64)));
  await assignProject(database, { accountId, publicId: second, projectId });
  for (const covered of [
    { scope: "account" },
    { scope: "project", projectId },
    { scope: "key", keyId: second },
    { scope: "member", personId },
    { scope: "end_user" },
  ] as const)
    await setBudget(database, { accountId, personId: null }, { amountNanoUsd: 1_234_567_890_123_456n, ...covered });
  const url = `https://${EMAIL.replace("@", ".")}/hooks/${"long".repeat(20)}`;
  const { endpoint } = await addEndpoint(database, { accountId, url, events: EVENT_TYPES, pepper: PEPPER });
  await queueEvent(database, { accountId, type: "budget.threshold_reached", data: {} });
  for (const delivery of await claimDeliveries(database, { limit: 1, busyEndpoints: [] }))
    await noteUndelivered(database, delivery, `The endpoint could not be reached: ${NAME}.`);
  await queueTestEvent(database, { accountId, endpointId: endpoint.id });
  const traces = { accountId, url, headers: [["authorization", EMAIL]], includesContent: false, pepper: PEPPER } as const;
  await addDestination(database, { ...traces, name: "Langfuse", kind: "langfuse" });
  await addDestination(database, { ...traces, name: NAME.slice(0, 64), kind: "otlp" });
  await database.execute(
    `UPDATE trace_destination SET failing_since = now() - interval '5 hours', next_attempt_at = now() + interval '1 hour',
       problem = $1, sent = 123456789, skipped = 1234567, rejected = 12 WHERE kind = 'otlp'`,
    [`The server answered with status 503: ${NAME} ${"long".repeat(30)}`],
  );
  await rotateApiKey(database, { publicId: second, pepper: PEPPER, previousUntil: new Date(Date.now() + DAY_MS) });
  // Nearly nothing, and more than fits.
  await settle(database, [
    settlementOf({ accountId, keyId: second }, { chargeNanoUsd: 1n, isBatch: true }),
    settlementOf(
      { accountId, keyId: second },
      {
        labels: [...["team", NAME.slice(0, 60)].map(tagDimension), END_USER].map((dimension) => ({
          dimension,
          value: EMAIL.repeat(2),
        })),
      },
    ),
    settlementOf(
      { accountId, keyId: second },
      {
        model: LONG_MODEL,
        chargeNanoUsd: 123_456_789_012_345_678n,
        outcome: "failed",
        isEstimated: true,
        usage: { ...settlementOf({ accountId, keyId: second }).usage, inputTokens: 142_100_000_000 },
      },
    ),
  ]);
  const address = `Straße der Pariser Kommune 8\n10243 Berlin\n${"Wolfeschlegelstein".repeat(5)}\nGermany`;
  await setBillingDetails(
    database,
    { accountId, personId },
    { name: NAME, address, taxId: "DE 123456789 / 0123456789-0123456789" },
  );
  const name = { provider: "test", providerPaymentId: `cs_test_${"0123456789abcdef".repeat(4)}` };
  await beginPayment(database, { accountId, amountNanoUsd: 5_000_000_000_000n, ...name });
  await completePayment(database, name);
  const card = { customerId: "cus_1", cardId: "pm_1", label: "american express ending in 4242" };
  await saveCard(database, { accountId, provider: "test", card, savedAt: new Date() });
  const incident = { title: `No answers from ${LONG_MODEL}`, impact: "major", status: "investigating" } as const;
  await openIncident(database, { ...incident, message: `${NAME}\n${EMAIL.repeat(3)}`, personId });
  await openIncident(database, { ...incident, status: "resolved", message: NAME, personId });
  const reference = "a reference as long as those of payment providers, cs_test_0123456789abcdef0123456789abcdef";
  await postCredit(database, {
    accountId,
    kind: "grant",
    amountNanoUsd: 9_876_543_210_123_456_789n / 10n,
    reference,
    note: NAME,
  });
  await addProviderKeys(database, accountId);
  return accountId;
}

/** A page each of the longest key and project, the most expensive request, an incident and a payment. */
export async function pagesOfNames({ database }: TestService): Promise<string[]> {
  const [one] = await database.query({
    text: `SELECT (SELECT public_id FROM api_key ORDER BY length(name) DESC LIMIT 1) AS key,
             (SELECT request_id FROM usage_event ORDER BY charge_nano_usd DESC LIMIT 1) AS request,
             (SELECT id FROM incident LIMIT 1) AS incident, (SELECT id FROM payment LIMIT 1) AS payment,
             (SELECT id FROM project LIMIT 1) AS project, (SELECT id FROM webhook_endpoint LIMIT 1) AS webhook,
             (SELECT id FROM trace_destination ORDER BY kind DESC LIMIT 1) AS traces,
             (SELECT id FROM event_delivery ORDER BY id LIMIT 1) AS delivery,
             (SELECT id FROM batch WHERE errors <> '[]' LIMIT 1) AS failed,
             (SELECT id FROM batch WHERE state = 'running' LIMIT 1) AS batch`,
    row: z.strictObject({
      key: z.string(),
      request: z.string(),
      incident: z.string(),
      payment: z.string(),
      project: z.string(),
      webhook: z.string(),
      traces: z.string(),
      delivery: z.string(),
      failed: z.string(),
      batch: z.string(),
    }),
  });
  if (one === undefined) throw new Error("nothing is filled");
  return [
    `/keys/${one.key}`,
    `/projects/${one.project}`,
    `/webhook-endpoints/${one.webhook}`,
    `/trace-destinations/${one.traces}`,
    `/trace-destinations/${one.traces}/delete`,
    `/webhook-endpoints/${one.webhook}/rotate`,
    `/webhook-endpoints/${one.webhook}/deliveries/${one.delivery}`,
    `/usage?by=member&project=${one.project}`,
    `/usage/requests/${one.request}`,
    `/admin/incidents/${one.incident}`,
    `/credit/receipts/${one.payment}`,
    `/batches/${one.failed}`,
    `/batches/${one.batch}`,
    `/batches/${one.batch}/cancel`,
  ];
}
