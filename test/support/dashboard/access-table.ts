/**
 * Who gets what from each route of the dashboard's process. test/postgres/access/access.test.ts takes the routes from the app
 * itself and fails where one has no line here: a new route comes with its line. Those for programs are in api-access-table.ts.
 */
import { admin, forAll, page, type Access } from "./access.ts";
import { HOOK, NEW_NAME, OTLP, PROJECT, PROVIDER, TRACES, WEBHOOK } from "./access-samples.ts";
import { API_ACCESS } from "./api-access-table.ts";

const KEY = { publicId: "key" } as const;
const RECORD = { requestId: "record" } as const;
const NO_DELIVERY = { id: "webhook", deliveryId: "account" } as const;
const TOKEN = { id: "token" } as const;
const ACCOUNT = { accountId: "account" } as const;
const PERSON = { personId: "person" } as const;
const ATTEMPT = "0199d8a0-0000-4000-8000-00000000000";

export const ACCESS: Readonly<Record<string, Access>> = {
  // For everyone.
  "GET /dashboard/assets/:version/*": forAll(200, { ids: { version: { text: "0" }, "*": { text: "icon.svg" } } }),
  "GET /dashboard/models": forAll(200),
  "GET /dashboard/docs": forAll(200),
  "GET /dashboard/docs/api": forAll(200),
  "GET /dashboard/docs/management-api": forAll(200),
  "GET /dashboard/docs/openapi.yaml": forAll(200),
  "GET /dashboard/models/*": forAll(404, { ids: { "*": { text: "vendor/none" } } }),
  "GET /install.sh": forAll(200),
  "GET /install.ps1": forAll(200),
  "GET /install.md": forAll(200),
  "GET /llms.txt": forAll(200),
  "GET /dashboard/clients": forAll(200),
  "GET /dashboard/clients/:tool": forAll(200, { ids: { tool: { text: "opencode" } } }),
  "GET /dashboard/status": forAll(200),
  "GET /dashboard/support": forAll(200),
  "GET /dashboard/terms": forAll(200),
  "GET /dashboard/sign-in": forAll(303, { guest: 200 }),
  "POST /dashboard/sign-in": forAll(401, { body: { email: "nobody@example.com", password: "wrong password" } }),
  "POST /dashboard/sign-in/code": forAll(400, { body: { note: "none", code: "000000" } }),
  "POST /dashboard/sign-in/passkey": forAll(401, { body: { challenge: "none", credential: "none" } }),
  "GET /dashboard/sign-up": forAll(303, { guest: 200 }),
  "POST /dashboard/sign-up": forAll(400, { body: { email: "no address", name: "x", password: "correct horse battery" } }),
  "POST /dashboard/sign-up/address": forAll(400, { body: { email: "ann@example.org" } }),
  "GET /dashboard/oidc/start": forAll(303, { guest: 503 }),
  "GET /dashboard/oidc/callback": forAll(400),
  "POST /dashboard/sign-out": forAll(303),

  // Keys.
  "GET /dashboard": page("viewer", 200),
  "GET /dashboard/keys": page("viewer", 200),
  "GET /dashboard/keys/new": page("member", 200),
  "POST /dashboard/keys/new": page("member", 200, { body: { name: "new" } }),
  "GET /dashboard/keys/:publicId": page("viewer", 200, { ids: KEY }),
  "POST /dashboard/keys/:publicId": page("member", 303, { ids: KEY, body: { name: "changed" } }),
  "GET /dashboard/keys/disable": page("member", 303),
  "POST /dashboard/keys/disable": page("member", 303, { body: { keys: "AbCd5678WxYz" } }),
  "GET /dashboard/keys/:publicId/disable": page("member", 200, { ids: KEY }),
  "POST /dashboard/keys/:publicId/disable": page("member", 303, { ids: KEY }),
  "POST /dashboard/keys/:publicId/enable": page("member", 303, { ids: KEY }),
  "GET /dashboard/keys/:publicId/rotate": page("member", 200, { ids: KEY }),
  "POST /dashboard/keys/:publicId/rotate": page("member", 200, { ids: KEY }),
  "GET /dashboard/keys/:publicId/delete": page("member", 200, { ids: KEY }),
  "POST /dashboard/keys/:publicId/delete": page("member", 303, { ids: KEY }),

  "GET /dashboard/playground": page("viewer", 200),
  "POST /dashboard/playground/key": page("member", 200),

  // What keys with a prompt log have recorded.
  "GET /dashboard/prompt-log": page("owner", 200),
  "GET /dashboard/prompt-log/:requestId": page("owner", 200, { ids: RECORD }),
  "GET /dashboard/prompt-log/:requestId/request": page("owner", 200, { ids: RECORD }),
  "GET /dashboard/prompt-log/:requestId/answer": page("owner", 200, { ids: RECORD }),
  "GET /dashboard/prompt-log/:requestId/delete": page("owner", 200, { ids: RECORD }),
  "POST /dashboard/prompt-log/:requestId/delete": page("owner", 303, { ids: RECORD }),
  "GET /dashboard/keys/:publicId/prompt-log/delete": page("owner", 200, { ids: KEY }),
  "POST /dashboard/keys/:publicId/prompt-log/delete": page("owner", 303, { ids: KEY }),

  // Provider keys: no model of these tests takes one.
  "GET /dashboard/provider-keys": page("viewer", 200),
  "POST /dashboard/provider-keys": page("owner", 400, {
    body: { provider: "example https://api.example.com", secret: "px-live-1234" },
  }),
  "GET /dashboard/provider-keys/:provider/delete": page("owner", 200, { ids: PROVIDER }),
  "POST /dashboard/provider-keys/:provider/delete": page("owner", 303, { ids: PROVIDER }),
  "POST /dashboard/provider-keys/:provider/fallback": page("owner", 303, { ids: PROVIDER, body: { fallback: "on" } }),

  // Projects.
  "GET /dashboard/projects": page("viewer", 200),
  "POST /dashboard/projects": page("owner", 303, { body: NEW_NAME }),
  "GET /dashboard/projects/:id": page("viewer", 200, { ids: PROJECT }),
  "POST /dashboard/projects/:id": page("owner", 303, { ids: PROJECT, body: { name: "changed" } }),
  "GET /dashboard/projects/:id/delete": page("owner", 200, { ids: PROJECT }),
  "POST /dashboard/projects/:id/delete": page("owner", 303, { ids: PROJECT }),

  // Limits.
  "GET /dashboard/batches": page("viewer", 200),
  "GET /dashboard/batches/:id": page("viewer", 200, { ids: { id: "batch" } }),
  "GET /dashboard/batches/:id/cancel": page("member", 200, { ids: { id: "batch" } }),
  "POST /dashboard/batches/:id/cancel": page("member", 303, { ids: { id: "batch" } }),
  "GET /dashboard/batches/:id/output": page("member", 200, { ids: { id: "ended batch" } }),
  "GET /dashboard/batches/:id/error": page("member", 200, { ids: { id: "ended batch" } }),
  "GET /dashboard/limits": page("viewer", 200),
  "POST /dashboard/limits": page("owner", 303, { body: { requestsPerMinute: "60" } }),

  // Budgets.
  "GET /dashboard/budgets": page("viewer", 200),
  "POST /dashboard/budgets": page("owner", 303, { body: { covered: "account", amount: "5" } }),
  "GET /dashboard/budgets/:id/delete": page("owner", 200, { ids: { id: "budget" } }),
  "POST /dashboard/budgets/:id/delete": page("owner", 303, { ids: { id: "budget" } }),

  // Webhooks.
  "GET /dashboard/webhook-endpoints": page("viewer", 200),
  "POST /dashboard/webhook-endpoints": page("owner", 200, { body: { ...HOOK, events: "key.created" } }),
  "GET /dashboard/webhook-endpoints/:id": page("owner", 200, { ids: WEBHOOK }),
  "POST /dashboard/webhook-endpoints/:id": page("owner", 303, { ids: WEBHOOK, body: { ...HOOK, events: "key.created" } }),
  "POST /dashboard/webhook-endpoints/:id/disable": page("owner", 303, { ids: WEBHOOK }),
  "POST /dashboard/webhook-endpoints/:id/enable": page("owner", 303, { ids: WEBHOOK }),
  "POST /dashboard/webhook-endpoints/:id/test": page("owner", 303, { ids: WEBHOOK }),
  "GET /dashboard/webhook-endpoints/:id/rotate": page("owner", 200, { ids: WEBHOOK }),
  "POST /dashboard/webhook-endpoints/:id/rotate": page("owner", 200, { ids: WEBHOOK }),
  "GET /dashboard/webhook-endpoints/:id/delete": page("owner", 200, { ids: WEBHOOK }),
  "POST /dashboard/webhook-endpoints/:id/delete": page("owner", 303, { ids: WEBHOOK }),
  "GET /dashboard/webhook-endpoints/:id/deliveries/:deliveryId": page("owner", 404, { ids: NO_DELIVERY }),
  "POST /dashboard/webhook-endpoints/:id/deliveries/:deliveryId/repeat": page("owner", 404, { ids: NO_DELIVERY }),

  // Traces.
  "GET /dashboard/trace-destinations": page("viewer", 200),
  "POST /dashboard/trace-destinations": page("owner", 303, { body: OTLP }),
  "GET /dashboard/trace-destinations/:id": page("owner", 200, { ids: TRACES }),
  "POST /dashboard/trace-destinations/:id": page("owner", 303, { ids: TRACES, body: OTLP }),
  "POST /dashboard/trace-destinations/:id/disable": page("owner", 303, { ids: TRACES }),
  "POST /dashboard/trace-destinations/:id/enable": page("owner", 303, { ids: TRACES }),
  "POST /dashboard/trace-destinations/:id/test": page("owner", 200, { ids: TRACES }),
  "GET /dashboard/trace-destinations/:id/delete": page("owner", 200, { ids: TRACES }),
  "POST /dashboard/trace-destinations/:id/delete": page("owner", 303, { ids: TRACES }),

  // Usage.
  "GET /dashboard/usage": page("viewer", 200),
  "GET /dashboard/usage/performance": page("viewer", 200),
  "GET /dashboard/usage/requests": page("viewer", 200),
  "GET /dashboard/usage/requests/:requestId": page("viewer", 200, { ids: { requestId: "request" } }),
  "GET /dashboard/usage/csv/:view": page("viewer", 200, { ids: { view: { text: "requests" } }, stranger: 200, admin: 200 }),
  "GET /dashboard/usage/json/:view": page("viewer", 200, { ids: { view: { text: "requests" } }, stranger: 200, admin: 200 }),

  // Credit.
  "GET /dashboard/credit": page("viewer", 200),
  "POST /dashboard/credit/redeem": page("member", 400, { body: { code: "AAAAA-AAAAA-AAAAA-AAAAA" } }),
  "GET /dashboard/credit/top-up": page("viewer", 200),
  "POST /dashboard/credit/top-up": page("member", 303, { body: { amount: "5", attempt: `${ATTEMPT}1` } }),
  "GET /dashboard/credit/test-pay/:id": page("member", 200, { ids: { id: "payment" } }),
  "POST /dashboard/credit/test-pay/:id": page("member", 303, { ids: { id: "payment" }, body: { decision: "decline" } }),
  "POST /dashboard/credit/auto-top-up": page("owner", 303, { body: { below: "5", charge: "20", monthly: "100" } }),
  "POST /dashboard/credit/auto-top-up/off": page("owner", 303),
  "POST /dashboard/credit/auto-top-up/card": page("owner", 303),
  "GET /dashboard/credit/auto-top-up/card/remove": page("owner", 303),
  "POST /dashboard/credit/auto-top-up/card/remove": page("owner", 303),
  "GET /dashboard/credit/test-card": page("owner", 200),
  "POST /dashboard/credit/test-card": page("owner", 303, { body: { card: "works" } }),
  "GET /dashboard/credit/receipts/:id": page("viewer", 200, { ids: { id: "receipt" } }),
  "GET /dashboard/billing": page("viewer", 200),
  "POST /dashboard/billing": page("owner", 303, { body: { name: "ACME" } }),
  "GET /dashboard/billing/statements/:month": page("viewer", 200, {
    ids: { month: { text: new Date().toISOString().slice(0, 7) } },
    stranger: 200,
    admin: 200,
  }),
  "GET /dashboard/billing/receipts/:id": page("viewer", 200, { ids: { id: "receipt" } }),
  "POST /dashboard/webhooks/test": forAll(400, { isWebhook: true }),
  "POST /dashboard/webhooks/stripe": forAll(400, { isWebhook: true }),

  "POST /dashboard/credit/alert": page("member", 303, { body: { threshold: "2" } }),

  // Oneself.
  "GET /dashboard/forgot": forAll(200),
  "POST /dashboard/forgot": forAll(200, { body: { email: "nobody@example.com" } }),
  "GET /dashboard/reset": forAll(404),
  "POST /dashboard/reset": forAll(400, { body: { token: "none", password: "correct horse battery" } }),
  "GET /dashboard/outbox": forAll(200),
  "POST /dashboard/confirm-email/send": page("viewer", 200),
  "GET /dashboard/confirm-email": forAll(404, { guest: 303 }),
  "POST /dashboard/confirm-email": forAll(404, { guest: 303, body: { token: "none" } }),
  "GET /dashboard/settings": page("viewer", 200),
  "GET /dashboard/settings/close": page("owner", 200),
  "POST /dashboard/settings/close": page("owner", 400, { body: { name: "not its name" } }),
  "GET /dashboard/settings/email": page("viewer", 200),
  "POST /dashboard/settings/email": page("viewer", 400, { body: { email: "none" } }),
  "GET /dashboard/settings/email/confirm": forAll(404, { guest: 303 }),
  "POST /dashboard/settings/email/confirm": forAll(404, { guest: 303, body: { token: "none" } }),
  "GET /dashboard/settings/second-factor": page("viewer", 200),
  "POST /dashboard/settings/second-factor": page("viewer", 400, { body: { sealed: "none", code: "000000" } }),
  "GET /dashboard/settings/second-factor/off": page("viewer", 200),
  "POST /dashboard/settings/second-factor/off": page("viewer", 303),
  "GET /dashboard/settings/second-factor/recovery-codes": page("viewer", 303),
  "POST /dashboard/settings/second-factor/recovery-codes": page("viewer", 400),
  "GET /dashboard/settings/passkeys/new": page("viewer", 200),
  "POST /dashboard/settings/passkeys/new": page("viewer", 400, { body: { name: "x", challenge: "none" } }),
  "GET /dashboard/settings/passkeys/:id/remove": { ...forAll(404, { ids: { id: "account" } }), guest: 303 },
  "POST /dashboard/settings/passkeys/:id/remove": { ...forAll(404, { ids: { id: "account" } }), guest: 303 },
  "GET /dashboard/settings/activity": page("viewer", 200),
  "GET /dashboard/settings/log": page("viewer", 200),
  "GET /dashboard/confirm-identity": page("viewer", 200),
  "POST /dashboard/confirm-identity": page("viewer", 400, { body: { current: "wrong password" } }),
  "POST /dashboard/confirm-identity/passkey": page("viewer", 400, { body: { challenge: "none", credential: "none" } }),
  "POST /dashboard/settings/name": page("viewer", 303, { body: { name: "new name" } }),
  "POST /dashboard/settings/account": page("owner", 303, { body: { accountName: "new name" } }),
  "POST /dashboard/settings/password": page("viewer", 400, { body: { current: "wrong", password: "correct horse battery" } }),
  "POST /dashboard/settings/sessions/:id/end": { ...forAll(404, { ids: { id: "session" } }), guest: 303, owner: 303 },
  "POST /dashboard/settings/tags": page("owner", 303, { body: { isOn: "no" } }),
  "GET /dashboard/settings/tags/delete": page("owner", 200),
  "POST /dashboard/settings/tags/delete": page("owner", 303),
  "GET /dashboard/settings/sessions/end-others": page("viewer", 200),
  "POST /dashboard/settings/sessions/end-others": page("viewer", 303),

  // Members of the account.
  "GET /dashboard/members": page("viewer", 200),
  "POST /dashboard/members/invite": page("owner", 200, { body: { email: "new@example.com", role: "viewer" } }),
  "GET /dashboard/members/invitations/:id/revoke": page("owner", 200, { ids: { id: "invitation" } }),
  "POST /dashboard/members/invitations/:id/revoke": page("owner", 303, { ids: { id: "invitation" } }),
  "POST /dashboard/members/second-factor": page("owner", 303, { body: { required: "no" } }),
  "POST /dashboard/members/:personId/role": page("owner", 303, { ids: PERSON, body: { role: "viewer" } }),
  "GET /dashboard/members/:personId/remove": page("owner", 200, { ids: PERSON }),
  "POST /dashboard/members/:personId/remove": page("owner", 303, { ids: PERSON }),
  "GET /dashboard/members/:personId/access": page("owner", 200, { ids: PERSON }),
  "POST /dashboard/members/:personId/access/revoke": page("owner", 303, { ids: PERSON }),
  "GET /dashboard/invitation": forAll(404),
  "POST /dashboard/invitation": forAll(404, { guest: 303, body: { token: "none" } }),
  "POST /dashboard/accounts/:accountId/view": page("viewer", 303, { ids: ACCOUNT }),

  // Management tokens.
  "GET /dashboard/tokens": page("viewer", 200),
  "POST /dashboard/tokens": page("owner", 200, { body: { name: "program", role: "viewer" } }),
  "GET /dashboard/tokens/:id/revoke": page("owner", 200, { ids: TOKEN }),
  "POST /dashboard/tokens/:id/revoke": page("owner", 303, { ids: TOKEN }),

  // Those who run the service.
  "GET /dashboard/admin": admin(200),
  "GET /dashboard/admin/accounts/:accountId": admin(200, { ids: ACCOUNT }),
  "POST /dashboard/admin/accounts/:accountId/grant": admin(303, {
    ids: ACCOUNT,
    body: { amount: "1", reason: "test", attempt: `${ATTEMPT}2` },
  }),
  "POST /dashboard/admin/accounts/:accountId/adjust": admin(303, {
    ids: ACCOUNT,
    body: { amount: "-1", reason: "test", attempt: `${ATTEMPT}3` },
  }),
  "GET /dashboard/admin/accounts/:accountId/limits": admin(200, { ids: ACCOUNT }),
  "POST /dashboard/admin/accounts/:accountId/limits": admin(303, { ids: ACCOUNT, body: { spendPerDayUsd: "5" } }),
  "GET /dashboard/admin/accounts/:accountId/refund": admin(200, { ids: ACCOUNT }),
  "POST /dashboard/admin/accounts/:accountId/refund": admin(400, {
    ids: ACCOUNT,
    body: { requestId: "none", reason: "test", attempt: `${ATTEMPT}4` },
  }),
  "GET /dashboard/admin/accounts/:accountId/suspend": admin(200, { ids: ACCOUNT }),
  "POST /dashboard/admin/accounts/:accountId/suspend": admin(303, { ids: ACCOUNT }),
  "POST /dashboard/admin/accounts/:accountId/resume": admin(303, { ids: ACCOUNT }),
  "GET /dashboard/admin/codes": admin(200),
  "POST /dashboard/admin/codes": admin(200, {
    body: { count: "1", amount: "1", uses: "1", reason: "test", attempt: `${ATTEMPT}5` },
  }),
  "GET /dashboard/admin/codes/:id/revoke": admin(200, { ids: { id: "code" } }),
  "POST /dashboard/admin/codes/:id/revoke": admin(303, { ids: { id: "code" } }),
  "GET /dashboard/admin/models": admin(200),
  "GET /dashboard/admin/check": admin(200),
  "POST /dashboard/admin/check": admin(303),
  "GET /dashboard/admin/incidents": admin(200),
  "POST /dashboard/admin/incidents": admin(303, {
    body: { title: "Slow", impact: "minor", status: "investigating", message: "We are looking into it." },
  }),
  "GET /dashboard/admin/incidents/:id": forAll(404, { ids: { id: "account" } }),
  "POST /dashboard/admin/incidents/:id": forAll(404, { ids: { id: "account" } }),
  "GET /dashboard/admin/figures": admin(200),
  "GET /dashboard/admin/audit": admin(200),

  ...API_ACCESS,
};
