import { execFile } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { mkdir, mkdtemp, rename, rm, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import type { ModelStatus } from "../../../../operator/model/status.ts";
import { startFolderSource } from "../../../../operator/source/folder.ts";
import type { LocalUpstreams } from "../../../../operator/source/local-upstreams.ts";
import { describeRefusal, type Source } from "../../../../operator/source/source.ts";
import { eventually } from "../../../support/eventually.ts";

const run = promisify(execFile);

/** Ten lines that stand for some billions of words. */
const ALIAS_BOMB = Array.from(
  { length: 10 },
  (_, level) =>
    `a${level}: &a${level} [${Array.from({ length: 9 }, () => (level === 0 ? "word" : `*a${level - 1}`)).join(", ")}]\n`,
).join("");

const BINARY = Buffer.from(Array.from({ length: 4_096 }, (_, index) => index % 256));

let root: string;
let folder: string;
let source: Source | undefined;
let refusals: string[];
let complaints: string[];
let recovered: string[];
let changes: number;
let recoveries: number;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "gateway-manifests-"));
  folder = join(root, "manifests");
  await mkdir(folder);
  [refusals, complaints, recovered, changes, recoveries] = [[], [], [], 0, 0];
});
afterEach(async () => {
  await source?.stop();
  source = undefined;
  await rm(root, { recursive: true });
});

const model = (name: string, { price = '"1"', url = "http://a", modelName = name } = {}) => `
apiVersion: modelgateway.dev/v1alpha1
kind: Model
metadata: { name: ${name} }
spec: { modelName: ${modelName}, pricing: { inputPerMillion: ${price}, outputPerMillion: "2" }, backends: [{ name: a, protocol: Messages, url: "${url}" }] }
`;
const secret = (value: string) =>
  `{ apiVersion: v1, kind: Secret, metadata: { name: provider }, stringData: { api-key: ${value} } }\n`;

const write = (name: string, text: string) => writeFile(join(folder, name), text);

async function start(upstreams: LocalUpstreams = {}, debounceMs = 20): Promise<Source> {
  const events = {
    resourceRefused: (refusal: Parameters<typeof describeRefusal>[0]) => void refusals.push(describeRefusal(refusal)),
    modelRefused: ({ line }: { line: string }) => void complaints.push(line),
    fileRecovered: ({ file }: { file: string }) => void recovered.push(file),
    modelRecovered: ({ line }: { line: string }) => void recovered.push(line),
    sourceUnreadable: ({ source }: { source: string }) => void refusals.push(`${source} cannot be read`),
    sourceReadable: () => void recoveries++,
  };
  source = await startFolderSource({ folder, upstreams, debounceMs }, { events, onChange: () => void changes++ });
  return source;
}

const names = (from: Source) => from.current().models.map(({ resource }) => resource.metadata.name);
const prices = (from: Source) => from.current().models.map(({ resource }) => resource.spec.pricing.inputPerMillion);

test("files are read in the order of their names, documents in theirs; other files are ignored", async () => {
  await write("b.yaml", model("third"));
  await write("a.yml", `${model("first")}---${model("second")}`);
  await write("notes.txt", "not: a manifest");
  await write(".a.yaml.swp", "half");
  expect(names(await start())).toEqual(["first", "second", "third"]);
  expect(refusals).toEqual([]);
});

test("a saved change takes effect, and is reported once", async () => {
  await write("a.yaml", model("one"));
  const started = await start();
  await write(
    "a.yaml",
    `${model("one", { price: '"5"' })}---${model("two")}---
${secret("s")}`,
  );
  await eventually(() => expect(prices(started)).toEqual([5_000_000n, 1_000_000n]));
  expect(started.current().secrets.get("default/provider")?.get("api-key")).toBe("s");
  expect(changes).toBe(1);
});

