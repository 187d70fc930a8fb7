import type { FastifyReply, FastifyRequest } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { sendPage } from "./reply.ts";

/** What a form said, to be shown again beside what was wrong with it. */
export interface FormState {
  values: Readonly<Record<string, string>>;
  /** By field; "" is about the form as a whole. */
  problems: Readonly<Record<string, string>>;
  /** Headers of an answer that asks to wait: 429 instead of the page's usual status. */
  wait?: Readonly<Record<string, string>>;
}

export const EMPTY_FORM: FormState = { values: {}, problems: {} };

/** Postgres takes no NUL in a text, and no form of ours sends one. */
const text = z.string().refine((value) => !value.includes("\0"));
const bodySchema = z.record(z.string(), z.union([text, z.array(text)]));

/** The fields of a form; of a field that came several times all values, joined by commas. */
export function readForm(request: FastifyRequest): Record<string, string> {
  const body = bodySchema.safeParse(request.body ?? {});
  if (!body.success) throw new GatewayError("invalid_request", "This form could not be read.");
  return Object.fromEntries(
    Object.entries(body.data).map(([name, value]) => [name, typeof value === "string" ? value.trim() : value.join(",")]),
  );
}

/**
 * Runs what a form asks for. What its sender can mend is said beside the field; passwords are not shown again.
 * @returns undefined when it went well.
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

/** The page again, with what was wrong; `status` where nothing but the form was. */
export function refuseForm(reply: FastifyReply, page: string, { form, status = 400 }: { form: FormState; status?: number }) {
  if (form.wait === undefined) return sendPage(reply, page, status);
  return sendPage(reply.headers(form.wait), page, 429);
}

function problemsOf(error: unknown): Record<string, string> | undefined {
  if (error instanceof z.ZodError) return Object.fromEntries(error.issues.map(({ path, message }) => [path.join("."), message]));
  if (error instanceof GatewayError && error.status < 500) return { [error.field ?? ""]: error.message };
  return undefined;
}

function withoutPasswords(values: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(values).filter(([name]) => !/password|current|code/i.test(name)));
}

/** A text of the address's query; "" where it is absent or given several times. */
export function readQuery(request: FastifyRequest, name: string): string {
  const query = z.looseObject({ [name]: text }).safeParse(request.query);
  const value = query.success ? query.data[name] : undefined;
  return typeof value === "string" ? value : "";
}
