import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createProject } from "../../../ledger/projects/projects.ts";
import { parseApiKey } from "../../../ledger/keys/keys.ts";
import { setKeyLimits } from "../../../ledger/leases/limits.ts";
import { eventually } from "../../support/eventually.ts";
import { apiKey, appliedSchema, model, secret } from "./resources.ts";
import { TEAM } from "./install.ts";
import { PATIENCE } from "./stage.ts";
import { useStage } from "./use-stage.ts";

/** ApiKeys in a real Kubernetes API, and what becomes of requests with their keys (S35). */
const { stage, api } = useStage("operator-0");

const until = <T>(work: () => Promise<T>) => eventually(work, PATIENCE);

async function expectCondition(name: string, type: string, expected: object): Promise<void> {
  await until(async () => expect((await stage().team.conditions("apikey", name))[type]).toMatchObject(expected));
}

/** Status of a request that needs a key and no model. */
async function statusWith(value: string): Promise<number> {
  return (await fetch(`${stage().dataPlane.baseUrl}/v1/models`, { headers: { authorization: `Bearer ${value}` } })).status;
}

async function expectStatus(value: string, status: number): Promise<void> {
  await until(async () => expect(await statusWith(value)).toBe(status));
}

/** Makes an ApiKey and waits for its value. */
async function make(name: string, spec: object = {}): Promise<string> {
  const { team } = stage();
  await team.apply(apiKey(name, spec));
  await expectCondition(name, "Ready", { status: "True", reason: "Active" });
  return (await team.value(name)) ?? "";
}

