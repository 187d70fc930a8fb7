import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createToolNames } from "../../../../../extproc/translate/conversation/names.ts";

describe("tool names", () => {
  test("a valid name is not changed", () => {
    const names = createToolNames(["get_weather"]);
    expect(names.toUpstream("get_weather")).toBe("get_weather");
    expect(names.toClient("get_weather")).toBe("get_weather");
  });

  test("any other becomes a valid one, the same in every request, and is restored", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.oneof(fc.string(), fc.string({ minLength: 60, maxLength: 200 }))), (given) => {
        const names = createToolNames(given);
        for (const name of given) {
          expect(names.toUpstream(name)).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
          expect(names.toClient(names.toUpstream(name))).toBe(name);
          expect(createToolNames([]).toUpstream(name)).toBe(names.toUpstream(name));
        }
      }),
    );
  });

  test("a name that the model invented stays unchanged", () => {
    expect(createToolNames(["a"]).toClient("made_up")).toBe("made_up");
  });

  test("names of prototype members are names", () => {
    const names = createToolNames(["__proto__", "constructor"]);
    expect(names.toClient(names.toUpstream("__proto__"))).toBe("__proto__");
    expect(createToolNames([]).toClient("toString")).toBe("toString");
  });

  test("two names that would become one are refused", () => {
    const long = "a.b";
    const taken = createToolNames([long]).toUpstream(long);
    expect(() => createToolNames([long, taken])).toThrow(expect.objectContaining({ code: "invalid_request", field: "tools" }));
  });
});
