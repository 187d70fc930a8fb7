import { expect, test } from "vitest";
import { checkVersion } from "../../../contract/messages-version.ts";

const headers = (entries: Record<string, string>) => (name: string) => new Map(Object.entries(entries)).get(name);

test("both spellings of the version header and both known versions are accepted, and none means the first (S4, S5)", () => {
  expect(() => checkVersion(headers({}))).not.toThrow();
  expect(() => checkVersion(headers({ "msgapi-version": "2023-06-01", "anthropic-version": "2023-06-01" }))).not.toThrow();
  expect(() => checkVersion(headers({ "anthropic-version": "2026-10-21" }))).not.toThrow();
  for (const name of ["msgapi-version", "anthropic-version"]) {
    expect(() => checkVersion(headers({ [name]: "2024-01-01" }))).toThrow(
      expect.objectContaining({ status: 400, field: name, message: expect.stringContaining("2023-06-01") }),
    );
  }
});