test("a bad document is rejected with file, field and remedy; its last valid version and its neighbours stay", async () => {
  await write("models.yaml", `${model("modelx-chat")}---${model("two")}`);
  const started = await start();
  await write("models.yaml", `${model("modelx-chat", { price: "0.3" })}---${model("two", { price: '"7"' })}`);
  await eventually(() => expect(prices(started)).toEqual([1_000_000n, 7_000_000n]));
  expect(refusals).toEqual([
    'models.yaml: Model modelx-chat: spec.pricing.inputPerMillion must be a decimal string such as "0.30"; the last valid version stays in force',
  ]);
});

test("a bad document that was never valid is rejected and not served", async () => {
  await write(
    "models.yaml",
    `${model("one", { price: "0.3" })}---${model("two")}---
{ kind: Service }`,
  );
  expect(names(await start())).toEqual(["two"]);
  expect(refusals).toEqual([
    'models.yaml: Model one: spec.pricing.inputPerMillion must be a decimal string such as "0.30"',
    "models.yaml: Service: kind must be Model or Secret",
  ]);
});

test.for([
  { name: "half written", text: model("one").slice(0, -30) },
  { name: "empty", text: "" },
  { name: "with a tab where YAML wants spaces", text: "spec:\n\tmodelName: x\n" },
])("a file $name removes nothing", async ({ text }) => {
  await write("models.yaml", model("one"));
  const started = await start();
  await write("models.yaml", text);
  await eventually(() => expect(refusals).toHaveLength(1));
  expect(refusals[0]).toMatch(
    /^models\.yaml: is (not valid YAML at line \d+ \([a-z ]+\)|empty; .*); the last valid version stays in force$/,
  );
  expect(names(started)).toEqual(["one"]);
});

test("a YAML error never quotes the file, which may hold a credential", async () => {
  await write("secret.yaml", 'apiVersion: v1\nkind: Secret\nstringData: { api-key: "very-secret\n');
  await start();
  expect(refusals).toHaveLength(1);
  expect(refusals[0]).not.toContain("very-secret");
});

test("a rejected Secret reports the field and not the value", async () => {
  await write("secret.yaml", "{ apiVersion: v1, kind: Secret, metadata: { name: s }, data: { api-key: '%very-secret%' } }");
  await start();
  expect(refusals).toEqual(["secret.yaml: Secret s: data.api-key must be base64; plain text belongs in stringData"]);
});

test("removing a file removes its Models; renaming it keeps them", async () => {
  await write("a.yaml", model("one"));
  await write("b.yaml", model("two"));
  const started = await start();
  await rm(join(folder, "a.yaml"));
  await eventually(() => expect(names(started)).toEqual(["two"]));
  await rename(join(folder, "b.yaml"), join(folder, "c.yaml"));
  await eventually(() => expect(started.current().models.map(({ origin }) => origin)).toEqual(["c.yaml"]));
});

test("of two resources with one name the first file's is used, and the other is rejected by name", async () => {
  await write("a.yaml", model("one", { price: '"1"' }));
  await write("b.yaml", model("one", { price: '"9"' }));
  expect(prices(await start())).toEqual([1_000_000n]);
  expect(refusals).toEqual([
    "b.yaml: Model one: NameConflict: metadata.name is already used in a.yaml, which takes precedence; rename this one",
  ]);
});

test("a rejection is reported once, however often other files are saved", async () => {
  await write("a.yaml", model("one", { price: "1" }));
  const started = await start();
  await write("b.yaml", model("two"));
  await eventually(() => expect(names(started)).toEqual(["two"]));
  expect(refusals).toHaveLength(1);
});

test("a folder that disappears changes nothing", async () => {
  await write("a.yaml", model("one"));
  const started = await start();
  await rename(folder, `${folder}-gone`);
  await eventually(() => expect(refusals).toEqual([`${folder} cannot be read`]));
  expect(names(started)).toEqual(["one"]);
  await rename(`${folder}-gone`, folder);
});

