import { expect, test } from "vitest";
import { ACCOUNT_BOUNDS } from "../../../contract/account-bounds.ts";
import { readTarget } from "../../../ledger/traces/destinations.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { PEPPER } from "../../support/billing/ledger.ts";
import { answer, startOtlpReceiver } from "../../support/servers/otlp-receiver.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { openTraces } from "./harness.ts";

const postgres = usePostgres();
const PATH = "/dashboard/trace-destinations";
const API = "/api/v1/trace-destinations";
const open = async () => openTraces((await postgres.migrated()).database);

test("an owner adds, tests, changes, disables and deletes a destination on its pages, which never show its headers (S61)", async () => {
  const { database, accountId, owner, inAccount, logged } = await open();
  const receiver = await startOtlpReceiver();
  const values = {
    kind: "otlp",
    name: "Collector",
    url: receiver.url,
    secret_headers: "Authorization: Bearer topsecret1\nx-team: search",
  };
  const added = await owner.post(PATH, values);
  expect(added.statusCode).toBe(303);
  const path = String(added.headers.location);
  const id = path.slice(PATH.length + 1);
  const shown = (await owner.get(path)).body;
  expect(shown).toContain(`${receiver.url}/v1/traces`);
  expect(shown).toContain("<code>authorization</code> <code>x-team</code>");

  const tested = await owner.post(`${path}/test`);
  expect(tested.body).toContain("The server accepted the test trace");
  expect(receiver.batches).toMatchObject([
    {
      headers: { authorization: "Bearer topsecret1", "x-team": "search" },
      spans: [{ name: "test", attributes: { "gateway.is_test": true } }],
    },
  ]);

  // What is not entered stays.
  await owner.post(path, { name: "Renamed", url: `${receiver.url}/other`, secret_headers: "" });
  expect((await readTarget(database, { accountId, id, pepper: PEPPER })).headers).toEqual([
    ["authorization", "Bearer topsecret1"],
    ["x-team", "search"],
  ]);
  await owner.post(path, { name: "Renamed", url: `${receiver.url}/other`, include_content: "yes" });
  expect((await owner.get(path)).body).toContain("Sent, for keys that record them");
  // For another server it must be entered again.
  const moved = await owner.post(path, { name: "Renamed", url: "https://evil.example.com/", secret_headers: "" });
  expect([moved.statusCode, moved.body.includes("Enter the headers again")]).toEqual([400, true]);
  const refused = await owner.post(path, {
    name: "Renamed",
    url: receiver.url,
    secret_headers: "authorization: Bearer topsecret2\nbroken",
  });
  expect(refused.statusCode).toBe(400);

  await owner.post(`${path}/disable`);
  expect((await owner.get(PATH)).body).toContain(">Disabled<");
  expect((await owner.post(`${path}/test`)).body).toContain("accepted the test trace");
  await owner.post(`${path}/enable`);
  const member = await inAccount(accountId, "member");
  expect((await member.get(PATH)).body).toContain("Only owners of this account");
  expect((await member.post(PATH, values)).statusCode).toBe(403);
  const pages = [
    shown,
    tested.body,
    refused.body,
    (await owner.get(path)).body,
    (await owner.get("/dashboard/settings/activity")).body,
  ];
  await owner.post(`${path}/delete`);
  expect((await owner.get(path)).statusCode).toBe(404);
  for (const text of [...pages, logged()]) expect(text).not.toContain("topsecret");
  expect((await owner.get("/dashboard/settings/activity")).body).toContain("Sent a test trace");
});

test("Langfuse takes the address of its server and a project's keys", async () => {
  const { database, accountId, owner } = await open();
  const receiver = await startOtlpReceiver((response) => answer(response, 401));
  const values = {
    kind: "langfuse",
    name: "Langfuse",
    url: `${receiver.url}/api/public/otel/`,
    public_key: "pk-lf-1",
    secret_key: "sk-lf-2",
  };
  const path = String((await owner.post(PATH, values)).headers.location);
  const id = path.slice(PATH.length + 1);
  const authorization = `Basic ${Buffer.from("pk-lf-1:sk-lf-2").toString("base64")}`;
  const tested = (await owner.post(`${path}/test`)).body;
  expect(tested).toContain("The test trace was not accepted. The server answered with status 401.");
  expect(receiver.batches).toMatchObject([{ path: "/api/public/otel/v1/traces", headers: { authorization } }]);
  const half = await owner.post(path, { name: "Langfuse", url: receiver.url, public_key: "pk-lf-3", secret_key: "" });
  expect([half.statusCode, half.body.includes("Enter the secret key")]).toEqual([400, true]);
  await owner.post(path, { name: "Langfuse", url: receiver.url, public_key: "pk-lf-3", secret_key: "sk-lf-4" });
  expect((await readTarget(database, { accountId, id, pepper: PEPPER })).headers).toEqual([
    ["authorization", `Basic ${Buffer.from("pk-lf-3:sk-lf-4").toString("base64")}`],
  ]);
  expect((await owner.get(path)).body + half.body).not.toMatch(/sk-lf/);
});

