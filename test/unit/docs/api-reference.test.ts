import { readFile } from "node:fs/promises";
import path from "node:path";
import { beforeAll, expect, test } from "vitest";
import { ERRORS } from "../../../contract/errors.ts";
import { HEADERS, MAX_REQUEST_BYTES, MESSAGES_VERSIONS, RATE_LIMIT_HEADERS } from "../../../contract/headers.ts";
import { describeUnknownPath } from "../../../extproc/route/unknown-path.ts";
import { ROUTES_OF_KEYS } from "../../support/dashboard/api-access-table.ts";
import { tablesBelow } from "../../support/documents/markdown-tree.ts";
import { REPOSITORY } from "../../support/documents/repository-files.ts";

/** docs/api.md against the code. */
let page: string;
beforeAll(async () => {
  page = await readFile(path.join(REPOSITORY, "docs/api.md"), "utf8");
});

test("the table of errors has every error, with its status and its name in both dialects (S17)", () => {
  const [table = []] = tablesBelow(page, "Errors");
  expect(table.map((row) => row.slice(0, 5))).toEqual(
    Object.entries(ERRORS).map(([name, { status, chat, messages }]) => [
      name,
      String(status),
      chat.type,
      chat.code ?? "null",
      messages.type,
    ]),
  );
  expect(table.map(([, , , , , remedy = ""]) => remedy.length > 20)).not.toContain(false);
});

test("the table of endpoints has every served path", () => {
  const [table = []] = tablesBelow(page, "Endpoints");
  const served = describeUnknownPath("/nowhere").match(/(?:GET|POST) [\w/]+/g) ?? [];
  expect(table.map(([endpoint]) => endpoint)).toEqual(expect.arrayContaining(served));
  expect(table).toHaveLength(
    served.length +
      [
        "GET /",
        "GET /v1/models/{id}",
        "GET /v1/usage/{id}",
        "GET`, `DELETE /v1/responses/{id}",
        "GET /v1/responses/{id}/input_items",
        "POST`, `GET /v1/files",
        "POST`, `GET /v1/batches",
        "POST`, `GET /v1/messages/batches",
      ].length,
  );
});

test("the guide to batches has every endpoint for the holders of keys, and no other (S58)", async () => {
  const guide = await readFile(path.join(REPOSITORY, "docs/batches.md"), "utf8");
  const [table = []] = tablesBelow(guide, "Endpoints");
  const listed = table.flatMap(([endpoint = ""]) => {
    const [, address = ""] = /(\/\S+)$/.exec(endpoint) ?? [];
    return (endpoint.match(/GET|POST|DELETE/g) ?? []).map((method) => `${method} ${address}`);
  });
  expect(listed.toSorted()).toEqual(ROUTES_OF_KEYS.map((route) => route.replace(":id", "{id}")).toSorted());
});

test("rate-limit headers, our own headers, versions and the largest body are those of the code (S4, S21, S23)", () => {
  const rateLimits = Object.values(RATE_LIMIT_HEADERS).flatMap(({ requests, tokens }) =>
    [requests, tokens].flatMap(Object.values),
  );
  const ours = [HEADERS.dropped, HEADERS.requestId, HEADERS.requestIdMessages, HEADERS.version, HEADERS.versionNeutral];
  for (const word of [...rateLimits, ...ours, ...MESSAGES_VERSIONS]) expect(page).toContain(`\`${word}\``);
  expect(page).toContain(`${MAX_REQUEST_BYTES / 1024 / 1024} MiB`);
});
