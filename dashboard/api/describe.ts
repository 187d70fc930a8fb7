import type { FastifyDynamicSwaggerOptions } from "@fastify/swagger";
import { jsonSchemaTransform, jsonSchemaTransformObject } from "fastify-type-provider-zod";

/** The head of the API's description; the rest follows from the routes. */
export function describeApi(publicBaseUrl: string): FastifyDynamicSwaggerOptions {
  return {
    transform: jsonSchemaTransform,
    transformObject: (document) => withoutInputs(jsonSchemaTransformObject(document)),
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Model Gateway management API",
        version: "1",
        description:
          "Keys, usage and credit of one account. Amounts are decimal strings in USD, timestamps are ISO 8601 in UTC, and days are UTC days. " +
          "Lists are paged: send `next_cursor` of one page as `cursor` to get the next.",
      },
      servers: [{ url: publicBaseUrl }],
      tags: [
        { name: "Account" },
        { name: "Keys", description: "API keys for calling models." },
        { name: "Projects", description: "Named groups of keys, with usage and a budget each." },
        { name: "Usage", description: "Usage and charges." },
        { name: "Credit" },
        { name: "Budgets", description: "Alerts about monthly spend, and where events are sent." },
        { name: "Models" },
        { name: "Status" },
        { name: "Service", description: "The whole service, for administrators." },
      ],
      components: {
        securitySchemes: {
          token: { type: "http", scheme: "bearer", description: "A management token, `mgmt_…`, of the account." },
        },
      },
      security: [{ token: [] }],
    },
  };
}

type Document = ReturnType<typeof jsonSchemaTransformObject>;

/** Each named schema exists twice, as an answer and as a request; only answers are named here. */
function withoutInputs(document: Document): Document {
  const schemas = "components" in document ? document.components?.schemas : undefined;
  for (const name of Object.keys(schemas ?? {})) if (name.endsWith("Input")) delete schemas?.[name];
  return document;
}