test.for([
  {
    name: "moved away and back",
    leave: () => rename(folder, `${folder}-gone`),
    comeBack: () => rename(`${folder}-gone`, folder),
  },
  {
    name: "removed and created again",
    leave: () => rm(folder, { recursive: true }),
    comeBack: async () => {
      await mkdir(folder);
      await write("a.yaml", model("one"));
    },
  },
])("in a folder that was $name, changes still take effect", async ({ leave, comeBack }) => {
  await write("a.yaml", model("one"));
  const started = await start();
  await leave();
  await eventually(() => expect(refusals).toEqual([`${folder} cannot be read`]));
  const before = recoveries;
  await comeBack();
  await eventually(() => expect(recoveries).toBeGreaterThan(before));
  await write("b.yaml", model("two"));
  await eventually(() => expect(names(started)).toEqual(["one", "two"]));
  await write("b.yaml", model("three"));
  await eventually(() => expect(names(started)).toEqual(["one", "three"]));
});

test("of a link to a folder, the folder that it leads to next is watched", async () => {
  await write("a.yaml", model("one"));
  const next = join(root, "next");
  await mkdir(next);
  await writeFile(join(next, "a.yaml"), model("two"));
  const link = join(root, "current");
  await symlink(folder, link);
  folder = link;
  const started = await start();
  expect(names(started)).toEqual(["one"]);
  await symlink(next, `${link}-next`);
  await rename(`${link}-next`, link);
  await eventually(() => expect(names(started)).toEqual(["two"]));
  await writeFile(join(next, "b.yaml"), model("three"));
  await eventually(() => expect(names(started)).toEqual(["two", "three"]));
});

test("a missing folder ends the start", async () => {
  folder = join(folder, "nowhere");
  await expect(start()).rejects.toThrow("ENOENT");
});

test("a Model's outcome is reported when it changes", async () => {
  await write("a.yaml", model("one"));
  const started = await start();
  const status = (reason: "SecretNotFound" | "ResolvedRefs"): ReadonlyMap<string, ModelStatus> =>
    new Map([
      [
        "default/one",
        {
          conditions: [
            { type: "ResolvedRefs", isTrue: reason === "ResolvedRefs", reason, message: "there is no Secret default/x" },
          ],
          backends: [],
        },
      ],
    ]);
  await started.reportStatuses({ set: started.current(), statuses: status("SecretNotFound"), version: "1" });
  await started.reportStatuses({ set: started.current(), statuses: status("SecretNotFound"), version: "1" });
  expect(complaints).toEqual(["a.yaml: Model one: SecretNotFound: there is no Secret default/x"]);
  await started.reportStatuses({ set: started.current(), statuses: status("ResolvedRefs"), version: "1" });
  expect(recovered).toEqual(["a.yaml: Model one is valid again"]);
  await started.reportStatuses({ set: started.current(), statuses: status("SecretNotFound"), version: "1" });
  await started.reportStatuses({ set: { models: [], secrets: new Map() }, statuses: new Map(), version: "1" });
  expect(recovered, "of a Model that was removed").toHaveLength(1);
});

test("that a rejected file is valid is reported once, and nothing of one that was removed", async () => {
  await write("a.yaml", model("one", { price: "0.3" }));
  await write("b.yaml", "a: [");
  const started = await start();
  expect(refusals).toHaveLength(2);
  await write("a.yaml", model("one"));
  await eventually(() => expect(names(started)).toEqual(["one"]));
  await rm(join(folder, "b.yaml"));
  await write("c.yaml", model("two"));
  await eventually(() => expect(names(started)).toEqual(["one", "two"]));
  expect(recovered).toEqual(["a.yaml"]);
});

