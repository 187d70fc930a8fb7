import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { EVERY_NPM, listTargets } from "../../bare-roots/matrix.ts";
import { readCommands } from "../../bare-roots/readme.ts";

test("the README contains the two commands that run in bare roots", async () => {
  const repository = fileURLToPath(new URL("../../..", import.meta.url));
  expect(await readCommands(repository)).toEqual({ start: "npm ci && npm start", test: "npm ci && npm test" });
});

test("every npm is tried with a Node.js that it supports, and each Node.js from 18 on is among them", () => {
  const targets = listTargets({ suites: ["bookworm"], node: [], npm: EVERY_NPM });
  const versions = new Set(targets.flatMap(({ toolchain }) => (toolchain.kind === "debian" ? [] : [toolchain.node])));
  expect([...versions].toSorted()).toEqual(["18", "20", "22", "24"]);
  expect(listTargets({ suites: ["trixie"], node: ["22"], npm: ["11.0", "debian"] })).toEqual([
    { suite: "trixie", toolchain: { kind: "packages", node: "22", npm: "11.0" } },
    { suite: "trixie", toolchain: { kind: "debian" } },
  ]);
});

test("an unknown npm or suite is an error that lists the known ones", () => {
  expect(() => listTargets({ suites: ["bookworm"], node: [], npm: ["8"] })).toThrow("--npm takes debian, 9.2, ");
  expect(() => listTargets({ suites: ["sid"], node: [], npm: ["debian"] })).toThrow(
    "--suite takes bookworm, trixie, and not sid.",
  );
});
