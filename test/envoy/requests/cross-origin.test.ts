import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { UNBOUND } from "../../../contract/key-access.ts";
import { changeKey } from "../../../ledger/keys/key-settings.ts";
import { createApiKey, revokeApiKey } from "../../../ledger/keys/keys.ts";
import { readPepper } from "../../../local/demo.ts";
import { makeCompletion, makeCompletionStream } from "../../support/servers/completions.ts";
import { eventually } from "../../support/eventually.ts";
import { DEAR, useScriptedModels } from "../../support/servers/scripted-models.ts";

/** What web pages may ask and read (S53). */
const PAGE = "https://app.example.com";
const OTHER_PAGE = "http://localhost:5173";
const STRANGER = "https://elsewhere.example";

/** A model server that opens its own answers to all pages. */
const OPEN = {
  "access-control-allow-origin": "*",
  "access-control-allow-credentials": "true",
  "access-control-expose-headers": "x-internal",
  vary: "accept-encoding",
};
let isFailing: boolean;
let isCut: boolean;
beforeEach(() => {
  isFailing = false;
  isCut = false;
});
const stack = useScriptedModels(
  (_request, response, body) => {
    if (isFailing) return void response.writeHead(400, OPEN).end('{"error":{"message":"no"}}');
    if (isCut) {
      response.writeHead(200, { ...OPEN, "content-type": "application/json", "content-length": "1000" });
      return void response.write("{", () => response.destroy());
    }
    const isStream = /"stream": ?true/.test(body);
    response.writeHead(200, { ...OPEN, "content-type": isStream ? "text/event-stream" : "application/json" });
    response.end(isStream ? makeCompletionStream() : makeCompletion());
  },
  (url) => [{ name: "scripted", backends: [{ name: "only", protocol: "chat", url }], pricing: DEAR }],
);

let pepper: Buffer;
let bound: string;
let free: string;
beforeAll(async () => {
  pepper = await readPepper(stack().directory.pepper);
  bound = (await makeKey([PAGE])).value;
  await makeKey([OTHER_PAGE]);
  free = (await makeKey(null)).value;
  await eventually(async () => expect((await preflight({ origin: OTHER_PAGE })).status).toBe(204));
});

const makeKey = (allowedOrigins: string[] | null) =>
  createApiKey(stack().database, {
    accountId: stack().accountId,
    name: "page",
    pepper,
    access: { ...UNBOUND, allowedOrigins },
  });

interface Call {
  path?: string;
  origin?: string | null;
  key?: string;
  body?: object | null;
  headers?: Readonly<Record<string, string>>;
}

const QUESTION = { model: "scripted", max_tokens: 20, messages: [{ role: "user", content: "Hello." }] };

function call({ path = "/v1/chat/completions", origin = PAGE, key = bound, body = QUESTION, headers = {} }: Call = {}) {
  return fetch(stack().baseUrl + path, {
    method: body === null ? "GET" : "POST",
    headers: {
      ...(origin === null ? {} : { origin }),
      "x-api-key": key,
      "content-type": "application/json",
      ...headers,
    },
    ...(body === null ? {} : { body: JSON.stringify(body) }),
  });
}

interface Preflight {
  path?: string;
  origin?: string;
  asked?: string;
}

function preflight({ path = "/v1/chat/completions", origin = PAGE, asked = "authorization,content-type" }: Preflight = {}) {
  const headers = { origin, "access-control-request-method": "POST", "access-control-request-headers": asked };
  return fetch(stack().baseUrl + path, { method: "OPTIONS", headers });
}

/** The headers that concern other origins. */
function openTo(response: Response): Record<string, string> {
  return Object.fromEntries([...response.headers].filter(([name]) => name === "vary" || name.startsWith("access-control-")));
}

const openToPage = {
  "access-control-allow-origin": PAGE,
  "access-control-expose-headers": expect.stringMatching(/^x-request-id, request-id, x-gateway-cost, .*retry-after/),
  vary: "origin",
};