test.for<{ name: string; upstream: LocalUpstreams[string]; expected: object }>([
  {
    name: "a bare origin keeps the path",
    upstream: { url: "http://127.0.0.1:9" },
    expected: { url: "http://127.0.0.1:9/base", protocol: "Messages" },
  },
  { name: "an address with a path replaces it", upstream: { url: "https://x/other" }, expected: { url: "https://x/other" } },
  { name: "/v1 is dropped for messages", upstream: { url: "https://x/v1" }, expected: { url: "https://x" } },
  {
    name: "another protocol",
    upstream: { url: "https://x/v1", protocol: "ChatCompletions" },
    expected: { url: "https://x/v1", protocol: "ChatCompletions" },
  },
  { name: "another model name", upstream: { url: "http://x", upstreamModel: "real" }, expected: { upstreamModel: "real" } },
  {
    name: "a credential",
    upstream: { url: "http://x", credential: "k" },
    expected: { credentialRef: { name: "local-upstream-sim.localhost", key: "api-key" } },
  },
])("a local upstream replaces the manifest's: $name", async ({ upstream, expected }) => {
  await write("a.yaml", `${model("one", { url: "http://sim.localhost/base" })}---${model("two", { url: "http://else" })}`);
  const { models, secrets } = (await start({ "http://sim.localhost": upstream })).current();
  expect(models[0]?.resource.spec.backends).toEqual([expect.objectContaining(expected)]);
  expect(models[1]?.resource.spec.backends[0]?.url).toBe("http://else");
  expect([...secrets.values()].map((values) => values.get("api-key"))).toEqual(upstream.credential === undefined ? [] : ["k"]);
});

const modelNames = (from: Source) => from.current().models.map(({ resource }) => resource.spec.modelName);

test("a local upstream's model is served under its own name too, like the first Model that goes there", async () => {
  const sim = { url: "http://sim.localhost/base" };
  await write(
    "a.yaml",
    `${model("other", { url: "http://else" })}---${model("one", { ...sim, price: '"7"' })}---${model("two", sim)}`,
  );
  const started = await start({ "http://sim.localhost": { url: "http://127.0.0.1:9/v1", upstreamModel: "Org/llama3.2:8b" } });
  expect(modelNames(started)).toEqual(["other", "one", "two", "Org/llama3.2:8b"]);
  const copy = started.current().models.at(-1);
  expect(copy).toMatchObject({ key: "default/upstream-org-llama3.2-8b", origin: "a.yaml" });
  expect(copy?.resource.spec).toMatchObject({ aliases: [], backends: [{ url: "http://127.0.0.1:9" }] });
  expect(copy?.resource.spec.pricing).toEqual(started.current().models[1]?.resource.spec.pricing);
});

test.for([
  { why: "a Model has it", upstreamModel: "two" },
  { why: "no Model may have it", upstreamModel: "a name with spaces" },
])("a local upstream's model name is left out if $why", async ({ upstreamModel }) => {
  await write("a.yaml", `${model("one", { url: "http://sim.localhost/base" })}---${model("two", { url: "http://else" })}`);
  expect(modelNames(await start({ "http://sim.localhost": { url: "http://x", upstreamModel } }))).toEqual(["one", "two"]);
});

