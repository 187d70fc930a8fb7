import { readFile } from "node:fs/promises";
import path from "node:path";
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { parse } from "yaml";
import * as z from "zod";
import { REPOSITORY } from "../documents/repository-files.ts";

const operationSchema = z.looseObject({
  operationId: z.string(),
  tags: z.array(z.string()),
  responses: z.record(z.string(), z.unknown()),
});
const documentSchema = z.looseObject({
  paths: z.record(z.string(), z.record(z.string(), operationSchema)),
  components: z.looseObject({ schemas: z.record(z.string(), z.looseObject({ enum: z.array(z.unknown()).optional() })) }),
});

export interface OpenapiDocument {
  /** Its errors as an OpenAPI document; undefined if there are none. */
  readonly mistakes: unknown;
  readonly operations: readonly Operation[];
  /** The values that a component's schema allows, in their order. */
  enumOf(component: string): readonly unknown[];
  /** Checks a JSON body against the document's schema for an operation's status, or its default. */
  validatorOf(operation: Operation, status: number): ValidateFunction;
  /** Content types that the document has for such an answer. */
  typesOf(operation: Operation, status: number): string[];
  /** Names of the headers that the document has for such an answer. */
  headersOf(id: string, status: number): string[];
  /** Those that every such answer carries. */
  requiredHeaders(operation: Operation, status: number): string[];
}

interface Operation {
  readonly id: string;
  readonly tags: readonly string[];
  readonly method: string;
  readonly path: string;
  readonly statuses: readonly string[];
}

const headersSchema = z.record(z.string(), z.union([z.object({ required: z.boolean() }), z.looseObject({})]));
const responseSchema = z.looseObject({
  headers: headersSchema.optional(),
  content: z.record(z.string(), z.unknown()).optional(),
});

/** docs/openapi.yaml. */
export async function readOpenapi(): Promise<OpenapiDocument> {
  const source: unknown = parse(await readFile(path.join(REPOSITORY, "docs/openapi.yaml"), "utf8"), { maxAliasCount: 1000 });
  const document = documentSchema.parse(source);
  const { errors } = await new Validator().validate(structuredClone(document));
  const ajv = new Ajv2020({ strict: false, allErrors: true });
  addFormats.default(ajv);
  ajv.addSchema(document, "openapi");

  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, tags, responses }]) => ({
      id: operationId,
      tags,
      method: method.toUpperCase(),
      path,
      statuses: Object.keys(responses),
    })),
  );

  /** JSON pointer of the response that the document has for this status. */
  function pointerOf({ method, path, statuses }: Operation, status: number): string {
    const entry = statuses.includes(String(status)) ? String(status) : "default";
    const pointer = `/paths/${escape(path)}/${method.toLowerCase()}/responses/${entry}`;
    const reference = z.object({ $ref: z.string() }).safeParse(follow(document, pointer));
    return reference.success ? reference.data.$ref.replace(/^#/, "") : pointer;
  }

  function responseAt(operation: Operation, status: number) {
    return responseSchema.parse(follow(document, pointerOf(operation, status)));
  }

  function headersAt(operation: Operation, status: number) {
    return responseAt(operation, status).headers ?? {};
  }

  return {
    mistakes: errors,
    operations,
    enumOf: (component) => document.components.schemas[component]?.enum ?? [],
    validatorOf: (operation, status) =>
      ajv.compile({ $ref: `openapi#${pointerOf(operation, status)}/content/application~1json/schema` }),
    typesOf: (operation, status) => Object.keys(responseAt(operation, status).content ?? {}),
    headersOf(id, status) {
      const operation = operations.find((each) => each.id === id);
      return operation === undefined ? [] : Object.keys(headersAt(operation, status));
    },
    requiredHeaders(operation, status) {
      const headers = headersAt(operation, status);
      return Object.entries(headers).flatMap(([name, header]) => {
        const reference = z.object({ $ref: z.string() }).safeParse(header);
        const resolved = reference.success ? follow(document, reference.data.$ref.replace(/^#/, "")) : header;
        return z.object({ required: z.literal(true) }).safeParse(resolved).success ? [name] : [];
      });
    },
  };
}

function escape(segment: string): string {
  return segment.replaceAll("~", "~0").replaceAll("/", "~1");
}

function follow(document: unknown, pointer: string): unknown {
  return pointer
    .split("/")
    .slice(1)
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"))
    .reduce((node: unknown, key) => Reflect.get(Object(node), key), document);
}
