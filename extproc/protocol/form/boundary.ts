import { GatewayError } from "../../../contract/errors.ts";
import { isUtf8Type } from "./charset.ts";

/** The characters of RFC 2046, which no header needs to escape. A blank may not end it. */
const BOUNDARY = /^[\w'()+,./:=? -]{0,69}[\w'()+,./:=?-]$/;
const PARAMETER = /;[ \t]*([\w-]+)=(?:"([^"\\]*)"|([^\s";]+))[ \t]*/gy;
const FORM = /^multipart\/form-data[ \t]*$/i;

/**
 * The line between the parts of a form.
 * @returns undefined if the header names another type.
 * @throws GatewayError `invalid_request` for a form whose parts cannot be told apart.
 */
export function readBoundary(contentType: string): string | undefined {
  const [type = ""] = contentType.split(";", 1);
  if (!FORM.test(type)) return undefined;
  if (!isUtf8Type(contentType))
    throw new GatewayError("invalid_request", "`content-type` has a `charset`, and a form's texts are UTF-8. Leave it out.", {
      field: "content-type",
    });
  const boundaries: string[] = [];
  let end = type.length;
  for (const match of contentType.slice(type.length).matchAll(PARAMETER)) {
    const [whole, name = "", quoted, token] = match;
    end += whole.length;
    if (name.toLowerCase() === "boundary") boundaries.push(quoted ?? token ?? "");
  }
  const [boundary = ""] = boundaries;
  if (end === contentType.length && boundaries.length === 1 && BOUNDARY.test(boundary)) return boundary;
  throw new GatewayError(
    "invalid_request",
    "`content-type` has no valid `boundary`. Let your HTTP client write this header for the form that it sends.",
    { field: "content-type" },
  );
}
