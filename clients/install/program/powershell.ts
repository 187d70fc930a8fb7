import type { Operation } from "../../operations.ts";

/** A shell's statement about a variable, in PowerShell. */
export function inPowerShell(operation: Operation): Operation {
  const [, cleared] = /^unset (\w+)$/.exec(operation.value) ?? [];
  if (cleared !== undefined) return { ...operation, value: `Remove-Item Env:${cleared} -ErrorAction SilentlyContinue` };
  const [, name, value] = /^export (\w+)=(.*)$/.exec(operation.value) ?? [];
  return name === undefined ? operation : { ...operation, value: `$env:${name} = '${value ?? ""}'` };
}
