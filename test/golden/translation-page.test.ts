import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  CHAT_VIA_MESSAGES,
  CHAT_VIA_RESPONSES,
  MESSAGES_VIA_CHAT,
  MESSAGES_VIA_RESPONSES,
  RESPONSES_VIA_CHAT,
  RESPONSES_VIA_MESSAGES,
} from "../support/documents/policy-direction.ts";
import { errorTable, finishTable, incompleteTable, stopTable, upstreamErrorTable } from "./page-answers.ts";
import { contentExamples, contentTable, fieldOutcomes, fieldTable } from "./page-policies.ts";
import { flagTable, presetTable } from "./page-profiles.ts";

const PAGE = join(import.meta.dirname, "../../docs/translation.md");

/** The parts of the page that are written by the code they speak of. */
const SECTIONS: Readonly<Record<string, () => string>> = {
  "chat-via-messages-fields": () => fieldTable(CHAT_VIA_MESSAGES),
  "chat-via-messages-content": () => contentTable(CHAT_VIA_MESSAGES),
  "chat-via-messages-examples": () => contentExamples(CHAT_VIA_MESSAGES),
  "messages-via-chat-fields": () => fieldTable(MESSAGES_VIA_CHAT),
  "messages-via-chat-content": () => contentTable(MESSAGES_VIA_CHAT),
  "messages-via-chat-examples": () => contentExamples(MESSAGES_VIA_CHAT),
  "responses-fields": () => fieldTable(RESPONSES_VIA_CHAT),
  "responses-content": () => contentTable(RESPONSES_VIA_CHAT),
  "responses-via-chat-examples": () => contentExamples(RESPONSES_VIA_CHAT),
  "responses-via-messages-examples": () => contentExamples(RESPONSES_VIA_MESSAGES),
  "chat-via-responses-fields": () => fieldOutcomes(CHAT_VIA_RESPONSES),
  "chat-via-responses-examples": () => contentExamples(CHAT_VIA_RESPONSES),
  "messages-via-responses-fields": () => fieldOutcomes(MESSAGES_VIA_RESPONSES),
  "messages-via-responses-examples": () => contentExamples(MESSAGES_VIA_RESPONSES),
  "incomplete-reasons": incompleteTable,
  "finish-reasons": finishTable,
  "stop-reasons": stopTable,
  errors: errorTable,
  "upstream-errors": upstreamErrorTable,
  flags: flagTable,
  presets: presetTable,
};

const SECTION = /(<!-- generated: ([\w-]+) -->\n)[\s\S]*?(<!-- end -->)/g;

test("the page on translation matches the code (npm run docs:update)", async () => {
  const page = readFileSync(PAGE, "utf8");
  const written = page.replaceAll(
    SECTION,
    (_, start: string, name: string, end: string) => `${start}\n${sectionText(name)}\n\n${end}`,
  );
  await expect(written).toMatchFileSnapshot(PAGE);
});

test("every generated section is on the page once", () => {
  const names = [...readFileSync(PAGE, "utf8").matchAll(SECTION)].map(([, , name]) => name);
  expect(names).toHaveLength(new Set(names).size);
  expect(new Set(names)).toEqual(new Set(Object.keys(SECTIONS)));
});

function sectionText(name: string): string {
  const section = Object.hasOwn(SECTIONS, name) ? SECTIONS[name] : undefined;
  if (section === undefined) throw new Error(`docs/translation.md asks for the section ${name}, which nothing writes.`);
  return section();
}
