import * as z from "zod";
import { must } from "./field-message.ts";

/** A moment, as RFC 3339 writes it. */
export const time = z.iso.datetime({ offset: true, ...must('be a time such as "2027-01-31T00:00:00Z"') });
