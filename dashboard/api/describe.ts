import type { FastifyDynamicSwaggerOptions } from "@fastify/swagger";

/** The head of the API's description; what is below it follows from the routes. */
export function describeApi(publicBaseUrl: string): Pick<FastifyDynamicSwaggerOptions, "openapi"> {
  return {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Model Gateway management API",
        version: "1",
        description:
          "Keys, usage and credit of one account. Money is a decimal string of USD, a moment is ISO 8601 in UTC, a day is a UTC day. " +
          "Lists come in pages: send `next_cursor` of one page as `cursor` to get the next.",
      },
      servers: [{ url: publicBaseUrl }],
      tags: [
        { name: "Account" },
        { name: "Keys", description: "API keys, with which models are called." },
        { name: "Usage", description: "What was used, and what it cost." },
        { name: "Credit" },
        { name: "Models" },
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
