import * as fc from "fast-check";
import { expect, test } from "vitest";
import { explainKey } from "../../../../ledger/keys/key-mistake.ts";

const KEY = `sk-mg-AbCdEfGhIjKl${"m".repeat(43)}`;
/** What Envoy hands on of a header that a client wrote in UTF-8. */
const sent = (text: string) => Buffer.from(text).toString("latin1");

test.for([
  ["another provider's: Anthropic", "sk-ant-api03-abcdefgh", "another provider (Anthropic)"],
  ["another provider's: OpenAI", "sk-proj-abcdefgh", "another provider (OpenAI)"],
  ["another provider's: OpenRouter", "sk-or-v1-abcdefgh", "another provider (OpenRouter)"],
  ["another provider's: Groq", "gsk_abcdefgh", "another provider (Groq)"],
  ["another provider's: Google", "AIzaSyAbcdefgh", "another provider (Google)"],
  ["another provider's: xAI", "xai-abcdefgh", "another provider (xAI)"],
  ["another provider's: any", "sk-0123456789abcdef0123456789abcdef", "an API key of another provider."],
  ["masked, as pages show it", "sk-mg-AbCd****WxYz", "masked display form"],
  ["masked with dots", sent("sk-mg-••••••••WxYz"), "masked display form"],
  ["masked with an ellipsis", sent("sk-…WxYz"), "masked display form"],
  ["masked in whole", "********", "masked display form"],
  ["a management token", "mgmt_abcdefgh", "management token"],
  ["a Kubernetes token", "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2ln", "Kubernetes token"],
  ["a variable", "$GATEWAY_KEY", "placeholder"],
  ["a template", "<your key>", "placeholder"],
  ["a word of an example", "YOUR_API_KEY", "placeholder"],
  ["undefined", "undefined", "placeholder"],
  ["something else", "hunter2", "does not have this service's form"],
] as const)("%s: another key is needed, and the message explains why (S18)", ([, credential, sentence]) => {
  const mistake = explainKey(credential);
  expect(mistake.sentence).toContain(sentence);
  expect(mistake.needsKey).toBe(true);
});

test.for([
  ["Bearer twice", `Bearer ${KEY}`, "appears twice"],
  ["quotation marks", `"${KEY}"`, "quotation marks"],
  ["typographic quotation marks", sent(`“${KEY}”`), "quotation marks"],
  ["a space inside", `sk-mg-AbCd ${KEY.slice(10)}`, "white space"],
  ["a header that is sent twice", `${KEY},Bearer ${KEY}`, "twice in one header"],
  ["a header of another kind that is sent twice", `${KEY}, ${KEY}`, "twice in one header"],
  ["a line break that was escaped", `${KEY}\\n`, "white space or a line break"],
  ["a piece", KEY.slice(0, 30), "has 30 characters instead of 61"],
  ["too much", `${KEY}${KEY}`, "has 122 characters"],
  ["a foreign character", `${KEY.slice(0, -1)}-`, "invalid characters"],
] as const)("%s: the key itself is right, and the message explains how to send it", ([, credential, sentence]) => {
  const mistake = explainKey(credential);
  expect(mistake.sentence).toContain(sentence);
  expect(mistake.needsKey).toBe(false);
});

test("no part of what was sent is ever in the message (S18)", () => {
  const prefix = fc.constantFrom("", "sk-", "sk-ant-", "sk-mg-", "Bearer ", "mgmt_", "$", '"', "eyJ");
  const secret = fc.stringMatching(/^[0-9A-HJ-Z]{8,60}$/);
  fc.assert(
    fc.property(prefix, secret, (before, text) => {
      const { sentence } = explainKey(before + text);
      for (let at = 0; at + 6 <= text.length; at += 1) expect(sentence).not.toContain(text.slice(at, at + 6));
    }),
  );
});
