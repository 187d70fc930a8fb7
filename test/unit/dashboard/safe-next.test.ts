import { expect, test } from "vitest";
import { safeNext } from "../../../dashboard/http/reply.ts";

test.for([
  "/dashboard",
  "/dashboard/keys",
  "/dashboard/usage?range=7d&model=modelx-v4-pro",
  "/dashboard/keys/AbCdEfGhIjKl/rotate",
  `/dashboard/keys?${new URLSearchParams({ search: "our key ~*" }).toString()}`,
])("%s is opened after signing in", (next) => {
  expect(safeNext(next)).toBe(next);
});

test.for([
  undefined,
  "https://example.com/dashboard",
  "//example.com/dashboard",
  "/dashboard//example.com",
  "/dashboard/../v1",
  "/dashboardx",
  "/dashboard\r\nset-cookie: a=b",
  "/dashboard/keys\\@example.com",
  "/dashboard/sign-out",
  ["/dashboard/keys"],
])("%j is not: it may lead elsewhere", (next) => {
  expect(safeNext(next)).toBe("/dashboard");
});
