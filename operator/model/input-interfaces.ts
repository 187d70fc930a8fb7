import { INPUT_INTERFACES } from "./backend-resource.ts";

/** Interfaces whose answers have tokens. */
const WITH_OUTPUT = ["ImageGeneration", "Transcription"] as const satisfies (typeof INPUT_INTERFACES)[number][];

export function isInputInterfaceName(name: unknown): boolean {
  return INPUT_INTERFACES.some((each) => each === name);
}

/** Whether answers of the input interface that is named have tokens. */
export function hasOutput(interfaces: readonly unknown[]): boolean {
  return WITH_OUTPUT.some((each) => interfaces.includes(each));
}

/** Whether a list names an input interface, as an expression for the API server. */
export function anyOf(names: string): string {
  return `(${INPUT_INTERFACES.map((each) => `"${each}" in ${names}`).join(" || ")})`;
}

const INPUT = `has(self.interfaces) && ${anyOf("self.interfaces")}`;
const OUTPUT = `has(self.interfaces) && (${namesOf(WITH_OUTPUT)})`;
const INPUT_ONLY = `has(self.interfaces) && (${namesOf(INPUT_INTERFACES.filter((each) => !hasOutput([each])))})`;

/** Rules for the API server that bind Models of some interfaces: inputs, those of them with or without output, all others. */
export const ofInput = (rule: string) => `!(${INPUT}) || ${rule}`;
export const ofOutput = (rule: string) => `!(${OUTPUT}) || ${rule}`;
export const ofInputOnly = (rule: string) => `!(${INPUT_ONLY}) || ${rule}`;
export const ofOthers = (rule: string) => `(${INPUT}) || ${rule}`;

/** Whether the Model serves one interface, as an expression for the API server. */
export function isOf(name: (typeof INPUT_INTERFACES)[number]): string {
  return `(has(self.interfaces) && "${name}" in self.interfaces)`;
}

function namesOf(interfaces: readonly string[]): string {
  return interfaces.map((each) => `"${each}" in self.interfaces`).join(" || ");
}
