import {spawn} from 'node:child_process';
import {constants} from 'node:os';
import {subcommandOf} from '#src/cli/program/subcommand.js';
import type {Invocation} from '#src/program/program.js';
import type {envtestFlags} from '#src/options/programs/envtest.js';
import {programFolder} from './folder.js';

type EnvtestInvocation = Invocation<(typeof envtestFlags)['rows']>;

/** The variable that names the folder of programs. */
const assets = 'KUBEBUILDER_ASSETS';

/**
 * `plat envtest`: prints the folder of programs for test environments, or runs a command with it. Returns the exit
 * code.
 */
export const runEnvtest = (invocation: EnvtestInvocation): Promise<number> => {
  const [command, ...args] = invocation.parsed.args;
  return subcommandOf(commands, command)(invocation, args);
};

const path = async ({print}: EnvtestInvocation, args: readonly string[]): Promise<number> => {
  if (args.length > 0) throw new Error(`unexpected argument ${JSON.stringify(args[0])}`);
  print(programFolder());
  return 0;
};

/** Runs a command until it ends, however this program is asked to stop: a signal goes to the command. */
const exec = async ({parsed: {options}, stopping}: EnvtestInvocation, [command, ...args]: readonly string[]): Promise<number> => {
  if (command === undefined) throw new Error('exec needs a command: plat envtest exec -- go test ./...');
  const env = {...process.env, [assets]: programFolder(), ...(options.controllers ? {PLAT_ENVTEST_CONTROLLERS: '1'} : {})};
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {stdio: 'inherit', env});
    stopping.addEventListener('abort', () => child.kill('SIGTERM'), {once: true});
    child.once('error', error => reject(new Error(`${command} could not be run: ${error.message}`, {cause: error})));
    child.once('exit', (code, signal) => resolve(code ?? 128 + (signal ? constants.signals[signal] : 0)));
  });
};

const commands = {path, exec};
