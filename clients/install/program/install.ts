import { chooseTools } from "./choose.ts";
import { shownCommand, type Context } from "./context.ts";
import { checkKey, readKey } from "./key.ts";
import { helpText, readOptions, type Options } from "./options.ts";
import { createRecord, type ChangeRecord } from "./record.ts";
import { Stopped } from "./refused.ts";
import { counted, filesOf, setUpTool } from "./set-up.ts";
import { openTerminal, type Terminal } from "./terminal.ts";
import { uninstall } from "./uninstall.ts";
import { clearVariables } from "./variables.ts";

/** Runs the installer; returns its exit code. */
export async function runInstaller(words: readonly string[], context: Context): Promise<number> {
  try {
    const options = readOptions(words);
    const record = createRecord(context.state);
    if (options.show === "help") context.print(helpText({ baseUrl: context.served.baseUrl, state: context.state }));
    else if (options.show === "list") for (const { id, name } of context.served.tools) context.print(`${id.padEnd(14)} ${name}`);
    else if (options.isUninstall) uninstall(context, record, options);
    else await install(context, options, record);
    return 0;
  } catch (error) {
    if (!(error instanceof Stopped)) throw error;
    context.warn(error.message);
    return 1;
  }
}

async function install(context: Context, options: Options, record: ChangeRecord): Promise<void> {
  context.print(`Model Gateway at ${context.served.baseUrl}`);
  // Opened at the first question, once.
  let opened: Terminal | undefined;
  const terminal = (): Terminal | undefined => (opened ??= openTerminal(context.platform));
  try {
    const choices = await chooseTools(context, options, () => {
      const found = terminal();
      if (found !== undefined) return found;
      throw new Stopped(
        "There is no terminal for questions: run it with --yes, or name the tools with --tools and set MODEL_GATEWAY_API_KEY.",
      );
    });
    if (choices.length === 0) {
      context.print("No tool was chosen: nothing was changed.");
      return;
    }
    const needsTerminal = !options.isDryRun && !context.environment["MODEL_GATEWAY_API_KEY"];
    const key = options.isDryRun ? "" : await readKey(context, needsTerminal ? terminal() : undefined);
    const usable = options.isDryRun ? undefined : await checkKey(context, key);
    let failures = 0;
    let skipped = 0;
    for (const choice of choices) {
      const outcome = setUpTool(choice, { context, options, record, key, usable });
      if (outcome === "skipped") skipped++;
      else failures += outcome;
    }
    const names = [...new Set(choices.flatMap(({ tool }) => tool.clear))].sort();
    const asks = !options.isYes && options.tools === "" && !options.isDryRun;
    failures += await clearVariables({ context, options, record, names, terminal: asks ? terminal() : undefined });
    const cannot = options.isDryRun ? "cannot" : "could not";
    const problems = [
      ...(skipped > 0 ? [`${counted(skipped, "tool")} ${cannot} be set up, for the reasons above.`] : []),
      ...(failures > 0 ? [`${filesOf(failures)} ${cannot} be changed: the manual steps are shown above.`] : []),
    ];
    if (problems.length > 0) throw new Stopped(problems.join("\n"));
    if (options.isDryRun) context.print("This was a dry run: nothing was changed.");
    else context.print(`Done. To undo it: ${shownCommand(context, { unix: "--uninstall", windows: "-Uninstall" })}`);
  } finally {
    opened?.close();
  }
}
