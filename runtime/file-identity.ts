import { stat } from "node:fs/promises";

/** Which file or directory has this name now, or which one a link of this name leads to; undefined if there is none. */
export async function identityOf(file: string): Promise<string | undefined> {
  return stat(file).then(
    ({ dev, ino }) => `${dev} ${ino}`,
    () => undefined,
  );
}
