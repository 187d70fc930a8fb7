import { expect, test } from "vitest";
import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../../contract/account-bounds.ts";
import { listActions } from "../../../ledger/people/audit.ts";
import { assignProject } from "../../../ledger/projects/project-keys.ts";
import { deleteProject } from "../../../ledger/projects/projects.ts";
import { sendBudgetAlerts } from "../../../dashboard/budgets/watch.ts";
import type { Letter } from "../../../dashboard/mail/letter.ts";
import { addEndpoint } from "../../../ledger/webhooks/endpoints.ts";
import { openAccountWithProgram } from "../../support/dashboard/account-with-program.ts";
import { captureLog } from "../../support/stacks/log.ts";
import { PEPPER } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();

test("a project is created, listed with its keys and spend, renamed and deleted, and each is in the audit log (S47)", async () => {
  const { database, accountId, call, get, create, createKey, spend } = await openAccountWithProgram(postgres);
  const made = await call("POST", "/api/v1/projects", { name: " search " });
  expect([made.statusCode, made.json()]).toEqual([
    201,
    {
      id: expect.any(String),
      name: "search",
      created_at: expect.stringMatching(/Z$/),
      keys: 0,
      spent_this_month: "0.000000000",
      budget: null,
    },
  ]);
  const { id } = made.json();
  await create("Batch jobs");
  const keyId = await createKey(id);
  await spend(keyId, 2_000n);
  const listed = (await get("/api/v1/projects")).json();
  expect(listed.data).toMatchObject([
    { name: "Batch jobs", keys: 0 },
    { name: "search", keys: 1, spent_this_month: "0.000002000" },
  ]);
  const first = (await get("/api/v1/projects?limit=1")).json();
  const second = (await get(`/api/v1/projects?limit=1&cursor=${first.next_cursor}`)).json();
  expect([...first.data, ...second.data]).toEqual(listed.data);
  expect(second.next_cursor).toBeNull();
  expect((await call("PATCH", `/api/v1/projects/${id}`, { name: "Search" })).json()).toMatchObject({ id, name: "Search" });

  const refused = await call("DELETE", `/api/v1/projects/${id}`);
  expect([refused.statusCode, refused.json().error.message]).toEqual([400, "This project has a key. Move or delete it first."]);
  expect((await call("DELETE", `/api/v1/keys/${keyId}`)).statusCode).toBe(204);
  expect((await call("DELETE", `/api/v1/projects/${id}`)).statusCode).toBe(204);
  for (const method of ["GET", "PATCH", "DELETE"])
    expect((await call(method, `/api/v1/projects/${id}`, { name: "again" })).statusCode).toBe(404);
  // Its name is free again.
  await create("search");
  const actions = await listActions(database, { accountId, action: "project", limit: 10 });
  expect(actions.map(({ by, action, subject }) => [by, action, subject])).toEqual(
    [
      ["created", "search"],
      ["deleted", "Search"],
      ["renamed", "search → Search"],
      ["created", "Batch jobs"],
      ["created", "search"],
    ].map(([done, subject]) => ["token a owner's program", `project.${done}`, subject]),
  );
});

test("a name has 1 to 64 characters and is unique in its account, whatever its case and however many ask at once", async () => {
  const { call, bob, create } = await openAccountWithProgram(postgres);
  await create("search");
  for (const name of ["", "  ", "x".repeat(65), "a\0b", "SEARCH"]) {
    const answer = await call("POST", "/api/v1/projects", { name });
    expect([name, answer.statusCode, answer.json().error.field]).toEqual([name, 400, "name"]);
  }
  const other = await create("other");
  expect((await call("PATCH", `/api/v1/projects/${other}`, { name: "Search" })).json().error.field).toBe("name");
  expect((await bob.call("POST", "/api/v1/projects", { name: "search" })).statusCode).toBe(201);

  const statuses = await Promise.all(
    Array.from({ length: 4 }, async () => (await call("POST", "/api/v1/projects", { name: "same" })).statusCode),
  );
  expect(statuses.toSorted((one, next) => one - next)).toEqual([201, 400, 400, 400]);
});

