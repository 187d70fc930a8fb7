import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { setAccountStatus } from "../../../ledger/accounts/accounts.ts";
import { findPersonByEmail, setPassword } from "../../../ledger/people/persons.ts";
import { hasPassword } from "../../../ledger/sign-in/sign-in.ts";
import { prepareDemo, type Demo } from "../../../local/demo.ts";
import { PEPPER } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** What `npm start` and `docker compose run demo` show, from one start to the next. */
const postgres = usePostgres();
const CHOSEN = "chosen in the dashboard";

async function open() {
  const { database } = await postgres.migrated();
  const folder = await mkdtemp(path.join(tmpdir(), "demo-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const settings = path.join(folder, "local.env");
  const start = (): Promise<Demo> => prepareDemo(database, { pepper: PEPPER, settings, baseUrl: "http://127.0.0.1:8080" });
  async function changePassword({ email }: Demo, password: string): Promise<string> {
    const person = await findPersonByEmail(database, email);
    if (person === undefined) throw new Error("There is no such person.");
    await setPassword(database, person, password);
    return person.id;
  }
  return { database, settings, start, changePassword };
}

test("a password that was changed in the dashboard is kept and no longer shown; without its line there is a new one", async () => {
  const { database, settings, start, changePassword } = await open();
  const first = await start();
  expect((await start()).password).toBe(first.password);
  const personId = await changePassword(first, CHOSEN);

  for (let starts = 0; starts < 2; starts++) {
    expect(await start()).toMatchObject({ apiKey: first.apiKey, password: undefined });
    expect(await readFile(settings, "utf8")).toMatch(/^DASHBOARD_PASSWORD=$/m);
    expect(await hasPassword(database, personId, CHOSEN)).toBe(true);
  }

  await writeFile(settings, (await readFile(settings, "utf8")).replace(/^DASHBOARD_PASSWORD=\n/m, ""));
  const { password } = await start();
  expect(await hasPassword(database, personId, password ?? "")).toBe(true);
});

test("a start with a closed or suspended account notices it", async () => {
  const { database, start } = await open();
  expect(await start()).toMatchObject({ isActive: true });
  await setAccountStatus(database, "demo", "suspended");
  expect(await start()).toMatchObject({ isActive: false });
});
