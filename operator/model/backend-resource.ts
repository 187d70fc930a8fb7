import * as z from "zod";
import { PROFILE_NAMES, profileSchema } from "../../contract/profile.ts";
import { durationSchema } from "./duration.ts";
import { must } from "./field-message.ts";

/** The client interfaces and upstream protocols as manifests name them. */
export const INTERFACES = ["ChatCompletions", "Messages"] as const;

const secretName = z
  .string(must("be the name of a Secret"))
  .regex(/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/, "must be the name of a Secret: lower-case letters, digits, - and .")
  .max(253, "must be at most 253 characters");
const secretKey = z.string(must("be a key of the Secret")).min(1, "must be a key of the Secret");

/** One server that answers for a Model. */
export const backendResourceSchema = z
  .strictObject(
    {
      name: z
        .string(must("be a string"))
        .regex(/^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/, "must be lower-case letters, digits and -, such as primary")
        .max(63, "must be at most 63 characters"),
      protocol: z.enum(INTERFACES, must("be ChatCompletions or Messages: what the server behind url speaks")),
      /** What an SDK takes as base address: with `/v1` for ChatCompletions, without for Messages. */
      url: z.string(must("be a URL")).max(512, "must be at most 512 characters"),
      /** The model's name at the upstream; the Model's own where absent. */
      upstreamModel: z
        .string(must("be a string"))
        .min(1, "must not be empty")
        .max(256, "must be at most 256 characters")
        .optional(),
      weight: z
        .int(must("be a whole number from 0 to 1000000"))
        .min(0, "must be 0 or more")
        .max(1_000_000, "must be at most 1000000")
        .default(1),
      /** 0 is used first. */
      priority: z
        .int(must("be a whole number from 0 to 15"))
        .min(0, "must be 0 or more")
        .max(15, "must be at most 15")
        .default(0),
      credentialRef: z
        .strictObject(
          { name: secretName, key: secretKey.default("api-key") },
          must("name a Secret: name, and key if it is not api-key"),
        )
        .optional(),
      tls: z
        .strictObject(
          {
            serverName: z
              .string(must("be a host name"))
              .min(1, "must not be empty")
              .max(253, "must be at most 253 characters")
              .optional(),
            caSecretRef: z.strictObject({ name: secretName, key: secretKey.default("ca.crt") }, must("name a Secret")).optional(),
          },
          must("hold serverName or caSecretRef"),
        )
        .optional(),
      timeouts: z
        .strictObject(
          {
            /** To open a connection. */
            connect: durationSchema({ minimumMs: 100, maximumMs: 60_000, claim: "from 100ms to 60s" }).optional(),
          },
          must("hold connect"),
        )
        .optional(),
      /** What the server accepts beyond its protocol's core: a preset, and single flags that differ from it. */
      profile: z
        .strictObject(
          {
            preset: z.enum(PROFILE_NAMES, must(`be one of ${PROFILE_NAMES.join(", ")}`)).optional(),
            ...profileSchema.partial().shape,
          },
          must("hold preset or single flags"),
        )
        .optional(),
    },
    must("be a list of backends, each with name, protocol and url"),
  )
  .superRefine((backend, context) => {
    const refuse = (message: string) => context.addIssue({ code: "custom", path: ["url"], message });
    const url = URL.canParse(backend.url) ? new URL(backend.url) : null;
    if (url === null || (url.protocol !== "http:" && url.protocol !== "https:")) {
      return refuse("must be an absolute http or https URL such as https://models.example.com/v1");
    }
    if (url.username !== "" || url.password !== "")
      return refuse("must not carry a credential; put it in a Secret and name that in credentialRef");
    if (url.search !== "" || url.hash !== "") return refuse("must not carry a query or a fragment");
    if (/\/(chat\/completions|messages)\/*$/.test(url.pathname))
      return refuse("must be the base address only; the gateway appends the rest");
    if (backend.protocol === "Messages" && /\/v1\/*$/.test(url.pathname)) {
      return refuse("must end before /v1 for protocol Messages; the gateway appends /v1/messages");
    }
    if (backend.tls !== undefined && url.protocol !== "https:") {
      context.addIssue({ code: "custom", path: ["tls"], message: "needs an https url" });
    }
  });

export type BackendResource = z.infer<typeof backendResourceSchema>;
