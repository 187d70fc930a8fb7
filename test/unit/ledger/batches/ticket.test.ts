import * as fc from "fast-check";
import { createSecretKey } from "node:crypto";
import { expect, test } from "vitest";
import { createTickets, isTicket } from "../../../../ledger/batches/ticket.ts";
import { parseApiKey } from "../../../../ledger/keys/keys.ts";

/** Credentials of requests of batches (S58). */
const PEPPER = Buffer.alloc(32, 7);
const TICKET = { keyId: "AbCd5678WxYz", requestId: "0199d8a0-0000-7000-8000-000000000000" };
const tickets = createTickets(PEPPER);

test("a ticket is read by whoever has the pepper, in either form, for a minute", () => {
  const text = tickets.issue(TICKET, 1_000);
  expect(isTicket(text)).toBe(true);
  expect(tickets.read(text, 1_000)).toEqual(TICKET);
  expect(createTickets(createSecretKey(PEPPER)).read(text, 60_999)).toEqual(TICKET);
  expect(tickets.read(text, 61_000)).toBeUndefined();
  expect(createTickets(Buffer.alloc(32, 8)).read(text, 1_000)).toBeUndefined();
});

test("no key looks like a ticket, and no ticket like a key", () => {
  expect(parseApiKey(tickets.issue(TICKET, 0)).kind).toBe("malformed");
  expect(isTicket(`sk-mg-${"A".repeat(55)}`)).toBe(false);
});

test("nothing else is a ticket, whatever is changed in one", () => {
  const text = tickets.issue(TICKET, 1_000);
  fc.assert(
    fc.property(fc.nat({ max: text.length - 1 }), fc.constantFrom("a", "Z", "0", "-", "_", "."), (at, letter) => {
      const changed = text.slice(0, at) + letter + text.slice(at + 1);
      // The last letter of a MAC has two bits that mean nothing.
      expect([undefined, TICKET]).toContainEqual(tickets.read(changed, 1_000));
    }),
  );
  for (const other of ["batch-", "batch-.", `batch-e30.${"A".repeat(43)}`, `${text}x`, text.slice(0, -1), ` ${text}`])
    expect(tickets.read(other, 1_000), other).toBeUndefined();
});
