import { expect, test } from "vitest";
import { openAccountWithProgram } from "../../support/dashboard/account-with-program.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Projects in forms, filters and files of the dashboard. */
const postgres = usePostgres();

test("a project that was deleted while a key's form was open is refused beside its field, and nothing else is saved", async () => {
  const { ann, bob, create, createKey, call, get } = await openAccountWithProgram(postgres);
  const [id, keyId] = [await create("search"), await createKey()];
  await call("DELETE", `/api/v1/projects/${id}`);
  const foreign = (await bob.call("POST", "/api/v1/projects", { name: "bob's" })).json().id;
  for (const project of [id, foreign])
    for (const path of [`/dashboard/keys/${keyId}`, "/dashboard/keys/new"]) {
      const refused = await ann.post(path, { name: "renamed", project });
      expect([refused.statusCode, refused.body]).toEqual([
        400,
        expect.stringMatching(/id="project-problem">This account has no such project/),
      ]);
      expect(refused.body).not.toContain("bob");
    }
  expect((await get("/api/v1/keys")).json().data).toMatchObject([{ id: keyId, name: "a key" }]);
});

test("pages and files of usage show one project alone, and filters name a deleted one", async () => {
  const { ann, bob, call, create, createKey, spend } = await openAccountWithProgram(postgres);
  const unused = (await ann.get("/dashboard/usage?by=project&range=today")).body;
  expect(unused).not.toContain("All projects");
  const id = await create("search");
  const [inside, outside] = [await createKey(id), await createKey()];
  await spend(inside, 3_000_000_000n);
  await spend(outside, 5_000_000_000n);
  const query = `range=today&project=${id}`;
  const page = (await ann.get(`/dashboard/usage?${query}&by=project`)).body;
  expect(page).toContain(`<option value="${id}" selected>search</option>`);
  expect(page).toContain('<p class="value"><span class="nowrap" title="$3.00">');
  expect(page).toContain(`key=${inside}`);
  expect(page).not.toContain(`key=${outside}`);
  expect(page).toContain('aria-current="true">Model</a>');
  const charges = async (view: string, who = ann) => {
    const [head = "", ...lines] = (await who.get(`/dashboard/usage/csv/${view}?${query}`)).body.trim().split("\r\n");
    const at = head.split(",").indexOf("charge_usd");
    return lines.map((line) => line.split(",").at(at));
  };
  for (const view of ["days", "models", "keys", "members", "projects", "requests"]) {
    expect(await charges(view), view).toEqual(["3.000000000"]);
    expect(await charges(view, bob), view).toEqual([]);
  }

  await call("DELETE", `/api/v1/keys/${inside}`);
  await call("DELETE", `/api/v1/projects/${id}`);
  await create("search");
  for (const path of ["/usage?", "/usage/requests?", "/keys?"]) {
    expect((await ann.get(`/dashboard${path}${query}`)).body, path).toContain("selected>search (deleted)</option>");
    const foreign = (await bob.get(`/dashboard${path}${query}`)).body;
    expect(foreign, path).not.toContain("search (deleted)");
  }
  expect((await ann.get("/dashboard/usage?by=project&range=today")).body).toContain("search (deleted)");
});