test.for([
  { name: "a folder", make: () => mkdir(join(folder, "odd.yaml")), problem: "is not a file" },
  { name: "a named pipe", make: () => run("mkfifo", [join(folder, "odd.yaml")]), problem: "is not a file" },
  {
    name: "a link to itself",
    make: () => symlink("odd.yaml", join(folder, "odd.yaml")),
    problem: "is a symbolic link to itself",
  },
  { name: "a link to nothing", make: () => symlink("none", join(folder, "odd.yaml")), problem: "is a broken symbolic link" },
  { name: "a device", make: () => symlink("/dev/zero", join(folder, "odd.yaml")), problem: "is not a file" },
  { name: "a large file", make: () => write("odd.yaml", `# ${"x".repeat(256 * 1024)}`), problem: "is larger than 256 KiB" },
  { name: "an alias bomb", make: () => write("odd.yaml", ALIAS_BOMB), problem: "uses its aliases too often" },
  { name: "an alias of nothing", make: () => write("odd.yaml", "a: *secret-word"), problem: "cannot be read as YAML" },
  {
    name: "a Unix socket",
    make: async () => {
      const server = createServer().listen(join(folder, "odd.yaml"));
      await once(server, "listening");
      onTestFinished(() => void server.close());
    },
    problem: "is not a file",
  },
  { name: "a binary file", make: () => writeFile(join(folder, "odd.yaml"), BINARY), problem: "is not text in UTF-8" },
  {
    name: "a Secret with a byte that is no letter",
    make: () => writeFile(join(folder, "odd.yaml"), Buffer.from(secret("secret-word-\u00e9"), "latin1")),
    problem: "is not text in UTF-8",
  },
  { name: "very deep nesting", make: () => write("odd.yaml", "{a: ".repeat(5_000)), problem: "odd.yaml: " },
  { name: "very many documents", make: () => write("odd.yaml", "--- a\n".repeat(1_001)), problem: "more than 1000 documents" },
])("$name among the manifests fails alone, and the others are served", async ({ make, problem }) => {
  await make();
  const started = await start();
  await write("good.yaml", model("good"));
  await eventually(() => expect(names(started)).toEqual(["good"]));
  expect(refusals).toEqual([expect.stringContaining("odd.yaml: ")]);
  expect(refusals[0]).toContain(problem);
  expect(refusals[0]).not.toContain("secret-word");
});

test("a link to nothing is reported when it appears, and its file is served once that exists", async () => {
  const started = await start();
  await symlink(join(root, "later.yaml"), join(folder, "link.yaml"));
  await eventually(() => expect(refusals).toEqual([expect.stringContaining("link.yaml: is a broken symbolic link")]));
  await writeFile(join(root, "later.yaml"), model("later"));
  await eventually(() => expect(names(started)).toEqual(["later"]));
  expect(recovered).toEqual(["link.yaml"]);
});

test("a file that is continuously written to does not block the others", async () => {
  await write("odd.yaml", model("one"));
  const started = await start({}, 500);
  const writing = setInterval(() => void utimes(join(folder, "odd.yaml"), new Date(), new Date()), 5);
  onTestFinished(() => clearInterval(writing));
  await write("good.yaml", model("good"));
  await eventually(() => expect(names(started)).toContain("good"), { withinMs: 20_000 });
  clearInterval(writing);
  await eventually(() => expect(names(started)).toEqual(["good", "one"]), { withinMs: 20_000 });
});

test("a file that can no longer be read keeps its content", async () => {
  await write("a.yaml", model("one"));
  const started = await start();
  await write("next", "#".repeat(300 * 1024));
  await rename(join(folder, "next"), join(folder, "a.yaml"));
  await eventually(() => expect(refusals).toEqual([expect.stringContaining("the last valid version stays in force")]));
  expect(names(started)).toEqual(["one"]);
});

test("of very many files the first 500 by name are read, and the others are reported", async () => {
  const writes = Array.from({ length: 502 }, (_, index) => write(`m${String(index).padStart(3, "0")}.yaml`, model(`m${index}`)));
  await Promise.all(writes);
  expect(names(await start())).toHaveLength(500);
  expect(refusals).toEqual(["m500.yaml", "m501.yaml"].map((name) => expect.stringContaining(`${name}: is ignored`)));
});

test("a mapping of very many keys is read in one pass, and a repeated key is found in it", async () => {
  const keys = Array.from({ length: 5_000 }, (_, index) => `k${index}: 1\n`);
  await write("a.yaml", keys.join(""));
  await write("b.yaml", [...keys, "k7: 1\n"].join(""));
  await start();
  expect(refusals).toEqual(["a.yaml: kind must be Model or Secret", "b.yaml: is not valid YAML at line 5001 (duplicate key)"]);
});
