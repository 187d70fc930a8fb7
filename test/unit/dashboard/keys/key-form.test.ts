import { expect, test } from "vitest";
import { parseKeyForm, writeKeyForm } from "../../../../dashboard/keys/key-form.ts";

const full = {
  name: "laptop",
  models: "modelx-v4-pro,modelx-chat",
  project: "0199d8a0-0000-7000-8000-000000000000",
  expires: "2027-01-31",
  addresses: "203.0.113.7\n2001:db8::/32",
  origins: "https://app.example.com\nhttp://localhost:5173",
  prompt_log: "7",
  spendPerDayUsd: "5.00",
  spendPerMonthUsd: "50",
  requestsPerMinute: "60",
  tokensPerMinute: "100000",
  concurrentRequests: "4",
};

test("a key's form is read and written without loss", () => {
  const settings = parseKeyForm(full);
  expect(settings).toEqual({
    name: "laptop",
    allowedModels: ["modelx-v4-pro", "modelx-chat"],
    projectId: "0199d8a0-0000-7000-8000-000000000000",
    allowedAddresses: ["203.0.113.7", "2001:db8::/32"],
    allowedOrigins: ["https://app.example.com", "http://localhost:5173"],
    promptLogDays: 7,
    // The last day counts whole.
    expiresAt: new Date("2027-02-01T00:00:00Z"),
    limits: {
      spendPerDayUsd: "5.00",
      spendPerMonthUsd: "50",
      requestsPerMinute: 60,
      tokensPerMinute: 100_000,
      concurrentRequests: 4,
    },
  });
  expect(writeKeyForm(settings)).toEqual(full);
});

test("empty fields are not limited", () => {
  const empty = Object.fromEntries(Object.keys(full).map((field) => [field, ""]));
  expect(parseKeyForm({ ...empty, name: "laptop" })).toEqual({
    name: "laptop",
    allowedModels: null,
    allowedAddresses: null,
    allowedOrigins: null,
    projectId: null,
    promptLogDays: null,
    expiresAt: null,
    limits: {},
  });
});

test("a form of an account without projects has no such field, and leaves the project as it is", () => {
  const { project, ...others } = full;
  expect(project).not.toBe("");
  expect(parseKeyForm(others).projectId).toBeUndefined();
});

test.for([
  ["name", "", "Give the key a name."],
  ["expires", "soon", "Choose a day."],
  ["project", "search", "Choose a project."],
  ["spendPerDayUsd", "5,00", "Enter an amount in USD, such as 5.00."],
  ["requestsPerMinute", "0", "Enter a whole number from 1 to 1,000,000,000."],
  ["tokensPerMinute", "1e3", "Enter a whole number from 1 to 1,000,000,000."],
  ["tokensPerMinute", "1,000,000,001", "Enter a whole number from 1 to 1,000,000,000."],
] as const)("%s: %j is rejected with a message", ([field, value, message]) => {
  expect(() => parseKeyForm({ ...full, [field]: value })).toThrow(
    expect.objectContaining({ issues: [expect.objectContaining({ path: [field], message })] }),
  );
});

test("a count is read with commas between thousands, up to the most that the management API accepts", () => {
  expect(parseKeyForm({ ...full, tokensPerMinute: "2,500,000", requestsPerMinute: "1000000000" }).limits).toMatchObject({
    tokensPerMinute: 2_500_000,
    requestsPerMinute: 1_000_000_000,
  });
});
