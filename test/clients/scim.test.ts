import { execFile } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import * as z from "zod";
import { createManagementToken } from "../../ledger/people/management-tokens.ts";
import { findClientPackages } from "../support/clients/packages.ts";
import { createPerson } from "../support/dashboard/people.ts";
import { borrowStack } from "../support/shared-stacks/borrow.ts";

/** SCIM as an independent checker for Python sees it, through Envoy. test/postgres has what it means for an account. */
const resultSchema = z.strictObject({
  succeeded: z.int(),
  others: z.array(z.strictObject({ status: z.string(), title: z.string(), reason: z.string(), resource: z.string() })),
});

test("an independent SCIM checker finds no fault (S56)", async () => {
  const packages = await findClientPackages({ environment: process.env, onProgress: (line) => console.log(line) });
  await using stack = await borrowed();
  const { person, accountId } = await createPerson(stack.database, "owner-of-scim@example.com");
  const { value } = await createManagementToken(stack.database, {
    accountId,
    name: "identity provider",
    role: "owner",
    createdBy: person.id,
    expiresAt: null,
  });
  const { stdout } = await promisify(execFile)(
    packages.sdkProgram("python"),
    [path.join(import.meta.dirname, "python/scim.py")],
    { env: { ...process.env, SCIM_BASE_URL: `${stack.baseUrl}/api/v1/scim/v2`, SCIM_TOKEN: value } },
  );
  const { succeeded, others } = resultSchema.parse(JSON.parse(stdout));
  expect(others).toEqual([]);
  expect(succeeded).toBeGreaterThan(20);
});

async function borrowed() {
  const stack = await borrowStack();
  return Object.assign(stack, { [Symbol.asyncDispose]: () => stack.stop() });
}