describe("an ApiKey", () => {
  test("yields a Secret with its value that it owns, and never shows the value (S35)", async () => {
    const { team, database } = stage();
    const value = await make("first", { displayName: "First" });
    await expectStatus(value, 200);
    const object = await team.get("apikey", "first");
    const parsed = parseApiKey(value);
    const publicId = parsed.kind === "key" ? parsed.publicId : "";
    expect(object.status).toMatchObject({
      keyId: publicId,
      keyPrefix: `sk-mg-${publicId.slice(0, 4)}****${publicId.slice(-4)}`,
      secretName: "first",
      observedRotation: 0,
      observedGeneration: 1,
    });
    expect(object.metadata.finalizers).toEqual(["modelgateway.dev/revoke"]);
    const held = await team.get("secret", "first");
    expect(held.metadata.ownerReferences).toEqual([
      {
        apiVersion: "modelgateway.dev/v1alpha1",
        kind: "ApiKey",
        name: "first",
        uid: object.metadata.uid,
        controller: true,
        blockOwnerDeletion: true,
      },
    ]);
    const shown = `${JSON.stringify(object)}${await team.run(["get", "events", "--output", "json"])}${stage().operators[0]?.log()}`;
    expect(shown).not.toContain(value.slice(-43));
    expect(await database.execute("SELECT FROM api_key WHERE name = 'First'")).toBe(1);
    await until(async () => expect(await team.events("first")).toEqual(["Normal Active"]));
  });

  test("is refused from the moment kubectl delete has returned", async () => {
    for (const name of ["gone-1", "gone-2", "gone-3"]) {
      const value = await make(name);
      await expectStatus(value, 200);
      await stage().team.remove("apikey", name);
      expect(await statusWith(value)).toBe(401);
    }
  });

  test("is let go when it is deleted, whoever gave it the finalizer", async () => {
    const { team } = stage();
    // As a backup has it: its finalizer is of the one who restores it.
    const { metadata, ...rest } = appliedSchema.parse(apiKey("restored"));
    const restored = { ...rest, metadata: { ...metadata, finalizers: ["modelgateway.dev/revoke", "example.com/other"] } };
    await api().kubectl(["create", "--filename", "-"], { input: JSON.stringify(restored) });
    await expectCondition("restored", "Ready", { status: "True" });
    const value = (await team.value("restored")) ?? "";
    await expectStatus(value, 200);
    await team.run(["delete", "apikey", "restored", "--wait=false"]);
    await until(async () => expect((await team.get("apikey", "restored")).metadata.finalizers).toEqual(["example.com/other"]));
    expect(await statusWith(value)).toBe(401);
    await team.patch("apikey", "restored", { metadata: { finalizers: null } });

    await make("cleared");
    const clear = '[{"op":"replace","path":"/metadata/managedFields","value":[{}]}]';
    await team.run(["patch", "apikey", "cleared", "--type=json", "--patch", clear]);
    await team.remove("apikey", "cleared");
  });

  test("that is restored with its old status shows nothing of its old key", async () => {
    const { team } = stage();
    await make("backup", { rotation: { generation: 1 } });
    const { keyId } = (await team.get("apikey", "backup")).status;
    await team.remove("apikey", "backup");
    // Nobody collects garbage here: the Secret stays, as a backup restores it with an owner that is gone.
    await team.apply(apiKey("backup"));
    await expectCondition("backup", "Ready", { status: "False", reason: "NameTaken" });
    const old = { lastUsedAt: "2026-11-01T00:00:00Z", spend: { amount: "12.5", asOf: "2026-11-01T00:00:00Z" } };
    const conditions = ["ProjectFound", "Ready", "Synced"].map((type) => ({
      type,
      status: "True",
      reason: "Earlier",
      message: "of the old key",
      lastTransitionTime: "2026-11-01T00:00:00Z",
      observedGeneration: 1,
    }));
    const status = { ...old, keyId, keyPrefix: "sk-mg-old", observedRotation: 1, secretName: "backup", conditions };
    const patch = JSON.stringify({ status });
    await team.run(["patch", "apikey", "backup", "--subresource=status", "--type=merge", "--patch", patch]);
    const shown = async () => {
      const { conditions, ...rest } = (await team.get("apikey", "backup")).status;
      expect(conditions.map(({ type }) => type).toSorted()).toEqual(["Accepted", "Managed", "Ready", "SecretReady", "Synced"]);
      return rest;
    };
    await until(async () => expect(await shown()).toEqual({ keyId: "", observedGeneration: 1, managedBy: expect.anything() }));
    await team.run(["delete", "secret", "backup"]);
    await expectCondition("backup", "Ready", { status: "True" });
    await team.run(["patch", "apikey", "backup", "--subresource=status", "--type=merge", "--patch", patch]);
    await until(async () =>
      expect(await shown()).toEqual({
        keyId: expect.not.stringMatching(keyId),
        keyPrefix: expect.stringContaining("****"),
        observedRotation: 0,
        secretName: "backup",
        observedGeneration: 1,
        managedBy: expect.anything(),
      }),
    );
  });

  test("that another version wrote, and this one finds invalid, keeps its key until it is deleted, and no longer", async () => {
    const { team } = stage();
    const value = await make("newer");
    const field = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/region";
    const definition = ["patch", "customresourcedefinition", "apikeys.modelgateway.dev", "--type=json", "--patch"];
    await api().kubectl([...definition, JSON.stringify([{ op: "add", path: field, value: { type: "string" } }])]);
    let changes = 0;
    await until(async () => {
      // Again and again: a watch that is older than the definition's change does not see the field.
      await team.patch("apikey", "newer", { spec: { region: `north-${++changes}` } });
      expect((await team.conditions("apikey", "newer"))["Ready"]).toMatchObject({
        status: "False",
        reason: "Invalid",
        message: "spec.region is not a known field; remove it or correct its spelling",
      });
    });
    expect(await statusWith(value)).toBe(200);
    await team.remove("apikey", "newer");
    expect(await statusWith(value)).toBe(401);
    await api().kubectl([...definition, JSON.stringify([{ op: "remove", path: field }])]);
  });

  test("is in the project that it names, once there is one, and works before", async () => {
    const { team, database } = stage();
    const value = await make("grouped", { project: "Batch jobs" });
    await expectCondition("grouped", "ProjectFound", { status: "False", reason: "ProjectUnknown" });
    await expectStatus(value, 200);
    const personId = randomUUID();
    await database.execute("INSERT INTO person (id, email, name) VALUES ($1, 'ann@example.com', 'Ann')", [personId]);
    await database.execute("INSERT INTO member (account_id, person_id, role) VALUES ($1, $2, 'owner')", [TEAM, personId]);
    await createProject(database, { accountId: TEAM, personId, tokenId: null }, "batch jobs");
    // Otherwise it is found at the next check.
    await team.apply(apiKey("grouped", { project: "Batch jobs", description: "of the nightly batch" }));
    await expectCondition("grouped", "ProjectFound", { status: "True" });
    expect(
      await database.execute(
        "SELECT FROM api_key JOIN project_key USING (public_id) JOIN project ON project.id = project_id WHERE api_key.name = 'grouped' AND project.name = 'batch jobs'",
      ),
    ).toBe(1);
  });

  test("that is disabled, expires or has limits has the same effect in the gateway, and shows it", async () => {
    const { team, database } = stage();
    const value = await make("limited", { rateLimits: { requestsPerMinute: 7 }, spendLimit: { amount: "2.5", window: "Day" } });
    const { keyId } = (await team.get("apikey", "limited")).status;
    const read = () =>
      database.execute(`SELECT FROM api_key WHERE public_id = $1 AND limits = '{"requestsPerMinute":7,"spendPerDayUsd":"2.5"}'`, [
        keyId,
      ]);
    expect(await read()).toBe(1);
    await team.patch("apikey", "limited", { spec: { disabled: true } });
    await expectCondition("limited", "Ready", { status: "False", reason: "Disabled" });
    await expectStatus(value, 401);
    const expiresAt = new Date(Date.now() + 4_000).toISOString();
    await team.patch("apikey", "limited", { spec: { disabled: false, expiresAt } });
    await expectStatus(value, 200);
    await expectCondition("limited", "Ready", { status: "False", reason: "Expired" });
    await expectStatus(value, 401);
    // What was changed past the resource is put right with its next change.
    await setKeyLimits(database, keyId, {});
    await team.patch("apikey", "limited", { spec: { description: "another" } });
    await until(async () => expect(await read()).toBe(1));
  });

  test("of a missing account waits for it", async () => {
    const { team, database } = stage();
    await team.apply(apiKey("early", { account: "team-z" }));
    await expectCondition("early", "Ready", { status: "False", reason: "AccountUnknown" });
    await expect(team.get("secret", "early")).rejects.toThrow("not found");
    const { createAccount } = await import("../../../ledger/accounts/accounts.ts");
    await createAccount(database, { id: "team-z", name: "Team Z" });
    await expectCondition("early", "Ready", { status: "True" });
  });

  test("takes over neither another's Secret nor a value that was put into its own", async () => {
    const { team } = stage();
    await team.apply(secret("taken", { "api-key": "mine" }), apiKey("taken"));
    await expectCondition("taken", "Ready", { status: "False", reason: "NameTaken" });
    expect(await team.value("taken")).toBe("mine");

    const stolen = await make("stolen");
    await make("thief");
    await team.patch("secret", "thief", { stringData: { "api-key": stolen } });
    await team.patch("apikey", "thief", { spec: { description: "look again" } });
    await expectCondition("thief", "Ready", { status: "False", reason: "SecretChanged" });
    await expectStatus(stolen, 200);
  });
});