test("an account has a bounded number of projects, and of changes a day; deleting always works", async () => {
  const { database, accountId, ann, call, create } = await openAccountWithProgram(postgres);
  const last = await create("last");
  await database.execute(
    `INSERT INTO project (id, account_id, name, created_by)
     SELECT uuidv7(), $1, 'project ' || number, $2 FROM generate_series(1, $3::int) AS number`,
    [accountId, ann.personId, ACCOUNT_BOUNDS.projects - 2],
  );
  const statuses = await Promise.all(
    ["one", "two", "three"].map(async (name) => (await call("POST", "/api/v1/projects", { name })).statusCode),
  );
  expect(statuses.toSorted((one, next) => one - next)).toEqual([201, 400, 400]);
  const full = await call("POST", "/api/v1/projects", { name: "four" });
  expect(full.json().error.message).toContain(`at most ${ACCOUNT_BOUNDS.projects} projects`);

  await database.execute(
    `INSERT INTO audit_entry (id, account_id, person_id, action, subject)
     SELECT uuidv7(), $1, $2, 'project.renamed', 'a name' FROM generate_series(1, $3::int)`,
    [accountId, ann.personId, ACCOUNT_BOUNDS.projectChangesADay],
  );
  expect((await call("PATCH", `/api/v1/projects/${last}`, { name: "new" })).statusCode).toBe(429);
  expect((await call("DELETE", `/api/v1/projects/${last}`)).statusCode).toBe(204);
});

test("a key is in one project at most; moving it is noted, takes its spend along, and changes nothing else", async () => {
  const { database, accountId, call, get, create, createKey, spend } = await openAccountWithProgram(postgres);
  const [search, batch] = [await create("search"), await create("batch")];
  const keyId = await createKey(search);
  const other = await createKey();
  await spend(keyId, 3_000n);
  const path = `/api/v1/keys/${keyId}`;
  const key = (await get(path)).json();
  expect(key.project_id).toBe(search);
  const moved = await call("PATCH", path, { project_id: batch });
  expect(moved.json()).toEqual({ ...key, project_id: batch });
  expect((await call("PATCH", path, { name: "new name" })).json().project_id).toBe(batch);
  expect((await get("/api/v1/projects")).json().data).toMatchObject([
    { name: "batch", keys: 1, spent_this_month: "0.000003000" },
    { name: "search", keys: 0, spent_this_month: "0.000000000" },
  ]);
  const idsOf = async (query: string) => (await get(`/api/v1/keys${query}`)).json().data.map(({ id }: { id: string }) => id);
  expect(await idsOf(`?project=${batch}`)).toEqual([keyId]);
  expect(await idsOf(`?project=${search}`)).toEqual([]);
  expect((await call("PATCH", path, { project_id: null })).json().project_id).toBeNull();
  expect(await idsOf("")).toEqual([other, keyId]);
  const actions = await listActions(database, { accountId, action: "key", limit: 10 });
  expect(actions.filter(({ subject }) => subject === keyId).map(({ action }) => action)).toEqual([
    "key.moved",
    "key.changed",
    "key.moved",
    "key.created",
  ]);
});

test("other accounts' projects are not found, neither by themselves nor for a key", async () => {
  const { bob, create, createKey, get, call } = await openAccountWithProgram(postgres);
  const id = await create("search");
  const keyId = await createKey(id);
  for (const [method, body] of [["GET"], ["PATCH", { name: "mine" }], ["DELETE"]] as const)
    expect((await bob.call(method, `/api/v1/projects/${id}`, body)).statusCode).toBe(404);
  const refused = await bob.call("POST", "/api/v1/keys", { name: "a key", project_id: id });
  expect([refused.statusCode, refused.json().error.field]).toEqual([404, "project_id"]);
  expect((await bob.get("/api/v1/keys")).json().data).toEqual([]);
  expect((await bob.get(`/api/v1/keys?project=${id}`)).json().data).toEqual([]);
  const foreign = (await bob.call("POST", "/api/v1/projects", { name: "bob's" })).json().id;
  expect((await call("PATCH", `/api/v1/keys/${keyId}`, { project_id: foreign })).statusCode).toBe(404);
  expect((await get(`/api/v1/keys/${keyId}`)).json().project_id).toBe(id);
});

