import type { FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { sendPage } from "./reply.ts";

/** The values of a form, to be shown again next to its errors. */
export interface FormState {
  values: Readonly<Record<string, string>>;
  /** By field; "" is for the form as a whole. */
  problems: Readonly<Record<string, string>>;
  /** Headers of an answer that asks to wait: it is a 429 instead of the page's usual status. */
  wait?: Readonly<Record<string, string>>;
}

export const EMPTY_FORM: FormState = { values: {}, problems: {} };

/** Postgres rejects a NUL in a text, and none of our forms sends one. */
const text = z.string().refine((value) => !value.includes("\0"));
const bodySchema = z.record(z.string(), z.union([text, z.array(text)]));

/** The fields of a form; repeated fields are joined by commas. */
export function readForm(request: FastifyRequest): Record<string, string> {
  const body = bodySchema.safeParse(request.body ?? {});
  if (!body.success) throw new GatewayError("invalid_request", "This form could not be read.");
  return Object.fromEntries(
    Object.entries(body.data).map(([name, value]) => [name, typeof value === "string" ? value.trim() : value.join(",")]),
  );
}

/**
 * Runs the action of a form. Errors that the sender can fix are shown next to the field; passwords are not shown again.
 * @returns undefined on success.
 */
export async function submitForm(values: Record<string, string>, work: () => Promise<void>): Promise<FormState | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    const problems = problemsOf(error);
    if (problems === undefined) throw error;
    const isTooMany = error instanceof GatewayError && error.code === "rate_limited";
    return { values: withoutPasswords(values), problems, ...(isTooMany ? { wait: error.headers } : {}) };
  }
}

/** The page again, with the errors; `status` applies if only the form was wrong. */
export function refuseForm(reply: FastifyReply, page: string, { form, status = 400 }: { form: FormState; status?: number }) {
  if (form.wait === undefined) return sendPage(reply, page, status);
  return sendPage(reply.headers(form.wait), page, 429);
}

function problemsOf(error: unknown): Record<string, string> | undefined {
  if (error instanceof z.ZodError) return Object.fromEntries(error.issues.map(({ path, message }) => [path.join("."), message]));
  if (error instanceof GatewayError && error.status < 500) return { [error.field ?? ""]: error.message };
  return undefined;
}

/** Whole names: `concurrentRequests` contains `current`. */
const SECRET_FIELD = /^(password|current|code|secret(_\w+)?)$/;

function withoutPasswords(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !SECRET_FIELD.test(name)));
}

/** A text in the query; "" if it is missing or repeated. */
export function readQuery(request: FastifyRequest, name: string): string {
  const query = z.looseObject({ [name]: text }).safeParse(request.query);
  const value = query.success ? query.data[name] : undefined;
  return typeof value === "string" ? value : "";
}