describe("a Secret that someone", () => {
  test("edits is noticed, and reported on the ApiKey and in an Event, without any change of the ApiKey", async () => {
    const { team } = stage();
    const value = await make("edited");
    await team.patch("secret", "edited", { stringData: { "api-key": "another" } });
    await expectCondition("edited", "Ready", { status: "False", reason: "SecretChanged" });
    await until(async () => expect(await team.events("edited")).toContain("Warning SecretChanged"));
    await team.patch("secret", "edited", { stringData: { "api-key": value } });
    await expectCondition("edited", "Ready", { status: "True", reason: "Active" });
  });

  test("deletes is noticed, and reported on the ApiKey and in an Event, without any change of the ApiKey", async () => {
    const { team } = stage();
    await make("deleted");
    await team.run(["delete", "secret", "deleted"]);
    await expectCondition("deleted", "Ready", { status: "False", reason: "SecretMissing" });
    await until(async () => expect(await team.events("deleted")).toContain("Warning SecretMissing"));
  });
});

describe("a rotation", () => {
  test("stores a new value, keeps the previous one valid for the overlap, then removes it", async () => {
    const { team } = stage();
    const first = await make("turning");
    await team.patch("apikey", "turning", { spec: { rotation: { generation: 1, overlap: "6s" } } });
    await until(async () => expect((await team.get("apikey", "turning")).status.observedRotation).toBe(1));
    const second = (await team.value("turning")) ?? "";
    expect(second).not.toBe(first);
    expect(second.slice(0, 18)).toBe(first.slice(0, 18));
    expect(await team.value("turning", "api-key-previous")).toBe(first);
    await expectStatus(second, 200);
    expect(await statusWith(first)).toBe(200);
    expect((await team.get("apikey", "turning")).status.previousKeyExpiresAt).toMatch(/^20.*Z$/);
    await expectStatus(first, 401);
    await until(async () => expect(await team.value("turning", "api-key-previous")).toBeUndefined());
    await until(async () => expect((await team.get("apikey", "turning")).status.previousKeyExpiresAt).toBeUndefined());
    await expectStatus(second, 200);
    await until(async () => expect(await team.events("turning")).toContain("Normal Rotated"));
  });

  test("is needed to recreate a deleted Secret; until then its value stays valid", async () => {
    const { team } = stage();
    const first = await make("lost");
    await team.run(["delete", "secret", "lost"]);
    await team.patch("apikey", "lost", { spec: { description: "look again" } });
    await expectCondition("lost", "Ready", { status: "False", reason: "SecretMissing" });
    await expect(team.get("secret", "lost")).rejects.toThrow("not found");
    expect(await statusWith(first)).toBe(200);

    await team.patch("apikey", "lost", { spec: { rotation: { generation: 3, overlap: "0s" } } });
    await expectCondition("lost", "Ready", { status: "True" });
    await expectStatus((await team.value("lost")) ?? "", 200);
    await expectStatus(first, 401);
  });
});

