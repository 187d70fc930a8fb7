import { randomUUID } from "node:crypto";
import { USER_SCHEMA } from "../../../dashboard/api/scim/user-resource.ts";
import { api, forAll, type Access } from "./access.ts";
import { HOOK, NEW_NAME, OTLP, PROJECT, PROVIDER, TRACES, WEBHOOK } from "./access-samples.ts";

const KEY = { id: "key" } as const;
const RECORD = { request_id: "record" } as const;
const USER = { id: "person" } as const;
/** Names of users are unique. */
const NEW_USER = {
  get userName() {
    return `${randomUUID()}@example.com`;
  },
};

/** For the holders of API keys alone: neither a session nor a management token is one. */
export const ROUTES_OF_KEYS = [
  "POST /v1/files",
  "GET /v1/files",
  "GET /v1/files/:id",
  "GET /v1/files/:id/content",
  "DELETE /v1/files/:id",
  "POST /v1/batches",
  "GET /v1/batches",
  "GET /v1/batches/:id",
  "POST /v1/batches/:id/cancel",
  "POST /v1/messages/batches",
  "GET /v1/messages/batches",
  "GET /v1/messages/batches/:id",
  "GET /v1/messages/batches/:id/results",
  "POST /v1/messages/batches/:id/cancel",
  "DELETE /v1/messages/batches/:id",
];

