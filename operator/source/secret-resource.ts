import * as z from "zod";
import { describeProblems, must } from "../model/field-message.ts";
import { metadataSchema } from "../model/resource.ts";

const base64 = z
  .string(must("be base64 text"))
  .regex(/^[A-Za-z0-9+/\s]*={0,2}\s*$/, "must be base64; plain text belongs in stringData")
  .transform((text) => Buffer.from(text, "base64").toString("utf8"));

const secretSchema = z
  .strictObject(
    {
      apiVersion: z.literal("v1", must("be v1")),
      kind: z.literal("Secret", must("be Secret")),
      metadata: metadataSchema,
      type: z.string(must("be a string")).optional(),
      immutable: z.boolean(must("be true or false")).optional(),
      data: z.record(z.string(), base64, must("map keys to base64 values")).default({}),
      stringData: z.record(z.string(), z.string(must("be a string; put it in quotes")), must("map keys to values")).default({}),
    },
    must("be a Secret"),
  )
  .transform(({ metadata, data, stringData }) => ({
    metadata,
    // Merged as the API server does: stringData wins.
    values: new Map(Object.entries({ ...data, ...stringData })),
  }));

/** A Kubernetes Secret: values by key. */
export type SecretResource = z.infer<typeof secretSchema>;

export type ParsedSecret = { kind: "good"; resource: SecretResource } | { kind: "bad"; problems: string[] };

/** Validates a Secret manifest. No problem text ever contains a value. */
export function parseSecretResource(document: unknown): ParsedSecret {
  const result = secretSchema.safeParse(document);
  return result.success ? { kind: "good", resource: result.data } : { kind: "bad", problems: describeProblems(result.error) };
}
