const UTF_8 = /^[ \t]*charset="?(?:utf-?8|us-ascii)"?[ \t]*$/i;

/**
 * Whether a `content-type` leaves texts in UTF-8. Servers decode fields by the charset of the form or of the part, and would read
 * other texts, prompts among them, than the gateway did.
 */
export function isUtf8Type(contentType: string): boolean {
  const [, ...parameters] = contentType.split(";");
  return parameters.every((parameter) => !/charset/i.test(parameter) || UTF_8.test(parameter));
}
