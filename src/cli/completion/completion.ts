import type {FlagTable} from '#src/options/flag.js';
import {subcommandOf} from '#src/cli/program/subcommand.js';
import type {Invocation} from '#src/program/program.js';
import type {completionFlags} from '#src/options/programs/completion.js';
import {bashScript} from './bash.js';
import {completedCommands} from './commands.js';
import {fishScript} from './fish.js';
import {zshScript} from './zsh.js';

const scripts = {bash: bashScript, zsh: zshScript, fish: fishScript};

/**
 * `plat completion`: returns the command that prints the completion script of a shell for programs and commands with
 * these flags.
 */
export const completion =
  (tables: () => Promise<readonly FlagTable[]>) =>
  async ({parsed: {args}, print}: Invocation<(typeof completionFlags)['rows']>): Promise<void> => {
    const [shell, ...rest] = args;
    const script = subcommandOf(scripts, shell);
    if (rest.length > 0) throw new Error(`unexpected argument ${JSON.stringify(rest[0])}`);
    print(script(completedCommands(await tables())).trimEnd());
  };