test("usage and spend are written to the status under a separate field manager", async () => {
  const { team, ask, upstreamUrl } = stage();
  const value = await make("spender");
  await team.apply(model("spent-on", { url: upstreamUrl }));
  await until(async () => expect((await ask(value, "spent-on")).status).toBe(200));
  await eventually(
    async () =>
      expect((await team.get("apikey", "spender")).status).toMatchObject({
        lastUsedAt: expect.stringMatching(/Z$/),
        spend: { amount: expect.stringMatching(/^0\.0+[1-9]/) },
      }),
    { withinMs: 90_000, everyMs: 500 },
  );
  expect(await team.run(["get", "apikey", "spender", "--output", "yaml", "--show-managed-fields"])).toContain(
    "model-gateway-activity",
  );
});

test("an ApiKey created while Postgres is unavailable reports what it waits for; existing ones stay unchanged", async () => {
  const { team } = stage();
  const ready = async (name: string) => (await team.conditions("apikey", name))["Ready"];
  await team.apply(apiKey("before"));
  await until(async () => expect(await ready("before")).toMatchObject({ status: "True" }));
  const before = await untilSettled("before");
  await stage().withoutPostgres(async () => {
    await team.apply(apiKey("during"));
    // Looked at again, for a reason that changes nothing about it.
    await team.run(["label", "secret", "before", "touched=yes"]);
    await until(async () =>
      expect(await ready("during")).toMatchObject({
        status: "False",
        reason: "ReconcileFailed",
        message: "the ledger's database cannot be used at the moment; the operator's log says why; the operator keeps trying",
      }),
    );
    await until(async () => expect(await team.events("during")).toContain("Warning ReconcileFailed"));
    expect(await team.writes("apikey", "before")).toBe(before);
  });
  await until(async () => expect(await ready("during")).toMatchObject({ status: "True", reason: "Active" }));
  await until(async () => expect(await team.events("during")).toContain("Normal Active"));
});

/** An operator that looks again before its watch has brought its own write may repeat that, with a new time. */
async function untilSettled(name: string): Promise<string> {
  let writes = "";
  await eventually(
    async () => {
      const last = writes;
      writes = await stage().team.writes("apikey", name);
      expect(writes).toBe(last);
    },
    { everyMs: 2_000 },
  );
  return writes;
}

test("a key is revoked if its ApiKey lost its finalizer and was deleted and made again before the operator could act", async () => {
  const { team } = stage();
  const value = await make("remade");
  await expectStatus(value, 200);
  await stage().withoutPostgres(async () => {
    await team.patch("apikey", "remade", { metadata: { finalizers: null } });
    await team.remove("apikey", "remade");
    await team.apply(apiKey("remade"));
    await expectCondition("remade", "Ready", { status: "False", reason: "ReconcileFailed" });
  });
  await expectStatus(value, 401);
});

test("the operator had permission for everything that it requested", async () => {
  expect(await api().kubectl(["get", "lease", "--all-namespaces", "--no-headers"])).toContain("operator-0_");
  for (const { metric } of stage().operators)
    for (const method of ["GET", "POST", "PUT", "PATCH"])
      expect(await metric(`rest_client_requests_total{method="${method}",code="403"}`)).toBe(0);
});
