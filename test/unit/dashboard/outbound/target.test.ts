import { expect, test } from "vitest";
import { guardedLookup, type NameServer } from "../../../../dashboard/outbound/target.ts";

/** What a name leads to, as a connection asks for it. */
function lookUp(names: NameServer): Promise<unknown> {
  const { promise, resolve } = Promise.withResolvers<unknown>();
  guardedLookup("public", names)("hooks.example.com", { all: true }, (error, addresses) => resolve(error?.message ?? addresses));
  return promise;
}

const answering = (four: string[], six: string[]): NameServer => ({ resolve4: async () => four, resolve6: async () => six });
const failing = async () => {
  throw new Error("queryA ENOTFOUND hooks.example.com");
};

test("a name with private and public addresses is connected at the public ones", async () => {
  const names = answering(["127.0.0.1", "93.184.215.14", "169.254.169.254"], ["::ffff:10.0.0.1", "2606:2800:21f::1", "fd00::1"]);
  expect(await lookUp(names)).toEqual([
    { address: "93.184.215.14", family: 4 },
    { address: "2606:2800:21f::1", family: 6 },
  ]);
});

test("a name with only private addresses has none", async () => {
  expect(await lookUp(answering(["10.1.2.3"], ["64:ff9b::7f00:1"]))).toContain("private or reserved");
});

test("a name with addresses of one family is enough, and one with neither reports why", async () => {
  expect(await lookUp({ ...answering([], ["2606:2800:21f::1"]), resolve4: failing })).toEqual([
    { address: "2606:2800:21f::1", family: 6 },
  ]);
  expect(await lookUp({ resolve4: failing, resolve6: failing })).toContain("ENOTFOUND");
});
