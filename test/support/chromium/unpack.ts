import path from "node:path";
import { fileURLToPath } from "node:url";
import { inflate } from "@sparticuz/chromium";

/** Runs as a process of its own with TMPDIR as the target folder: the package takes it in no other way. */
const packed = fileURLToPath(new URL("../bin", import.meta.resolve("@sparticuz/chromium")));
// The browser; libraries that a small machine lacks; a font.
for (const name of ["chromium.br", "al2023.tar.br", "fonts.tar.br"]) await inflate(path.join(packed, name));
