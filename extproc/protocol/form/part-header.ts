import { isUtf8Type } from "./charset.ts";
import { malformed } from "./malformed.ts";

/** What the header of a part says about it. */
export interface PartHeader {
  name: string;
  isFile: boolean;
}

/** Names of fields, some with brackets; a name with quotes or escapes would be read differently by different servers. */
const NAME = /^[\w.[\]-]{1,128}$/;
const PARAMETER = /;[ \t]*([\w-]+\*?)=(?:"([^"\\]*(?:\\[^"\r\n][^"\\]*)*)"|([^\s";]+))[ \t]*/gy;
const FORM_DATA = /^form-data[ \t]*$/i;
const LINE = /^([\w-]+):(.*)$/;
const BLANKS = /^[ \t]+/;
/** Encodings that leave the bytes alone. */
const PLAIN_ENCODINGS: ReadonlySet<string> = new Set(["7bit", "8bit", "binary"]);

/**
 * @param text the lines before the empty one, as Latin-1.
 * @throws GatewayError `invalid_request` for what servers may read differently.
 */
export function readPartHeader(text: string): PartHeader {
  let disposition: string | undefined;
  for (const line of text.split("\r\n")) {
    // A line break alone ends a line for some servers.
    if (/[\r\n\0]/.test(line)) throw malformed("has a line break inside the header of a part");
    const [, name = "", written = ""] = LINE.exec(line) ?? [];
    const value = written.replace(BLANKS, "");
    switch (name.toLowerCase()) {
      case "":
        throw malformed("has a part with an invalid header");
      case "content-disposition":
        if (disposition !== undefined) throw malformed("has a part with two `content-disposition`");
        disposition = value;
        break;
      case "content-transfer-encoding":
        if (!PLAIN_ENCODINGS.has(value.trim().toLowerCase())) throw malformed("has an encoded part: send its bytes as they are");
        break;
      case "content-type":
        if (/^multipart\//i.test(value)) throw malformed("has parts inside a part");
        if (!isUtf8Type(value)) throw malformed("has a part with a `charset` other than UTF-8");
        break;
    }
  }
  if (disposition === undefined) throw malformed("has a part without `content-disposition`");
  return readDisposition(disposition);
}

function readDisposition(value: string): PartHeader {
  const [type = ""] = value.split(";", 1);
  if (!FORM_DATA.test(type)) throw malformed("has a part that is no `form-data`");
  const seen = new Map<string, string>();
  let end = type.length;
  for (const match of value.slice(type.length).matchAll(PARAMETER)) {
    const [whole, parameter = "", quoted, token] = match;
    end += whole.length;
    const name = parameter.toLowerCase();
    if (seen.has(name)) throw malformed(`has a part with two \`${name}\``);
    seen.set(name, quoted ?? token ?? "");
  }
  if (end !== value.length || seen.has("name*"))
    throw malformed("has a part whose `content-disposition` cannot be read: leave quotation marks out of the file's name");
  const name = seen.get("name");
  if (name === undefined || !NAME.test(name)) throw malformed("has a part without a valid name");
  return { name, isFile: seen.has("filename") || seen.has("filename*") };
}