const errorSchema = z.looseObject({ type: z.string().optional(), error: z.looseObject({ message: z.string() }) });

test.for(["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/models", "/v1/balance", "/v1/v1/messages"])(
  "the preflight of %s is answered to pages of a key's origins, without a key (S53)",
  async (path) => {
    const asked = "anthropic-dangerous-direct-browser-access,authorization,x-api-key,x-stainless-os";
    const response = await preflight({ path, asked });
    expect(response.status).toBe(204);
    expect(openTo(response)).toEqual({
      ...openToPage,
      "access-control-allow-methods": "GET, HEAD, POST, DELETE",
      "access-control-allow-headers": asked,
      "access-control-max-age": "7200",
    });
  },
);

test.for(["/v1/files", "/v1/batches", "/v1/messages/batches"])(
  "pages of a key's origins use the endpoints for batches, and no others do: %s (S53, S58)",
  async (path) => {
    expect((await preflight({ path })).status).toBe(204);
    expect(openTo(await preflight({ path, origin: STRANGER }))).toEqual({});
    const listed = await call({ path, body: null });
    expect([listed.status, openTo(listed)]).toEqual([200, openToPage]);
    const refused = await call({ path, body: {} });
    expect([refused.status, openTo(refused)]).toEqual([400, openToPage]);
    const mistyped = await call({ path, body: null, key: `${bound.slice(0, -1)}${bound.endsWith("a") ? "b" : "a"}` });
    expect([mistyped.status, openTo(mistyped)]).toEqual([401, openToPage]);
    const elsewhere = await call({ path, body: null, origin: STRANGER });
    expect([elsewhere.status, openTo(elsewhere)]).toEqual([403, {}]);
    const unbound = await call({ path, body: null, key: free });
    expect([unbound.status, openTo(unbound)]).toEqual([200, {}]);
  },
);

test.for([STRANGER, "null", `${PAGE}:8443`, `${PAGE}.evil.example`, "HTTPS://APP.EXAMPLE.COM", "*", `${PAGE}, ${OTHER_PAGE}`])(
  "a preflight of %s, which no key names, gets the usual answer (S53)",
  async (origin) => {
    const response = await preflight({ origin });
    expect(response.status).toBe(405);
    expect(openTo(response)).toEqual({});
  },
);

test.for(["a\tb", "a,,b", "a b", "x".repeat(3_000)])(
  "a preflight's list of headers is not repeated if it is none: %j",
  async (asked) => {
    const response = await preflight({ asked });
    expect(response.status).toBe(204);
    expect(openTo(response)).not.toHaveProperty("access-control-allow-headers");
  },
);

test("a preflight is free, and OPTIONS without what makes it one stays a 405", async () => {
  const before = await stack().balanceNanoUsd();
  expect((await preflight()).status).toBe(204);
  const response = await fetch(`${stack().baseUrl}/v1/messages`, { method: "OPTIONS", headers: { origin: PAGE } });
  expect(response.status).toBe(405);
  expect(openTo(response)).toMatchObject({ "access-control-allow-origin": PAGE });
  expect(await stack().balanceNanoUsd()).toBe(before);
});

describe.for([
  ["/v1/chat/completions", false],
  ["/v1/chat/completions", true],
  ["/v1/messages", false],
  ["/v1/messages", true],
  ["/v1/responses", true],
] as const)("%s, stream: %s", ([path, stream]) => {
  test("an answer is for the page that asked, whatever its model server says about pages (S53)", async () => {
    const response = await call({
      path,
      body: {
        ...QUESTION,
        ...(path === "/v1/responses" ? { input: "Hello.", messages: undefined, max_tokens: undefined } : {}),
        stream,
      },
    });
    const text = await response.text();
    expect(response.status, text).toBe(200);
    expect(openTo(response)).toEqual(openToPage);
  });

  test("without an origin, and with one on another key, answers have no such headers", async () => {
    for (const origin of [null, PAGE, STRANGER]) {
      const response = await call({
        path,
        origin,
        key: free,
        body: {
          ...QUESTION,
          ...(path === "/v1/responses" ? { input: "Hello.", messages: undefined, max_tokens: undefined } : {}),
          stream,
        },
      });
      await response.text();
      expect(response.status).toBe(200);
      expect(openTo(response)).toEqual({});
    }
  });
});

