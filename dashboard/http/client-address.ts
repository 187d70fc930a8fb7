import type { FastifyRequest } from "fastify";
import { withoutPorts } from "../../runtime/trusted-proxies.ts";

/** Before anything asks for `request.ip`, which the framework reads from this header. */
export async function forgetPorts({ raw }: FastifyRequest): Promise<void> {
  const forwarded = raw.headers["x-forwarded-for"];
  if (typeof forwarded === "string") raw.headers["x-forwarded-for"] = withoutPorts(forwarded);
}
