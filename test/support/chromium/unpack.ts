import path from "node:path";
import { fileURLToPath } from "node:url";
import { inflate } from "@sparticuz/chromium";

/** Run by itself, with TMPDIR as the folder to unpack into: the package knows no other way to be told one. */
const packed = fileURLToPath(new URL("../bin", import.meta.resolve("@sparticuz/chromium")));
// The browser; libraries that a small machine lacks; a font.
for (const name of ["chromium.br", "al2023.tar.br", "fonts.tar.br"]) await inflate(path.join(packed, name));