test("the management API does the same", async () => {
  const { call, other, program } = await open();
  const receiver = await startOtlpReceiver();
  const made = (
    await call("POST", API, { kind: "otlp", name: "Collector", url: receiver.url, headers: { "X-Key": "topsecret1" } })
  ).json();
  expect(made).toMatchObject({
    kind: "otlp",
    endpoint: `${receiver.url}/v1/traces`,
    header_names: ["x-key"],
    status: "active",
    sent: 0,
  });
  const langfuse = { kind: "langfuse", name: "Langfuse", url: receiver.url, public_key: "pk-lf-1", secret_key: "sk-lf-2" };
  const second = (await call("POST", API, langfuse)).json();
  expect(second).toMatchObject({ kind: "langfuse", endpoint: `${receiver.url}/api/public/otel/v1/traces` });
  expect((await call("GET", API)).json().data).toMatchObject([made, second]);
  expect((await call("POST", `${API}/${made.id}/test`)).json()).toEqual({ accepted: true, problem: null, remark: null });
  expect(
    (await call("PATCH", `${API}/${made.id}`, { name: "Other", disabled: true, include_content: true })).json(),
  ).toMatchObject({
    name: "Other",
    status: "disabled",
    include_content: true,
  });
  for (const [method, path, body, field] of [
    ["POST", API, { ...langfuse, secret_key: "has space" }, "secret_key"],
    ["POST", API, { ...langfuse, kind: "zipkin" }, "kind"],
    ["POST", API, { kind: "otlp", name: "", url: receiver.url }, "name"],
    ["POST", API, { kind: "otlp", name: "a\0b", url: receiver.url }, "name"],
    ["POST", API, { kind: "otlp", name: "n", url: receiver.url, headers: { host: "x" } }, "headers"],
    ["POST", API, { kind: "otlp", name: "n", url: receiver.url, headers: { "x-a": "b\r\nx-evil: c" } }, "headers"],
    ["POST", API, { kind: "otlp", name: "n", url: "nonsense" }, "url"],
    ["PATCH", `${API}/${made.id}`, { public_key: "pk" }, "public_key"],
    ["PATCH", `${API}/${second.id}`, { headers: { a: "b" } }, "headers"],
    ["PATCH", `${API}/${second.id}`, { public_key: "pk" }, "secret_key"],
    ["PATCH", `${API}/${made.id}`, { url: "https://evil.example.com/" }, "headers"],
  ] as const) {
    const refused = await call(method, path, body);
    expect([body, refused.statusCode, refused.json().error.field]).toEqual([body, 400, field]);
  }
  const stranger = await program(other.accountId, other.personId, "owner");
  for (const method of ["GET", "PATCH", "DELETE"])
    expect((await stranger.call(method, `${API}/${made.id}`)).statusCode).toBe(404);
  expect((await stranger.call("POST", `${API}/${made.id}/test`)).statusCode).toBe(404);
  for (const { id } of [made, second]) expect((await call("DELETE", `${API}/${id}`)).statusCode).toBe(204);
  expect((await call("GET", API)).json()).toEqual({ data: [] });
});

test("an account has a bounded number of destinations and changes; stopping always works", async () => {
  const { database, accountId, owner, call, add } = await open();
  const { id } = await add("https://otlp.example.com/");
  for (let each = 1; each < ACCOUNT_BOUNDS.traceDestinations; each++) await add("https://otlp.example.com/");
  const settings = { kind: "otlp", name: "n", url: "https://otlp.example.com/" };
  expect((await call("POST", API, settings)).json().error.message).toContain("at most 3 trace destinations");
  expect((await owner.get(PATH)).body).toContain("the maximum");
  await database.execute(
    `INSERT INTO audit_entry (id, account_id, person_id, action, subject)
     SELECT uuidv7(), $1, $2, 'account.traces_tested', 'a subject' FROM generate_series(1, $3::int)`,
    [accountId, owner.personId, ACCOUNT_BOUNDS.traceChangesADay],
  );
  expect((await call("POST", `${API}/${id}/test`)).statusCode).toBe(429);
  expect((await owner.post(`${PATH}/${id}/test`)).statusCode).toBe(429);
  // The second one stops nothing, and leaves no row.
  for (const _ of [1, 2]) expect((await call("PATCH", `${API}/${id}`, { disabled: true })).json().status).toBe("disabled");
  expect(await database.execute("SELECT FROM audit_entry WHERE action = 'account.traces_disabled'")).toBe(1);
  expect((await call("DELETE", `${API}/${id}`)).statusCode).toBe(204);
});

test("an address must be public, and have no credentials", async () => {
  const { database, accountId, owner, program } = await open();
  const strict = await openDashboard(database);
  const { call } = strict.client({ authorization: `Bearer ${(await program(accountId, owner.personId, "owner")).token}` });
  for (const wrong of [
    "http://example.com/",
    "https://user:word@example.com/",
    "https://10.0.0.1/",
    "https://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://2130706433/",
    "https://169.254.169.254/latest/meta-data",
    "https://localhost/",
    "https://metadata.localhost./",
    "ftp://example.com/",
    "nonsense",
  ]) {
    for (const body of [
      { kind: "otlp", name: "n", url: wrong },
      { kind: "langfuse", name: "n", url: wrong, public_key: "pk", secret_key: "sk" },
    ]) {
      const refused = await call("POST", API, body);
      expect([wrong, refused.statusCode, refused.json().error.field]).toEqual([wrong, 400, "url"]);
    }
  }
  const added = (await call("POST", API, { kind: "otlp", name: "n", url: "https://otlp.example.com" })).json();
  expect(added.url).toBe("https://otlp.example.com/v1/traces");
  expect((await call("PATCH", `${API}/${added.id}`, { url: "https://10.0.0.1/" })).json().error.field).toBe("url");
});