test("no key gets into a project while it is deleted", async () => {
  const { database, accountId, create, createKey, get } = await openAccountWithProgram(postgres);
  const id = await create("search");
  const keyId = await createKey();
  let moving: Promise<unknown> = Promise.resolve();
  await database.transaction(async (transaction) => {
    await deleteProject(transaction, { accountId, id });
    moving = database
      .transaction((other) => assignProject(other, { accountId, publicId: keyId, projectId: id }))
      .catch((error: unknown) => error);
    await new Promise((resolve) => setImmediate(resolve));
  });
  expect(await moving).toMatchObject({ code: "not_found" });
  expect((await get(`/api/v1/keys/${keyId}`)).json().project_id).toBeNull();
});

test("a page of projects begins after the one before, even if its last project is deleted or renamed meanwhile", async () => {
  const { call, get, create } = await openAccountWithProgram(postgres);
  const names = ["a", "字".repeat(64), "💡".repeat(32)];
  const ids = new Map<string, string>();
  for (const name of names) ids.set(name, await create(name));
  type Page = { data: { id: string; name: string }[]; next_cursor: string | null };
  const read = async (cursor: string | null): Promise<Page> =>
    (await get(`/api/v1/projects?limit=1${cursor === null ? "" : `&cursor=${cursor}`}`)).json();
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const { data, next_cursor }: Page = await read(cursor);
    cursor = next_cursor;
    for (const { id, name } of data) {
      seen.push(name);
      const answer = await (name === "a"
        ? call("PATCH", `/api/v1/projects/${id}`, { name: "0" })
        : call("DELETE", `/api/v1/projects/${id}`));
      expect(answer.statusCode).toBeLessThan(300);
    }
  } while (cursor !== null);
  expect(seen.toSorted()).toEqual(names.toSorted());
  const foreign = Buffer.from(`${ids.get("a")}`).toString("base64url");
  expect((await get(`/api/v1/projects?cursor=${foreign}`)).json().error.field).toBe("cursor");
});

test("a key's page offers the account's projects; a form without the choice leaves the key where it is", async () => {
  const { ann, create, createKey, get } = await openAccountWithProgram(postgres);
  expect((await ann.get("/dashboard/keys/new")).body).not.toContain('name="project"');
  const id = await create("search");
  const keyId = await createKey();
  const path = `/dashboard/keys/${keyId}`;
  const projectOf = async () => (await get(`/api/v1/keys/${keyId}`)).json().project_id;
  expect((await ann.get(path)).body).toContain(`<option value="${id}" >search</option>`);
  await ann.post(path, { name: "renamed", project: id });
  expect(await projectOf()).toBe(id);
  await ann.post(path, { name: "renamed again" });
  expect(await projectOf()).toBe(id);
  const filtered = (await ann.get(`/dashboard/keys?project=${id}`)).body;
  expect(filtered).toContain("renamed again");
  await ann.post(path, { name: "renamed", project: "" });
  expect(await projectOf()).toBeNull();
  expect((await ann.get(`/dashboard/keys?project=${id}`)).body).toContain("No matching keys");
});

