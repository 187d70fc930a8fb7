import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  messageId,
  messagesToolId,
  mintToolId,
  originalToolId,
  saltedToolId,
  shortToolId,
  writeToolId,
} from "../../../../../extproc/translate/conversation/ids.ts";

const REQUEST = "01900000-0000-7000-8000-000000000001";
const LEGAL = /^[a-zA-Z0-9_-]+$/;
/** Ids as servers make them, ids that look like ours, and any text at all, lone surrogates included. */
const ids = fc.oneof(
  fc.constantFrom("", "call_0", "functions.get:0", "toolu_gw0Y2FsbA", "toolu_gw", "toolu_gw1", "toolu_gw2", "\ud800", "Ünï"),
  fc.string({ unit: "binary" }),
  fc.string().map((text) => `toolu_gw0${text}`),
  fc.string().map((text) => `toolu_gw1abcdef012345${text}`),
  fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units)),
);

describe("tool ids", () => {
  test("a valid id is not changed", () => {
    for (const id of ["call_abc", "toolu_01A", "a-b_c", "123456789"]) expect(messagesToolId(id)).toBe(id);
  });

  test("every id becomes a valid one and is restored", () => {
    fc.assert(
      fc.property(ids, (id) => {
        const encoded = messagesToolId(id);
        expect(encoded).toMatch(LEGAL);
        expect(originalToolId(encoded)).toBe(id);
      }),
      { numRuns: 2_000 },
    );
  });

  test("no two ids become one", () => {
    fc.assert(
      fc.property(ids, ids, (one, other) => {
        fc.pre(one !== other);
        expect(messagesToolId(one)).not.toBe(messagesToolId(other));
      }),
      { numRuns: 2_000 },
    );
  });

  test("a salted id is valid, differs by salt, and is restored", () => {
    fc.assert(
      fc.property(ids, fc.nat({ max: 50 }), (id, index) => {
        const salted = saltedToolId(id, { requestId: REQUEST, index });
        expect(salted).toMatch(LEGAL);
        expect(salted).not.toBe(saltedToolId(id, { requestId: REQUEST, index: index + 1 }));
        expect(originalToolId(salted)).toBe(id);
      }),
    );
  });

  test("an id that only looks like one of ours stays unchanged", () => {
    for (const id of ["toolu_gw", "toolu_gw0!", "toolu_gw0YQ==", "toolu_gw9abc", "toolu_gw1short"]) {
      expect(originalToolId(id)).toBe(id);
    }
  });

  test("endlessly nested markers are examined once", () => {
    const nested = "toolu_gw1abcdef012345".repeat(200_000);
    expect(originalToolId(nested)).toBe(nested);
  });

  test("a generated id depends only on the request and the position", () => {
    const id = mintToolId("toolu_", { requestId: REQUEST, index: 0 });
    expect(id).toMatch(/^toolu_[0-9a-f]{24}$/);
    expect(mintToolId("toolu_", { requestId: REQUEST, index: 0 })).toBe(id);
    expect(mintToolId("toolu_", { requestId: REQUEST, index: 1 })).not.toBe(id);
  });

  test("a short id has at most 40 characters, and differs from others", () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 100 }), fc.string({ maxLength: 100 }), (one, other) => {
        fc.pre(one !== other);
        expect(shortToolId(one).length).toBeLessThanOrEqual(40);
        expect(shortToolId(one)).not.toBe(shortToolId(other));
      }),
    );
  });
});

describe("message ids", () => {
  test("keep the completion's own part", () => {
    expect(messageId("chatcmpl-abc", REQUEST)).toBe("msg_abc");
    expect(messageId("gen-17", REQUEST)).toBe("msg_gen-17");
  });

  test("derive from the request if the upstream sent none, or something absurd", () => {
    expect(messageId("", REQUEST)).toBe("msg_01900000000070008000000000000001");
    expect(messageId("x".repeat(10_000), REQUEST)).toBe("msg_01900000000070008000000000000001");
  });
});

describe("ids for chat and Responses servers", () => {
  const ours = saltedToolId("functions.get_weather:0", { requestId: REQUEST, index: 0 });

  test.for(["any", "openai40"] as const)("toolIds %s: a server's own short id is not changed", (toolIds) => {
    for (const id of ["call_abc", "functions.get:0", "chatcmpl-tool-0123456789"]) expect(writeToolId(id, { toolIds })).toBe(id);
  });

  test("a long id goes unchanged to a server that accepts any", () => {
    const id = "chatcmpl-tool-0123456789abcdef0123456789abcdef";
    expect(writeToolId(id, { toolIds: "any" })).toBe(id);
    expect(writeToolId(id, { toolIds: "openai40" })).toHaveLength(40);
  });

  test.for(["any", "openai40"] as const)(
    "toolIds %s: an id that no server created is never longer than 40 characters",
    (toolIds) => {
      for (const id of [ours, "call_0\u00002"]) expect(writeToolId(id, { toolIds })).toMatch(/^call_[0-9a-f]{35}$/);
      expect(writeToolId(ours, { toolIds })).not.toBe(writeToolId("call_0\u00002", { toolIds }));
    },
  );
});
