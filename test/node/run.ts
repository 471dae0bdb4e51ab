import {execFile} from 'node:child_process';
import {promisify} from 'node:util';

const execute = promisify(execFile);

/** Runs a program to its end and returns its output. Rejects with what it printed if it fails. */
export const run = async (program: string, ...args: readonly string[]): Promise<string> => {
  const {stdout} = await execute(program, args, {maxBuffer: 64 << 20});
  return stdout;
};
