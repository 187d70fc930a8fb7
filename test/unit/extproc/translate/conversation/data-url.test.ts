import fc from "fast-check";
import { expect, test } from "vitest";
import { parseDataUrl } from "../../../../../extproc/translate/conversation/data-url.ts";

const base64 = (text: string) => Buffer.from(text).toString("base64");

test.for([
  ["data:image/png;base64,aGVsbG8=", "image/png", "aGVsbG8="],
  ["DATA:Image/PNG;charset=x; Base64 ,aGVs\r\n\tbG8= ", "image/png", "aGVsbG8="],
  ["data:,a%20b%2", "text/plain", base64("a b%2")],
  ["data:text/plain,%e2%82%ac €%zz%4", "text/plain", base64("€ €%zz%4")],
  ["data:text/plain,%FF%00a", "text/plain", Buffer.from([255, 0, 97]).toString("base64")],
  ["data:text/plain,a,b;base64,c", "text/plain", base64("a,b;base64,c")],
] as const)("%s is %s with the data %s", ([url, mediaType, data]) => {
  expect(parseDataUrl(url)).toEqual({ mediaType, base64: data });
});

test.for(["https://example.com/a,b", "data:image/png;base64", `data:${";".repeat(1_024)},a`])("%s is not a data URL", (url) => {
  expect(parseDataUrl(url)).toBeNull();
});

test("any text survives, percent-encoded or not", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const plain = text.replaceAll("%", "");
      const read = [encodeURIComponent(text), plain].map((data) => parseDataUrl(`data:,${data}`)?.base64);
      return read[0] === base64(text) && read[1] === base64(plain);
    }),
  );
});
