import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { ROOT } from "../../charts/generate/outputs.ts";

/** `.ci/audit` against a registry that says what a test wants. */
let registry: ReturnType<typeof createServer>;
let url: string;
let cache: string;
/** What is known, by package; null: the registry does not answer such questions. */
let advisories: Record<string, object[]> | null;
beforeEach(() => {
  advisories = {};
});
beforeAll(async () => {
  cache = await mkdtemp(path.join(tmpdir(), "gateway-audit-"));
  registry = createServer((request, response) => {
    if (request.method === "POST" && request.url?.endsWith("/advisories/bulk") === true)
      return void response.writeHead(advisories === null ? 405 : 200).end(JSON.stringify(advisories ?? {}));
    // npm looks at a package's versions to see which others carry it along.
    const name = decodeURIComponent(request.url?.slice(1) ?? "");
    response.end(JSON.stringify({ name, "dist-tags": { latest: "0.0.1" }, versions: { "0.0.1": { name, version: "0.0.1" } } }));
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  registry.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = registry.address();
  url = `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
});
afterAll(async () => {
  registry.close();
  await rm(cache, { recursive: true });
});

let nextId = 1_000_001;
function advisory(severity: string): object {
  // npm remembers an advisory by its id.
  const id = nextId++;
  const text = { title: "a hole for a test", url: "https://advisories.example/1", cwe: ["CWE-1"] };
  return { id, ...text, severity, vulnerable_versions: "<999.0.0", cvss: { score: 9, vectorString: null } };
}

async function audit(): Promise<{ code: number; output: string }> {
  const env = {
    PATH: process.env["PATH"],
    HOME: process.env["HOME"],
    npm_config_registry: url,
    npm_config_cache: cache,
  };
  const { promise, resolve } = Promise.withResolvers<{ code: number; output: string }>();
  const child = execFile(path.join(ROOT, ".ci/audit"), { env, timeout: 100_000 }, (_error, stdout, stderr) =>
    resolve({ code: child.exitCode ?? -1, output: stdout + stderr }),
  );
  return await promise;
}

test("passes if no vulnerability is known", async () => {
  expect(await audit()).toEqual({ code: 0, output: expect.stringContaining("found 0 vulnerabilities") });
});

test.for([
  ["high", "fastify"],
  ["critical", "pg"],
] as const)("fails if a package of the product has a %s vulnerability, and names it: %s", async ([severity, name]) => {
  advisories = { [name]: [advisory(severity)] };
  const { code, output } = await audit();
  expect(output).toContain("a hole for a test");
  expect(output).toContain(name);
  expect(code).toBe(1);
});

test.for(["low", "moderate"])("passes if the worst severity is %s, and reports it", async (severity) => {
  advisories = { fastify: [advisory(severity)] };
  expect(await audit()).toEqual({ code: 0, output: expect.stringContaining("a hole for a test") });
});

test("ignores packages used only for development", async () => {
  advisories = { vitest: [advisory("critical")] };
  expect(await audit()).toEqual({ code: 0, output: expect.stringContaining("found 0 vulnerabilities") });
});

test("fails if the registry does not answer, and reports that in one sentence", async () => {
  advisories = null;
  const { code, output } = await audit();
  expect(output).toMatch(/^The package registry did not say what holes are known: .*\n$/);
  expect(code).toBe(2);
});
