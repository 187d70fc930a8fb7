import { brotliDecompressSync, gunzipSync } from "node:zlib";
import fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { asset, serveAssets } from "../../../dashboard/assets.ts";

const STYLES = asset("style.css");

function open() {
  const app = fastify();
  onTestFinished(() => app.close());
  serveAssets(app);
  return (url: string, encodings?: string) =>
    app.inject({ url, headers: encodings === undefined ? {} : { "accept-encoding": encodings } });
}

test("browsers keep an asset indefinitely", async () => {
  const get = open();
  const { statusCode, headers, body } = await get(STYLES);
  expect(statusCode).toBe(200);
  expect(headers["cache-control"]).toBe("public, max-age=31536000, immutable");
  expect(headers["content-type"]).toBe("text/css; charset=utf-8");
  expect(body).toContain("--");
});

test.for([
  { name: "script", file: "playground/main.js", type: "text/javascript; charset=utf-8" },
  { name: "icon", file: "icon.svg", type: "image/svg+xml" },
  { name: "library", file: "marked.js", type: "text/javascript; charset=utf-8" },
])("a $name has its content type", async ({ file, type }) => {
  const { statusCode, headers } = await open()(asset(file));
  expect({ statusCode, type: headers["content-type"] }).toEqual({ statusCode: 200, type });
});

test("an asset is compressed as the browser accepts it", async () => {
  const get = open();
  const { rawPayload: plain } = await get(STYLES);
  const brotli = await get(STYLES, "gzip, deflate, br, zstd");
  expect(brotli.headers).toMatchObject({ "content-encoding": "br", vary: "accept-encoding" });
  expect(brotliDecompressSync(brotli.rawPayload)).toEqual(plain);
  const gzip = await get(STYLES, "gzip, br;q=0");
  expect(gzip.headers).toMatchObject({ "content-encoding": "gzip", vary: "accept-encoding" });
  expect(gunzipSync(gzip.rawPayload)).toEqual(plain);
  const other = await get(STYLES, "zstd");
  expect(other.headers["content-encoding"]).toBeUndefined();
  expect(other.rawPayload).toEqual(plain);
});

test("a page of another version gets this version's file, which its browser does not keep", async () => {
  const get = open();
  const { statusCode, headers, body } = await get("/dashboard/assets/0123456789ab/style.css");
  expect({ statusCode, cache: headers["cache-control"] }).toEqual({ statusCode: 200, cache: "no-store" });
  expect(body).toBe((await get(STYLES)).body);
});

test.for(["none.js", "..%2fassets.ts", "../assets.ts", "", "playground", "__proto__"])("there is no asset %j", async (name) => {
  expect((await open()(asset(name))).statusCode).toBe(404);
});
