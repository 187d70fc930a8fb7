import { expect, test } from "vitest";
import { readableJson } from "../../../../../extproc/translate/conversation/readable-json.ts";

/** JSON in the text that a model reads; what is no text is in it for nobody, and guardrails do not check it (S55). */
const BYTES = "iVBORw0KGgo/".repeat(20);

test.for([
  '{"stdout":"1","return_code":0}',
  '{ "total" : 12345678901234567890, "text":"\\u00e9", "list": [1.0, null] }',
  `{"text":"${BYTES}","files":["${BYTES}"]}`,
  '{"url":"https://example.com/a.png","data":"a short word","signature":""}',
  '"a text"',
  "null",
])("text stays as it is written: %s", (json) => {
  expect(readableJson(json)).toBe(json);
});

test.for<readonly [string, string]>([
  [`{"encrypted_content":"${BYTES}","title":"Found"}`, '{"encrypted_content":"[not text]","title":"Found"}'],
  [
    `{"content":{"source":{"type":"base64","data":"${BYTES}"}},"signature":"${BYTES}"}`,
    '{"content":{"source":{"type":"base64","data":"[not text]"}},"signature":"[not text]"}',
  ],
  [`[{"image_url":{"url":"data:image/png;base64,${BYTES}"}}, 1]`, '[{"image_url":{"url":"[not text]"}}, 1]'],
  ['{"file_data":"data:text/plain;a=b;base64,aGk="}', '{"file_data":"[not text]"}'],
  [`{"f\\u0069le_data":"\\u0064ata:image/png;base64,${BYTES}"}`, '{"f\\u0069le_data":"[not text]"}'],
  [`{"image_url":"${BYTES.replaceAll("/", "\\/")}"}`, '{"image_url":"[not text]"}'],
])("pictures, files and sealed content are left out: %s", ([json, readable]) => {
  expect(readableJson(json)).toBe(readable);
});

test("deep nesting is walked without recursion", () => {
  const deep = `${'{"a":'.repeat(50_000)}{"data":"${BYTES}"}${"}".repeat(50_000)}`;
  expect(readableJson(deep).includes(BYTES)).toBe(false);
});