test("a project's budget counts the keys in it, and each threshold is reported once a month, by email and event (S47)", async () => {
  const { database, ann, call, get, create, createKey, spend } = await openAccountWithProgram(postgres);
  const id = await create("search");
  const [keyId, other] = [await createKey(id), await createKey(id)];
  const letters: Letter[] = [];
  const mailer = { outbox: null, send: async (letter: Letter) => void letters.push(letter) };
  const round = () => sendBudgetAlerts({ database, mailer, publicBaseUrl: "http://gateway.example", log: captureLog().log });
  await addEndpoint(database, {
    accountId: ann.accountId,
    url: "https://example.com/hook",
    events: ["budget.threshold_reached"],
    pepper: PEPPER,
  });
  const budget = (await call("PUT", "/api/v1/budgets", { scope: "project", project_id: id, amount: "1" })).json();
  expect(budget).toMatchObject({ scope: "project", project_id: id, key_id: null, spent_this_month: "0.000000000" });
  expect((await get(`/api/v1/projects/${id}`)).json().budget).toBe("1.000000000");

  await spend(keyId, 300_000_000n);
  await spend(await createKey(), 5_000_000_000n);
  await round();
  expect(letters).toEqual([]);
  await spend(other, 200_000_000n);
  for (let each = 0; each < 2; each++) await Promise.all([round(), round()]);
  expect(letters.map(({ to, subject }) => [to, /\d+%/.exec(subject)?.[0]])).toEqual([["ann@example.com", "50%"]]);
  expect(letters[0]?.text).toContain("The project “search” of the account");
  // A key that is moved away takes its spend along.
  await call("PATCH", `/api/v1/keys/${other}`, { project_id: null });
  expect((await get("/api/v1/budgets")).json().data).toMatchObject([
    { id: budget.id, spent_this_month: "0.300000000", thresholds_reached: [50] },
  ]);
  await call("PATCH", `/api/v1/keys/${other}`, { project_id: id });
  await round();
  expect(letters).toHaveLength(1);
  const [event, ...more] = await database.query({
    text: "SELECT body FROM event_delivery",
    row: z.strictObject({ body: z.string() }),
  });
  expect([more.length, JSON.parse(event?.body ?? "")]).toMatchObject([
    0,
    { type: "budget.threshold_reached", data: { scope: "project", project_id: id, key_id: null, threshold_percent: 50 } },
  ]);

  const page = (await ann.get("/dashboard/budgets")).body;
  expect(page).toContain("Keys of this project");
  expect((await ann.post("/dashboard/budgets", { covered: `project:${id}`, amount: "2" })).statusCode).toBe(303);
  expect((await get("/api/v1/budgets")).json().data).toMatchObject([
    { id: budget.id, amount: "2.000000000", thresholds_reached: [] },
  ]);
  const answer = await call("DELETE", `/api/v1/budgets/${budget.id}`);
  expect([answer.statusCode, (await get("/api/v1/budgets")).json().data]).toEqual([204, []]);
});

test("a project's budget goes with it, counts among the account's, and is nobody else's to set", async () => {
  const { database, accountId, bob, call, get, create } = await openAccountWithProgram(postgres);
  const [id, other] = [await create("search"), await create("other")];
  expect((await bob.call("PUT", "/api/v1/budgets", { scope: "project", project_id: id, amount: "1" })).statusCode).toBe(404);
  expect((await call("PUT", "/api/v1/budgets", { scope: "project", project_id: id, amount: "1" })).statusCode).toBe(200);
  expect((await call("DELETE", `/api/v1/projects/${id}`)).statusCode).toBe(204);
  expect((await get("/api/v1/budgets")).json().data).toEqual([]);
  expect((await call("PUT", "/api/v1/budgets", { scope: "project", project_id: id, amount: "1" })).statusCode).toBe(404);
  await database.execute(
    `INSERT INTO api_key (public_id, account_id, name, secret_hash)
     SELECT lpad(number::text, 12, '0'), $1, 'a key', decode(repeat('00', 32), 'hex') FROM generate_series(1, $2::int) AS number`,
    [accountId, ACCOUNT_BOUNDS.budgets],
  );
  await database.execute(
    `INSERT INTO budget (id, account_id, scope, key_id, amount_nano_usd)
     SELECT uuidv7(), $1, 'key', public_id, 1 FROM api_key WHERE account_id = $1`,
    [accountId],
  );
  const full = await call("PUT", "/api/v1/budgets", { scope: "project", project_id: other, amount: "1" });
  expect([full.statusCode, full.json().error.message]).toEqual([400, expect.stringContaining("at most 100 budgets")]);
});

