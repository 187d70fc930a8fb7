import type { OfferedModel } from "../../models.ts";
import type { Context } from "./context.ts";
import { findTools } from "./find-tools.ts";
import type { Options } from "./options.ts";
import { Refused, Stopped } from "./refused.ts";
import type { InstallableTool } from "./served.ts";
import type { Terminal } from "./terminal.ts";

export interface Choice {
  tool: InstallableTool;
  /** Empty if nobody chose one. */
  interface: string;
  model: string;
}

/** The tools to set up, from the options or from the answers. */
export async function chooseTools(context: Context, options: Options, terminal: () => Terminal): Promise<Choice[]> {
  const found = findTools(context);
  const chosen = (tool: InstallableTool): Choice => ({ tool, interface: "", model: "" });
  if (options.tools === "all") return found.map(chosen);
  if (options.tools !== "") return namedTools(context, options.tools);
  if (found.length === 0) {
    context.print("No supported tool was found on this machine. Choose one with --tools; --list shows them.");
    return [];
  }
  for (const { name, id } of found) context.print(`  found: ${name} (${id})`);
  if (options.isYes || options.isDryRun) return found.map(chosen);
  const choices: Choice[] = [];
  for (const tool of found) {
    if (!isYes(await terminal().ask(`Set up ${tool.name}? [Y/n] `))) continue;
    choices.push(await askChoice(context, { tool, options, terminal: terminal() }));
  }
  return choices;
}

export function isYes(answer: string): boolean {
  return answer === "" || /^y/i.test(answer);
}

function namedTools({ served }: Context, names: string): Choice[] {
  return names.split(",").map((each) => {
    const [id = "", speaks = "", ...model] = each.split(":");
    const tool = served.tools.find((one) => one.id === id);
    if (tool === undefined) {
      const known = served.tools.map((one) => one.id).join(" ");
      throw new Stopped(`There is no tool "${id}". Available: ${known}`);
    }
    return { tool, interface: speaks, model: model.join(":") };
  });
}

async function askChoice(
  context: Context,
  { tool, options, terminal }: { tool: InstallableTool; options: Options; terminal: Terminal },
): Promise<Choice> {
  const [first = ""] = tool.interfaces;
  const speaks =
    options.interface !== "" || tool.interfaces.length === 1
      ? options.interface
      : await askWord(terminal, `  Interface (${tool.interfaces.join(", ")})`, first);
  const names = context.served.models.filter(({ interfaces }) => interfaces.includes(speaks || first)).map(({ name }) => name);
  const model = options.model || (await askWord(terminal, `  Model (${names.join(" ")})`, names[0] ?? ""));
  return { tool, interface: speaks, model };
}

async function askWord(terminal: Terminal, question: string, otherwise: string): Promise<string> {
  return (await terminal.ask(`${question} [${otherwise}]: `)) || otherwise;
}

/** @throws Stopped if the tool was named with an interface that it lacks. */
export function chooseInterface({ tool, interface: named }: Choice, options: Options): string {
  const interfaces: readonly string[] = tool.interfaces;
  if (named !== "" && named !== options.interface && !interfaces.includes(named))
    throw new Stopped(`${tool.name} has no ${named} interface; it has: ${interfaces.join(", ")}.`);
  return [named, options.interface].find((each) => interfaces.includes(each)) ?? interfaces[0] ?? "";
}

/** The models of an interface that the key may use, and the default one. `/v1/models` lists only chat models. */
export function chooseModel(
  { tool, model: named }: Choice,
  {
    context,
    options,
    speaks,
    usable,
  }: { context: Context; options: Options; speaks: string; usable: ReadonlySet<string> | undefined },
): { models: OfferedModel[]; model: OfferedModel } {
  const models = context.served.models.filter(
    ({ name, interfaces }) =>
      interfaces.includes(speaks) && (usable === undefined || usable.has(name) || !interfaces.includes("chat")),
  );
  const [first] = models;
  if (first === undefined)
    throw new Refused(`${tool.name}: this key has no models on the ${speaks} interface. Its settings were not changed.`);
  const wanted = named || options.model || first.name;
  const model = models.find(({ name }) => name === wanted);
  if (model === undefined) {
    const names = models.map(({ name }) => name).join(" ");
    throw new Refused(`${tool.name}: this key has no model "${wanted}" on the ${speaks} interface. It has: ${names}`);
  }
  return { models, model };
}
