import * as z from "zod";
import { must } from "./field-message.ts";

const NAME = "must be the name of an InferencePool: lower-case letters, digits, - and .";

/** An InferencePool of the Gateway API Inference Extension, in the Model's namespace. */
export const poolReference = z
  .strictObject(
    {
      name: z
        .string(must("be the name of an InferencePool"))
        .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/, NAME)
        .max(253, "must be at most 253 characters")
        .describe("Name of the InferencePool."),
      pickerTls: z
        .enum(["Unverified", "Disabled"], must("be Unverified or Disabled"))
        .default("Unverified")
        .describe(
          "How Envoy reaches the pool's endpoint picker: Unverified is TLS without verification, because pickers use self-signed certificates; Disabled is plain HTTP/2.",
        ),
    },
    must("have name"),
  )
  .describe(
    "InferencePool (inference.networking.k8s.io/v1) in the Model's namespace, instead of url: its endpoint picker chooses the pod for each request.",
  );

/** The path of servers' APIs, as `url` has it for others. */
export const POOL_PATHS = { ChatCompletions: "/v1", Messages: "", Responses: "/v1" } as const;