test("usage is grouped and filtered by the project that the keys are in now (S27, S47)", async () => {
  const { ann, bob, call, get, create, createKey, spend } = await openAccountWithProgram(postgres);
  const [search, batch] = [await create("search"), await create("batch")];
  const [one, two, three] = [await createKey(search), await createKey(batch), await createKey()];
  await spend(one, 3_000n);
  await spend(two, 2_000n);
  await spend(three, 1_000n);
  type Group = { project_id: string | null; name: string | null; is_deleted: boolean; requests: number; amount: string };
  const groups = async () =>
    (await get("/api/v1/usage/projects"))
      .json()
      .data.map(({ project_id, name, is_deleted, amount }: Group) => [project_id, name, is_deleted, amount]);
  expect(await groups()).toEqual([
    [search, "search", false, "0.000003000"],
    [batch, "batch", false, "0.000002000"],
    [null, null, false, "0.000001000"],
  ]);
  const amounts = async (path: string) => (await get(path)).json().data.map(({ amount }: Group) => amount);
  expect(await amounts(`/api/v1/usage?project=${batch}`)).toEqual(["0.000002000"]);
  expect(await amounts(`/api/v1/usage/keys?project=${batch}`)).toEqual(["0.000002000"]);
  expect(await amounts(`/api/v1/usage/requests?project=${batch}`)).toEqual(["0.000002000"]);
  expect(await amounts(`/api/v1/usage/requests?project=${batch}&key=${one}`)).toEqual([]);
  expect((await bob.get(`/api/v1/usage/requests?project=${batch}`)).json().data).toEqual([]);
  expect((await bob.get(`/api/v1/usage?project=${batch}`)).json().data).toEqual([]);
  expect((await get("/api/v1/usage?project=batch")).json().error.field).toBe("project");

  // A deleted key and its project stay in reports.
  await call("DELETE", `/api/v1/keys/${two}`);
  await call("DELETE", `/api/v1/projects/${batch}`);
  await call("PATCH", `/api/v1/keys/${three}`, { project_id: search });
  expect(await groups()).toEqual([
    [search, "search", false, "0.000004000"],
    [batch, "batch", true, "0.000002000"],
  ]);
  const page = (await ann.get("/dashboard/usage?by=project&range=today")).body;
  expect(page).toContain("By project");
  expect(page).toContain("batch</span>");
  expect(page).toMatch(/by&#61;project" aria-current="true">Project<\/a>/);
  const file = (await ann.get("/dashboard/usage/csv/projects?range=today")).body.trim().split("\r\n");
  expect(file.map((line) => line.split(",").slice(1, 3))).toEqual([
    ["project", "is_deleted"],
    ["search", "no"],
    ["batch", "yes"],
  ]);
  const logs = (await ann.get(`/dashboard/usage/requests?project=${search}`)).body;
  expect(logs).toContain(`<option value="${search}" selected>search</option>`);
  expect(logs.match(/<tr>/g)).toHaveLength(3);
});

test("owners create, rename and delete projects on their page; other members see them", async () => {
  const { ann, inAccount, accountId, get, call, createKey, spend } = await openAccountWithProgram(postgres);
  const first = async () => (await get("/api/v1/projects")).json().data[0];
  expect((await ann.get("/dashboard/projects")).body).toContain("No projects yet");
  expect((await ann.post("/dashboard/projects", { name: "search" })).statusCode).toBe(303);
  const { id } = await first();
  const twice = await ann.post("/dashboard/projects", { name: "Search" });
  expect([twice.statusCode, twice.body]).toEqual([400, expect.stringContaining("already has a project with this name")]);
  const keyId = await createKey(id);
  await spend(keyId, 600_000_000n);
  await call("PUT", "/api/v1/budgets", { scope: "project", project_id: id, amount: "1" });

  const member = await inAccount(accountId, "member");
  const page = (await member.get("/dashboard/projects")).body;
  for (const part of ["search</span>", "$0.60", 'value="60"', `href="/dashboard/keys?project=${id}">1</a>`])
    expect(page).toContain(part);
  expect(page).not.toContain("Create a project");
  expect((await member.get(`/dashboard/projects/${id}`)).body).not.toContain("Save");

  const path = `/dashboard/projects/${id}`;
  expect((await ann.post(path, { name: "x".repeat(65) })).body).toContain("at most 64 characters");
  expect((await ann.post(path, { name: "Search" })).statusCode).toBe(303);
  expect((await first()).name).toBe("Search");
  expect((await ann.get(`${path}/delete`)).headers["location"]).toContain(`/dashboard/keys?project=${id}`);
  expect((await ann.post(`${path}/delete`)).statusCode).toBe(400);
  await call("DELETE", `/api/v1/keys/${keyId}`);
  expect((await ann.get(`${path}/delete`)).body).toContain("Delete this project?");
  expect((await ann.post(`${path}/delete`)).statusCode).toBe(303);
  expect(await first()).toBeUndefined();
});