/** Of access-table.ts: the management API, and what else the dashboard's process serves to programs. */
export const API_ACCESS: Readonly<Record<string, Access>> = {
  // The management API. The same lines hold for tokens of these roles.
  "GET /api/v1/openapi.json": forAll(200),
  "GET /api/v1/account": api("viewer", 200),
  "GET /api/v1/attribution": api("viewer", 200),
  "PUT /api/v1/attribution": api("owner", 200, { body: { is_on: false } }),
  "DELETE /api/v1/attribution": api("owner", 200),
  "GET /api/v1/usage/tags": api("viewer", 200),
  "GET /api/v1/usage/groups": api("viewer", 400),
  "GET /api/v1/limits": api("viewer", 200),
  "PUT /api/v1/limits": api("owner", 200, { body: { requests_per_minute: 60 } }),
  "GET /api/v1/budgets": api("viewer", 200),
  "PUT /api/v1/budgets": api("owner", 200, { body: { scope: "account", amount: "5" } }),
  "DELETE /api/v1/budgets/:id": api("owner", 204, { ids: { id: "budget" } }),
  "GET /api/v1/webhook": api("viewer", 200),
  "PUT /api/v1/webhook": api("owner", 200, { body: HOOK }),
  "DELETE /api/v1/webhook": api("owner", 204),
  "GET /api/v1/webhooks": api("owner", 200),
  "POST /api/v1/webhooks": api("owner", 201, { body: { ...HOOK, events: ["key.created"] } }),
  "GET /api/v1/webhooks/:id": api("owner", 200, { ids: WEBHOOK }),
  "PATCH /api/v1/webhooks/:id": api("owner", 200, { ids: WEBHOOK, body: { disabled: true } }),
  "DELETE /api/v1/webhooks/:id": api("owner", 204, { ids: WEBHOOK }),
  "POST /api/v1/webhooks/:id/rotate": api("owner", 200, { ids: WEBHOOK, body: {} }),
  "POST /api/v1/webhooks/:id/test": api("owner", 204, { ids: WEBHOOK }),
  "GET /api/v1/webhooks/:id/deliveries": api("owner", 200, { ids: WEBHOOK }),
  "POST /api/v1/webhooks/:id/deliveries/:delivery_id/repeat": api("owner", 404, {
    ids: { id: "webhook", delivery_id: { text: "0199d8a0-0000-4000-8000-000000000009" } },
  }),
  "GET /api/v1/trace-destinations": api("owner", 200),
  "POST /api/v1/trace-destinations": api("owner", 201, { body: OTLP }),
  "GET /api/v1/trace-destinations/:id": api("owner", 200, { ids: TRACES }),
  "PATCH /api/v1/trace-destinations/:id": api("owner", 200, { ids: TRACES, body: { disabled: true } }),
  "DELETE /api/v1/trace-destinations/:id": api("owner", 204, { ids: TRACES }),
  "POST /api/v1/trace-destinations/:id/test": api("owner", 200, { ids: TRACES }),
  "GET /api/v1/members": api("viewer", 200),
  "GET /api/v1/scim/v2/Users": api("owner", 200),
  "POST /api/v1/scim/v2/.search": api("owner", 200),
  "POST /api/v1/scim/v2/Users/.search": api("owner", 200),
  "POST /api/v1/scim/v2/Users": api("owner", 201, { body: NEW_USER }),
  "GET /api/v1/scim/v2/Users/:id": api("owner", 200, { ids: USER }),
  "PUT /api/v1/scim/v2/Users/:id": api("owner", 200, { ids: USER, body: NEW_USER }),
  "PATCH /api/v1/scim/v2/Users/:id": api("owner", 200, {
    ids: USER,
    body: { Operations: [{ op: "replace", path: "active", value: false }] },
  }),
  "DELETE /api/v1/scim/v2/Users/:id": api("owner", 204, { ids: USER }),
  "GET /api/v1/scim/v2/ServiceProviderConfig": forAll(200),
  "GET /api/v1/scim/v2/ResourceTypes": forAll(200),
  "GET /api/v1/scim/v2/ResourceTypes/User": forAll(200),
  "GET /api/v1/scim/v2/Schemas": forAll(200),
  "GET /api/v1/scim/v2/Schemas/:id": forAll(200, { ids: { id: { text: USER_SCHEMA } } }),
  "GET /api/v1/models": api("viewer", 200),
  "GET /api/v1/incidents": api("viewer", 200),
  "GET /api/v1/service/figures": forAll(403, { guest: 401, admin: 200 }),
  "GET /api/v1/provider-offers": api("viewer", 200),
  "GET /api/v1/provider-keys": api("viewer", 200),
  "GET /api/v1/provider-keys/:provider": api("viewer", 200, { ids: PROVIDER }),
  "PUT /api/v1/provider-keys/:provider": api("owner", 400, {
    ids: { provider: { text: "example" } },
    body: { key: "px-live-1234" },
    stranger: 400,
    admin: 400,
  }),
  "PATCH /api/v1/provider-keys/:provider": api("owner", 200, { ids: PROVIDER, body: { fallback: true } }),
  "DELETE /api/v1/provider-keys/:provider": api("owner", 204, { ids: PROVIDER }),

  "GET /api/v1/projects": api("viewer", 200),
  "POST /api/v1/projects": api("owner", 201, { body: NEW_NAME }),
  "GET /api/v1/projects/:id": api("viewer", 200, { ids: PROJECT }),
  "PATCH /api/v1/projects/:id": api("owner", 200, { ids: PROJECT, body: { name: "changed" } }),
  "DELETE /api/v1/projects/:id": api("owner", 204, { ids: PROJECT }),
  "GET /api/v1/keys": api("viewer", 200),
  "POST /api/v1/keys": api("member", 201, { body: { name: "new" } }),
  "GET /api/v1/keys/:id": api("viewer", 200, { ids: KEY }),
  "PATCH /api/v1/keys/:id": api("member", 200, { ids: KEY, body: { name: "changed" } }),
  "POST /api/v1/keys/:id/rotate": api("member", 200, { ids: KEY, body: {} }),
  "DELETE /api/v1/keys/:id": api("member", 204, { ids: KEY }),
  "DELETE /api/v1/keys/:id/prompt-log": api("owner", 204, { ids: KEY }),
  "GET /api/v1/prompt-log": api("owner", 200),
  "GET /api/v1/prompt-log/:request_id": api("owner", 200, { ids: RECORD }),
  "DELETE /api/v1/prompt-log/:request_id": api("owner", 204, { ids: RECORD }),
  "GET /api/v1/usage": api("viewer", 200),
  "GET /api/v1/usage/keys": api("viewer", 200),
  "GET /api/v1/usage/members": api("viewer", 200),
  "GET /api/v1/usage/projects": api("viewer", 200),
  "GET /api/v1/usage/totals": api("viewer", 200),
  "GET /api/v1/usage/requests": api("viewer", 200),
  "GET /api/v1/credit": api("viewer", 200),
  "GET /api/v1/credit/entries": api("viewer", 200),
  "GET /api/v1/billing/details": api("viewer", 200),
  "PUT /api/v1/billing/details": api("owner", 200, { body: { name: "ACME" } }),
  "GET /api/v1/billing/statements/:month": api("viewer", 200, {
    ids: { month: { text: "2026-11" } },
    stranger: 200,
    admin: 200,
  }),
  ...Object.fromEntries(ROUTES_OF_KEYS.map((route) => [route, forAll(401, { isWebhook: true })])),
  "POST /api/v1/credit/redeem": api("member", 400, { body: { code: "AAAAA-AAAAA-AAAAA-AAAAA" } }),
};