test("other answers are for the page, too", async () => {
  for (const path of ["/v1/models", "/v1/balance", "/v1/usage"]) {
    const response = await call({ path, body: null });
    expect([response.status, openTo(response)]).toEqual([200, openToPage]);
  }
  const counted = await call({ path: "/v1/messages/count_tokens" });
  expect([counted.status, openTo(counted)]).toEqual([200, openToPage]);
});

test.for(["/v1/chat/completions", "/v1/messages"])(
  "errors on %s are for the page, of the gateway and of the model server",
  async (path) => {
    isFailing = true;
    const refusals = [
      call({ path }),
      call({ path, body: { ...QUESTION, model: "none" } }),
      call({ path: "/v1/messages/v1", headers: { "anthropic-version": "2023-06-01" } }),
      call({ path, key: `${bound.slice(0, -1)}${bound.endsWith("0") ? "1" : "0"}` }),
    ];
    const answers = await Promise.all(refusals);
    expect(answers.map(({ status }) => status)).toEqual([400, 404, 404, 401]);
    for (const response of answers) expect(openTo(response)).toEqual(openToPage);
  },
);

test("a body beyond Envoy's bound is refused for the page", async () => {
  const response = await call({ body: { ...QUESTION, metadata: "x".repeat(33 * 1024 * 1024) } });
  expect(response.status).toBe(413);
  expect(openTo(response)).toEqual(openToPage);
});

test.for(["/v1/chat/completions", "/v1/messages"])(
  "Envoy's own error on %s is for the page, in place of a complete answer that breaks off (S53)",
  async (path) => {
    isCut = true;
    const response = await call({ path });
    expect(response.status).toBe(502);
    expect(openTo(response)).toEqual(openToPage);
    const others = await call({ path, key: free });
    expect([others.status, openTo(others)]).toEqual([502, {}]);
  },
);

test.for(["/v1/models", "/v1/balance", "/v1/chat/completions", "/v1/messages"])(
  "from elsewhere, a key with origins gets a 403 on %s in its protocol that says what to do (S17, S53)",
  async (path) => {
    const body = /chat|messages/.test(path) ? QUESTION : null;
    for (const origin of [null, STRANGER, "null", OTHER_PAGE]) {
      const response = await call({ path, body, origin });
      expect(response.status).toBe(403);
      expect(response.headers.get("x-should-retry")).toBe("false");
      // Pages of other keys may learn why.
      expect(openTo(response)).toEqual(origin === OTHER_PAGE ? { ...openToPage, "access-control-allow-origin": origin } : {});
      const { type, error } = errorSchema.parse(await response.json());
      expect(type).toBe(path === "/v1/messages" ? "error" : undefined);
      expect(error.message).toContain("web pages of certain origins");
      expect(error.message).toContain("/dashboard/keys");
      expect(error.message).not.toContain(PAGE);
    }
  },
);

test("a new origin is served at once, and one that is gone is refused soon, as is its preflight (S53)", async () => {
  const origin = "https://moved.example.com";
  const { publicId, value } = await makeKey([PAGE]);
  const key = { accountId: stack().accountId, publicId };
  await changeKey(stack().database, key, { allowedOrigins: [origin] });
  expect((await call({ key: value, origin })).status).toBe(200);
  expect((await preflight({ origin })).status).toBe(204);
  await changeKey(stack().database, key, { name: "renamed", limits: { requestsPerMinute: 1_000 } });
  expect((await call({ key: value, origin: null })).status).toBe(403);
  await revokeApiKey(stack().database, publicId);
  await eventually(async () => expect((await preflight({ origin })).status).toBe(405));
  // Other keys have this one.
  expect((await preflight()).status).toBe(204);
});
