import * as z from "zod";

/** The parts of an OpenAPI 3.1 document that the reference shows. References (`$ref`) are resolved when used. */
const schema = z.looseObject({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  format: z.string().optional(),
  description: z.string().optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  required: z.array(z.string()).optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  items: z.unknown().optional(),
  oneOf: z.array(z.unknown()).optional(),
  anyOf: z.array(z.unknown()).optional(),
  allOf: z.array(z.unknown()).optional(),
});
export type Schema = z.infer<typeof schema>;

const parameter = z.looseObject({
  name: z.string(),
  in: z.string(),
  required: z.boolean().optional(),
  description: z.string().optional(),
  schema: z.unknown().optional(),
});
const body = z.looseObject({
  description: z.string().optional(),
  content: z.record(z.string(), z.looseObject({ schema: z.unknown().optional() })).optional(),
});
const operation = z.looseObject({
  summary: z.string().optional(),
  description: z.string().optional(),
  tags: z.array(z.string()).optional(),
  parameters: z.array(z.unknown()).optional(),
  requestBody: z.unknown().optional(),
  responses: z.record(z.string(), z.unknown()).optional(),
});
const document = z.looseObject({
  info: z.looseObject({ title: z.string(), description: z.string().optional() }),
  tags: z.array(z.looseObject({ name: z.string(), description: z.string().optional() })).optional(),
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
});

const METHODS = ["get", "post", "put", "patch", "delete"] as const;

export interface Operation {
  method: Uppercase<(typeof METHODS)[number]>;
  path: string;
  summary: string;
  description: string | undefined;
  tag: string;
  parameters: { name: string; in: string; isRequired: boolean; description: string | undefined; schema: Schema }[];
  /** Of JSON. */
  body: Schema | undefined;
  responses: { status: string; description: string; schema: Schema | undefined }[];
}

export interface Reference {
  title: string;
  description: string | undefined;
  tags: { name: string; description: string | undefined }[];
  operations: Operation[];
  /** A schema, or the target of its reference. */
  resolve(value: unknown): Schema;
}

/** @throws ZodError for anything but an OpenAPI document. */
export function readReference(raw: unknown): Reference {
  const { info, tags = [], paths } = document.parse(raw);

  function follow(value: unknown): unknown {
    const ref = z.object({ $ref: z.string() }).safeParse(value).data?.$ref;
    if (ref === undefined) return value;
    const found = ref
      .replace(/^#\//, "")
      .split("/")
      .reduce<unknown>((at, name) => z.record(z.string(), z.unknown()).parse(at)[name], raw);
    return follow(found);
  }

  const jsonOf = (value: unknown): Schema | undefined => {
    const found = body.parse(follow(value)).content?.["application/json"]?.schema;
    return found === undefined ? undefined : schema.parse(follow(found));
  };

  function read(path: string, method: (typeof METHODS)[number], value: unknown): Operation {
    const {
      summary = "",
      description,
      tags: [tag = ""] = [],
      parameters = [],
      requestBody,
      responses = {},
    } = operation.parse(value);
    return {
      method: upper(method),
      path,
      summary,
      description,
      tag,
      parameters: parameters.map((each) => {
        const { name, in: location, required = false, description: words, schema: type } = parameter.parse(follow(each));
        return { name, in: location, isRequired: required, description: words, schema: schema.parse(follow(type) ?? {}) };
      }),
      body: requestBody === undefined ? undefined : jsonOf(requestBody),
      responses: Object.entries(responses).map(([status, each]) => ({
        status,
        description: body.parse(follow(each)).description ?? "",
        schema: jsonOf(each),
      })),
    };
  }

  const operations = Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => (item[method] === undefined ? [] : [read(path, method, item[method])])),
  );
  return {
    title: info.title,
    description: info.description,
    tags: tags.map(({ name, description }) => ({ name, description })),
    operations,
    resolve: (value) => schema.parse(follow(value)),
  };
}

const UPPER = { get: "GET", post: "POST", put: "PUT", patch: "PATCH", delete: "DELETE" } as const;

function upper(method: (typeof METHODS)[number]): Operation["method"] {
  return UPPER[method];
}
