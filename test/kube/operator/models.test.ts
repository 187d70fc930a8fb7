import { beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { makeCertificates, withLongLength } from "../../support/servers/tls-certificates.ts";
import { apiKey, model, secret } from "./resources.ts";
import { PATIENCE } from "./stage.ts";
import { useStage } from "./use-stage.ts";

/** Models in a real Kubernetes API, as an administrator makes them, and the requests that follow. */
const { stage } = useStage("operator-0");
let key = "";

beforeAll(async () => {
  const { team } = stage();
  await team.apply(apiKey("client"));
  key = await eventually(async () => (await team.value("client")) ?? "", PATIENCE);
});

const until = <T>(work: () => Promise<T>) => eventually(work, PATIENCE);

async function expectCondition(name: string, type: string, expected: object): Promise<void> {
  await until(async () => expect((await stage().team.conditions("model", name))[type]).toMatchObject(expected));
}

async function expectServed(name: string): Promise<void> {
  await until(async () => expect((await stage().ask(key, name)).status).toBe(200));
}

describe("a Model", () => {
  test("is served as soon as it is created, reports that, and disappears when it is deleted (S34)", async () => {
    const { team, upstreamUrl, ask } = stage();
    await team.apply(model("first", { url: upstreamUrl }));
    await expectServed("first");
    await expectCondition("first", "Ready", { status: "True", reason: "Ready", observedGeneration: 1 });
    expect(await team.conditions("model", "first")).toMatchObject({
      Accepted: { status: "True" },
      ResolvedRefs: { status: "True" },
      Programmed: { status: "True", message: "active in all connected Envoys" },
    });
    expect((await team.get("model", "first")).status).toMatchObject({
      backendsSummary: "1/1",
      backends: [{ name: "primary", ready: true }],
      configVersion: expect.stringMatching(/^[0-9a-f]{16}$/),
    });
    expect(await team.run(["get", "models", "first", "--no-headers"])).toMatch(/^first +first +1\/1 +True +Ready/);
    await until(async () => expect(await team.events("first")).toEqual(["Normal Ready"]));

    await team.remove("model", "first");
    await until(async () => expect((await ask(key, "first")).status).toBe(404));
  });

  test("keeps the time of an unchanged condition, and reports the generation that it has observed", async () => {
    const { team, upstreamUrl } = stage();
    await team.apply(model("steady", { url: upstreamUrl }));
    await expectCondition("steady", "Ready", { status: "True", observedGeneration: 1 });
    const before = (await team.conditions("model", "steady"))["Ready"];
    await team.patch("model", "steady", { spec: { pricing: { inputPerMillion: "3" } } });
    await expectCondition("steady", "Ready", { observedGeneration: 2, lastTransitionTime: before?.lastTransitionTime });
    await team.patch("model", "steady", { spec: { suspended: true } });
    await expectCondition("steady", "Ready", { status: "False", reason: "Suspended", observedGeneration: 3 });
    await team.remove("model", "steady");
  });

  test("whose Secret is missing names it, and is served once it exists", async () => {
    const { team, upstreamUrl } = stage();
    await team.apply(model("private", { url: upstreamUrl, backend: { credentialRef: { name: "provider" } } }));
    await expectCondition("private", "ResolvedRefs", {
      status: "False",
      reason: "SecretNotFound",
      message: "backend primary: there is no Secret team-a/provider",
    });
    await until(async () => expect(await team.events("private")).toContain("Warning SecretNotFound"));
    await team.apply(secret("provider", { "api-key": "provider-key-1" }));
    await expectCondition("private", "Ready", { status: "True" });
    await expectServed("private");
    await team.remove("model", "private");
  });

  test("that claims an older Model's name is rejected until the older one is deleted", async () => {
    const { team, upstreamUrl } = stage();
    await team.apply(model("z-older", { modelName: "contested", url: upstreamUrl }));
    await expectCondition("z-older", "Ready", { status: "True" });
    // Times of creation are in whole seconds.
    const made = Date.parse((await team.get("model", "z-older")).metadata.creationTimestamp);
    await until(async () => expect(Date.now()).toBeGreaterThan(made + 1_500));
    await team.apply(model("a-newer", { modelName: "contested", url: upstreamUrl }));
    await expectCondition("a-newer", "Accepted", {
      status: "False",
      reason: "NameConflict",
      message: expect.stringContaining("the name contested is already taken by Model z-older"),
    });
    await expectCondition("z-older", "Ready", { status: "True" });
    await team.remove("model", "z-older");
    await expectCondition("a-newer", "Ready", { status: "True" });
    await expectServed("contested");
    await team.remove("model", "a-newer");
  });

  test("whose host does not exist is not Ready, and names the host", async () => {
    const { team } = stage();
    await team.apply(model("lost", { url: "http://vllm.nowhere.invalid:8000/v1" }));
    const words =
      "backend primary: url: there is no host vllm.nowhere.invalid; correct the name, or create the Service or DNS record";
    await expectCondition("lost", "Reachable", { status: "False", reason: "HostNotFound", message: words });
    await expectCondition("lost", "Ready", { status: "False", reason: "HostNotFound", message: words });
    await until(async () => expect(await team.events("lost")).toContain("Warning HostNotFound"));
    await team.remove("model", "lost");
  });

  test("with an impossible URL is rejected by the API server, and the previous version stays active", async () => {
    const { team, upstreamUrl } = stage();
    await team.apply(model("changed", { url: upstreamUrl }));
    await expectServed("changed");
    await expect(team.apply(model("changed", { url: "ftp://models.example" }))).rejects.toThrow("spec.backends[0].url");
    await expectServed("changed");
    await team.remove("model", "changed");
  });

  test("whose certificates Envoy rejects reports Envoy's message, is in nobody else's way, and recovers", async () => {
    const { team, upstreamUrl } = stage();
    await team.apply(model("refused", { url: upstreamUrl }));
    await expectServed("refused");
    // One good certificate, and half of another, which nobody but Envoy would read as far as that.
    const { ca } = await makeCertificates("models.example");
    await team.apply(secret("roots", { "ca.crt": `${ca}-----BEGIN CERTIFICATE-----\nMIIB` }));
    const https = upstreamUrl.replace("http:", "https:");
    await team.apply(model("refused", { url: https, backend: { tls: { caSecretRef: { name: "roots" } } } }));
    await expectCondition("refused", "ResolvedRefs", { status: "False", reason: "InvalidCertificate" });

    await team.apply(secret("roots", { "ca.crt": withLongLength(ca) }));
    await expectCondition("refused", "ResolvedRefs", {
      status: "False",
      reason: "InvalidCertificate",
      message: expect.stringContaining("Envoy rejects the certificates of roots/team-a/roots/ca.crt: Failed to load"),
    });
    await team.apply(model("unharmed", { url: upstreamUrl }));
    await expectServed("unharmed");
    await team.apply(secret("roots", { "ca.crt": ca }));
    await expectCondition("refused", "Programmed", { status: "True" });
    await team.remove("model", "unharmed");
    await team.remove("model", "refused");
  });

  test("that is deprecated announces it in every answer and in an Event; after its sunset it is gone", async () => {
    const { team, upstreamUrl, ask } = stage();
    const deprecation = { deprecatedTime: "2026-01-01T00:00:00Z", sunsetTime: "2099-01-01T00:00:00Z", replacement: "next" };
    await team.apply(model("old", { url: upstreamUrl, spec: { deprecation } }));
    await expectServed("old");
    const { headers } = await ask(key, "old");
    expect(headers.get("deprecation")).toBe("@1767225600");
    expect(headers.get("sunset")).toBe("Thu, 01 Jan 2099 00:00:00 GMT");
    await until(async () => expect(await team.events("old")).toContain("Warning Deprecated"));

    const sunsetTime = new Date(Date.now() + 3_000).toISOString();
    await team.patch("model", "old", { spec: { deprecation: { sunsetTime } } });
    await expectCondition("old", "Accepted", { status: "False", reason: "Sunset" });
    // The data plane learns of it within a second.
    await until(async () => expect((await ask(key, "old")).status).toBe(404));
    await until(async () => expect(await team.events("old")).toContain("Warning Sunset"));
    await team.remove("model", "old");
  });
});

test("the operator had permission for everything that it requested", async () => {
  for (const { metric } of stage().operators)
    for (const method of ["GET", "POST", "PUT", "PATCH"])
      expect(await metric(`rest_client_requests_total{method="${method}",code="403"}`)).toBe(0);
});

describe("an internal backend", () => {
  test.for([
    ["a-cloud-s", "http://169.254.169.254/latest", "169.254.169.254 is a link-local address"],
    ["this-machine", "http://localhost:9901/v1", "localhost resolves to ::1, a loopback address"],
  ] as const)("is rejected with a message: %s", async ([name, url, words]) => {
    const { team, ask } = stage();
    await team.apply(model(name, { url }));
    const message = expect.stringContaining(`backend primary: url: ${words}`);
    await expectCondition(name, "Accepted", { status: "False", reason: "AddressNotAllowed", message });
    await expectCondition(name, "Ready", { status: "False", reason: "AddressNotAllowed" });
    expect((await ask(key, name)).status).toBe(404);
    await team.remove("model", name);
  });

  test("does not affect the Model's other backends, and is used once it is elsewhere", async () => {
    const { team, upstreamUrl } = stage();
    const patchBackends = (backends: object[]) => ({ spec: { backends } });
    const backend = (name: string, url: string) => ({ name, protocol: "ChatCompletions", url, upstreamModel: "sim" });
    await team.apply(model("half-inside", { url: upstreamUrl }));
    await expectServed("half-inside");
    await team.patch(
      "model",
      "half-inside",
      patchBackends([backend("inside", "http://10.0.0.1/v1"), backend("outside", upstreamUrl)]),
    );
    await expectCondition("half-inside", "Accepted", { status: "False", reason: "AddressNotAllowed" });
    await expectCondition("half-inside", "Programmed", { status: "True" });
    await expectServed("half-inside");
    await team.patch("model", "half-inside", patchBackends([backend("outside", upstreamUrl)]));
    await expectCondition("half-inside", "Ready", { status: "True" });
    await team.remove("model", "half-inside");
  });
});

test("a Model keeps its name when an older one claims it as an alias, even across a restart of the operator", async () => {
  const { team, upstreamUrl, startOperator, switchboard, operators } = stage();
  await team.apply(model("older", { url: upstreamUrl }));
  await expectCondition("older", "Ready", { status: "True" });
  const made = Date.parse((await team.get("model", "older")).metadata.creationTimestamp);
  await until(async () => expect(Date.now()).toBeGreaterThan(made + 1_500));
  await team.apply(model("newer", { url: upstreamUrl, spec: { aliases: ["popular"] } }));
  await expectServed("popular");
  await until(async () => expect((await team.get("model", "newer")).status["names"]).toEqual(["newer", "popular"]));

  await team.patch("model", "older", { spec: { aliases: ["popular", "newer", "vintage"] } });
  await expectCondition("older", "AliasesAccepted", {
    status: "False",
    reason: "NameConflict",
    message: expect.stringContaining("the name popular is already taken by Model newer"),
  });
  await expectCondition("older", "Ready", { status: "True", observedGeneration: 2 });
  await until(async () => expect(await team.events("older")).toContain("Warning NameConflict"));
  await expectServed("vintage");

  const next = await startOperator("operator-1");
  for (const operator of operators) if (operator !== next) await operator.end("SIGTERM");
  switchboard.lead(next.xdsSocket);
  await until(async () => expect(await next.isLeader()).toBe(true));
  await team.patch("model", "older", { spec: { pricing: { inputPerMillion: "7" } } });
  await expectCondition("older", "Ready", { status: "True", observedGeneration: 3 });
  expect((await team.get("model", "newer")).status["names"]).toEqual(["newer", "popular"]);

  await team.remove("model", "newer");
  await until(async () =>
    expect((await team.get("model", "older")).status["names"]).toEqual(["older", "popular", "newer", "vintage"]),
  );
  expect((await team.conditions("model", "older"))["AliasesAccepted"]).toBeUndefined();
  await team.remove("model", "older");
});
