import { expect, test } from "vitest";
import { fieldPath } from "../../../../../extproc/translate/conversation/field-path.ts";
import { readFileData } from "../../../../../extproc/translate/conversation/media.ts";

const read = (mediaType: string) => readFileData(`data:${mediaType};base64,aGk=`, fieldPath("file_data"));

test.for([
  "text/plain",
  "text/markdown",
  "text/csv",
  "text/html",
  "text/x-python",
  "text/plain;charset=utf-8",
  "application/json",
  "application/ld+json",
  "application/xml",
  "application/x-sh",
])("a file of type %s is text", (mediaType) => {
  expect(read(mediaType)).toEqual({ kind: "text", text: "hi" });
});

test("a PDF stays as it is", () => {
  expect(read("application/pdf")).toEqual({ kind: "data", mediaType: "application/pdf", base64: "aGk=" });
});

test.for([
  "text/rtf",
  "application/octet-stream",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  "application/zip",
  "image/svg+xml",
])("a file of type %s is refused by its field, with the types that work (S21)", (mediaType) => {
  expect(() => read(mediaType)).toThrow(/^`file_data` is not a data URL of a PDF or a text, such as /);
});
