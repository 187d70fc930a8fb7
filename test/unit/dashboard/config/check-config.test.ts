import { expect, test } from "vitest";
import { checkConfig } from "../../../../dashboard/config/check-config.ts";
import { requiringTls } from "../../../../dashboard/mail/smtp.ts";

const CONFIG: Parameters<typeof checkConfig>[0] = {
  publicBaseUrl: "https://gateway.example",
  signUp: { isOpen: true, domains: null },
  mail: { kind: "none" },
  providers: [],
  adminSecondFactor: "required",
};
const OIDC = {
  id: "oidc",
  issuer: "https://id.example",
  clientId: "gateway",
  clientSecret: "x",
  name: "Example",
  hasSecondFactor: false,
  hasAuthTime: true,
} as const;
const DOMAINS = { isOpen: true, domains: ["example.com"] };
const SMTP = { kind: "smtp", url: "smtps://mail.example", from: "gateway@example.com" } as const;

test("an outbox that anybody can read is only for one machine (S24)", () => {
  expect(() => checkConfig({ ...CONFIG, mail: { kind: "outbox" } })).toThrow("MAIL=outbox shows every email");
  for (const publicBaseUrl of ["http://127.0.0.1:8080", "http://localhost:8080", "http://[::1]:8080"])
    checkConfig({ ...CONFIG, publicBaseUrl, mail: { kind: "outbox" } });
});

test("administrators can do without a second factor only on one machine", () => {
  expect(() => checkConfig({ ...CONFIG, adminSecondFactor: "optional" })).toThrow("ADMIN_SECOND_FACTOR=optional");
  checkConfig({ ...CONFIG, publicBaseUrl: "http://127.0.0.1:8080", adminSecondFactor: "optional" });
});

test("an address of a domain is confirmed by mail, or by a provider", () => {
  expect(() => checkConfig({ ...CONFIG, signUp: DOMAINS })).toThrow("SIGN_UP_DOMAINS needs MAIL=smtp or a sign-in provider");
  checkConfig({ ...CONFIG, signUp: DOMAINS, mail: SMTP });
  checkConfig({ ...CONFIG, signUp: DOMAINS, providers: [OIDC] });
});

test.for([
  ["smtp://user:password@mail.example:587", true],
  ["smtp://user:password@mail.example:587?requireTLS=false", false],
  ["smtp://mail.example", false],
  ["smtp://user:password@127.0.0.1:2525", false],
  ["smtps://user:password@mail.example", false],
] as const)("%s requires TLS: %s", ([url, isRequired]) => {
  expect(new URL(requiringTls(url)).searchParams.get("requireTLS") === "true").toBe(isRequired);
});
