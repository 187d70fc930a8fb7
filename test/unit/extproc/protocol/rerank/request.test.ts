import { describe, expect, test } from "vitest";
import { GatewayError } from "../../../../../contract/errors.ts";
import { parseBody } from "../../../../../extproc/protocol/json/parse-body.ts";
import {
  MAX_DOCUMENTS,
  MAX_READ_TOKENS,
  readRerankRequest,
  type RerankRequest,
} from "../../../../../extproc/protocol/rerank/request.ts";

const LONG = "word ".repeat(1_000);
const REQUEST = { model: "m", query: "q", documents: ["a"] };
const SHORT = { queryBytes: 1, instructionBytes: 0 };

function read(request: object | string): RerankRequest {
  const text = typeof request === "string" ? request : JSON.stringify(request);
  return readRerankRequest(parseBody(Buffer.from(text), { headers: new Map(), interface: "rerank" }));
}

function refusalOf(request: object | string): GatewayError {
  try {
    read(request);
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("it was accepted");
}

describe("the sizes of query and documents (S46)", () => {
  test.for<[string, object, RerankRequest]>([
    ["texts", { documents: ["ab", "c"] }, { ...SHORT, documentBytes: [2, 1] }],
    [
      "long texts",
      { query: LONG, documents: [LONG, "a", LONG] },
      { ...SHORT, queryBytes: 5_000, documentBytes: [5_000, 1, 5_000] },
    ],
    ["an empty text among them", { documents: ["", "c"] }, { ...SHORT, documentBytes: [0, 1] }],
    ["objects, with all that they have", { documents: [{ text: "ab" }, "c"] }, { ...SHORT, documentBytes: [11, 1] }],
    ["a long text in an object", { documents: [{ text: LONG }] }, { ...SHORT, documentBytes: [5_009] }],
  ])("%s", ([, fields, sizes]) => {
    expect(read({ ...REQUEST, ...fields })).toEqual(sizes);
  });

  test("a text that an object has twice counts twice", () => {
    expect(read('{"model":"m","query":"q","documents":[{"text":"ab","text":"cd"}]}').documentBytes).toEqual([23]);
  });

  test("a server may read any other field as an instruction, the same one twice included", () => {
    const fields = { top_k: 3, truncation: true, truncate_prompt_tokens: 100, priority: 1 };
    expect(read({ ...REQUEST, ...fields })).toMatchObject({ queryBytes: 1, instructionBytes: 1 + 4 + 3 + 1 });
    expect(read({ ...REQUEST, instruction: LONG, documents: [LONG] }).instructionBytes).toBe(5_002);
    const twice = `{"model":"m","query":"q","documents":["a"],"task":"${LONG}","task":0}`;
    expect(read(twice).instructionBytes).toBe(5_003);
  });

  test("limits of what servers read are none, and neither are other known fields", () => {
    const unset = { top_n: null, return_documents: null, max_tokens_per_doc: null, max_chunks_per_doc: null, user: null };
    expect(read({ ...REQUEST, ...unset })).toMatchObject(SHORT);
    const set = { top_n: 5, return_documents: true, rank_fields: ["text"], user: "someone", usage: { include: true } };
    expect(read({ ...REQUEST, ...set })).toMatchObject(SHORT);
    const limits = { max_tokens_per_doc: 4_096, max_tokens_per_query: 512, max_doc_length: 2_048, max_query_length: 512 };
    expect(read({ ...REQUEST, ...limits })).toMatchObject(SHORT);
  });
});

describe("errors are named (S21)", () => {
  test.for<[string, object | string, string, string]>([
    ["no query", { query: undefined }, "query", "is missing"],
    ["an empty query", { query: "" }, "query", "is an empty string"],
    ["a query with a picture", { query: { image: "x" } }, "query", "is an object"],
    ["no documents", { documents: undefined }, "documents", "is missing"],
    ["an empty list", { documents: [] }, "documents", "is an empty array"],
    ["one text", { documents: "a" }, "documents", "Send an array of strings"],
    ["a number among them", { documents: ["a", 7] }, "documents[1]", "is a number"],
    ["a picture", { documents: ["a", { image: "https://example.test/a.png" }] }, "documents[1].text", "is missing"],
    ["a picture beside a text", { documents: [{ text: "a", image: "b" }] }, "documents[0]", "has other members than `text`"],
    ["parts of a conversation", { documents: [{ text: ["a"] }] }, "documents[0].text", "is an array"],
    ["no results", { top_n: 0 }, "top_n", "Send a whole number above 0."],
    ["results in words", { top_n: "3" }, "top_n", "is a string"],
    ["no tokens", { max_tokens_per_doc: 0 }, "max_tokens_per_doc", "Send a whole number above 0."],
    ["half a chunk", { max_chunks_per_doc: 1.5 }, "max_chunks_per_doc", "Send a whole number above 0."],
    ["a flag in words", { return_documents: "yes" }, "return_documents", "Send true or false."],
    ["another spelling", { Documents: ["b"] }, "Documents", "Send `documents`."],
    ["documents twice", '{"model":"m","query":"q","documents":["a"],"documents":["b"]}', "documents", "appears twice"],
    ["query twice", '{"model":"m","query":"q","query":"r","documents":["a"]}', "query", "appears twice"],
    ["a limit of an answer", { max_new_token: 5 }, "max_new_token", "Leave it out."],
    ["other models", { fallbacks: ["x"] }, "fallbacks", "the price is that of `model`"],
    ["nested documents", { extra_body: { documents: ["b"] } }, "extra_body.documents", "at the top level"],
  ])("%s", ([, fields, field, words]) => {
    const refusal = refusalOf(typeof fields === "string" ? fields : { ...REQUEST, ...fields });
    expect(refusal).toMatchObject({ code: "invalid_request", field });
    expect(refusal.message).toContain(words);
  });
});

describe("the size of a request", () => {
  test("1,000 documents, and not one more", () => {
    const documents = Array.from({ length: MAX_DOCUMENTS }, () => "a");
    expect(read({ ...REQUEST, documents }).documentBytes).toHaveLength(MAX_DOCUMENTS);
    expect(refusalOf({ ...REQUEST, documents: [...documents, "a"] }).message).toBe(
      "`documents` has 1,001 documents, and a request may have 1,000. Send the others in further requests.",
    );
  });

  test("texts that certainly have more tokens than are read, with the query once for each document", () => {
    const bytes = MAX_READ_TOKENS * 8;
    const documents = Array.from({ length: 1_000 }, () => "");
    const query = "q".repeat(bytes / 1_000);
    expect(read({ ...REQUEST, query, documents }).queryBytes).toBe(16_000);
    expect(refusalOf({ ...REQUEST, query, documents, instruction: "" }).message).toContain("comes to 16,002,000 bytes of text");
    const refusal = refusalOf({ ...REQUEST, query: `${query}q`, documents });
    expect(refusal.field).toBe("documents");
    expect(refusal.message).toContain("comes to 16,001,000 bytes of text");
    expect(refusal.message).toContain("may have 2,000,000 tokens. Send fewer documents in each request, or a shorter query.");
  });
});
