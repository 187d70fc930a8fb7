import fc from "fast-check";
import { expect, test } from "vitest";
import { createAddressSet, MAX_NETWORK_CHARACTERS, parseNetwork } from "../../../runtime/ip-network.ts";

test.for([
  ["203.0.113.7", "203.0.113.7"],
  ["203.0.113.7/32", "203.0.113.7"],
  ["203.0.113.0/24", "203.0.113.0/24"],
  ["0.0.0.0/0", "0.0.0.0/0"],
  ["2001:DB8:0:0::1", "2001:db8::1"],
  ["2001:db8::1/128", "2001:db8::1"],
  ["2001:0db8::/32", "2001:db8::/32"],
  ["2001:db8:0:10::/60", "2001:db8:0:10::/60"],
  ["::/0", "::/0"],
  ["0000:0000:0000:0000:0000:0000:192.168.100.200/128", "::c0a8:64c8"],
] as const)("%s is stored as %s", ([text, network]) => {
  expect(text.length).toBeLessThanOrEqual(MAX_NETWORK_CHARACTERS);
  expect(parseNetwork(text)).toEqual({ kind: "network", network });
});

test.for([
  ["10.1.2.3/8", "10.0.0.0/8", "10.1.2.3"],
  ["203.0.113.130/25", "203.0.113.128/25", "203.0.113.130"],
  ["2001:db8::1/32", "2001:db8::/32", "2001:db8::1"],
  ["2001:db8:0:1f::/60", "2001:db8:0:10::/60", "2001:db8:0:1f::"],
] as const)("%s may mean %s or %s, and is neither", ([text, range, address]) => {
  expect(parseNetwork(text)).toEqual({ kind: "wider", range, address });
});

test.for([
  "",
  " 203.0.113.7",
  "localhost",
  "203.0.113",
  "203.0.113.256",
  "0203.0.113.7",
  "0x7f000001",
  "203.0.113.0/33",
  "203.0.113.0/",
  "203.0.113.0/024",
  "203.0.113.0/+24",
  "203.0.113.0/24/24",
  "203.0.113.0/255.255.255.0",
  "2001:db8::/129",
  "fe80::1%eth0",
  "[2001:db8::1]",
  "::ffff:203.0.113.7",
  "::ffff:cb00:7107",
  "::ffff:10.0.0.0/104",
  "*",
])("%s is no network", (text) => {
  expect(parseNetwork(text)).toEqual({ kind: "no network" });
});

const SET = createAddressSet(["203.0.113.0/24", "198.51.100.7", "2001:db8:1::/48", "2001:db8:2::1"]);

test.for([
  ["203.0.113.0", true],
  ["203.0.113.255", true],
  ["203.0.114.0", false],
  ["198.51.100.7", true],
  ["198.51.100.8", false],
  ["::ffff:198.51.100.7", true],
  ["::ffff:c633:6407", true],
  ["2001:db8:1:ffff::9", true],
  ["2001:DB8:2:0:0::1", true],
  ["2001:db8:2::2", false],
  ["", false],
  ["nonsense", false],
  ["198.51.100.7, 203.0.113.1", false],
] as const)("%s is in the set: %s", ([address, isIn]) => {
  expect(SET.has(address)).toBe(isIn);
});

test("a range contains exactly the addresses that have its first bits (S50)", () => {
  const octet = fc.integer({ min: 0, max: 255 });
  const addresses = fc.tuple(octet, octet, octet, octet);
  const bitsOf = (parts: number[]) => parts.map((part) => part.toString(2).padStart(8, "0")).join("");
  fc.assert(
    fc.property(addresses, addresses, fc.integer({ min: 0, max: 32 }), (of, other, length) => {
      const parsed = parseNetwork(`${of.join(".")}/${length}`);
      const range = parsed.kind === "network" ? parsed.network : parsed.kind === "wider" ? parsed.range : "";
      const isIn = bitsOf(of).slice(0, length) === bitsOf(other).slice(0, length);
      expect(createAddressSet([range]).has(other.join("."))).toBe(isIn);
      expect(createAddressSet([range]).has(of.join("."))).toBe(true);
    }),
  );
});

test("any text is a network in its canonical form, or none", () => {
  const texts = fc.oneof(fc.string(), fc.ipV4(), fc.ipV4Extended(), fc.ipV6());
  fc.assert(
    fc.property(texts, (text) => {
      const parsed = parseNetwork(text);
      expect(parsed.kind === "network" ? parseNetwork(parsed.network) : parsed).toEqual(parsed);
    }),
  );
});
