// Commands of `plat` in this process: starting a program takes a fifth of a second of processor time.

import {AsyncLocalStorage} from 'node:async_hooks';
import {join} from 'node:path';
import type {NamingName} from '#src/api/naming.js';
import {systemClock} from '#src/base/clock.js';
import {noLog} from '#src/base/log.js';
import type {Client} from '#src/client/client.js';
import {UnhandledErrors} from '#src/observe/unhandled.js';
import {Verbosity} from '#src/observe/verbosity.js';
import type {FlagTable} from '#src/options/flag.js';
import {parseArguments, type ParsedArguments} from '#src/options/grammar.js';
import {parseAssignments} from '#src/options/parse.js';
import {versionInfoOf} from '#src/options/parsed-options.js';
import {oneLine, type Invocation} from '#src/program/program.js';
import {startPlane} from '#src/plane/plane.js';
import {aDirectory, type Ended} from './programs.js';

/** What is printed by what a test runs. */
const printing = new AsyncLocalStorage<{stdout: string; stderr: string}>();

for (const name of ['stdout', 'stderr'] as const) {
  const stream = process[name];
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean;
  stream.write = (...args: unknown[]) => {
    const printed = printing.getStore();
    if (!printed) return write(...args);
    printed[name] += String(args[0]);
    return true;
  };
}

/** Runs a function as if it were a program: resolves with what it prints, and with its exit code. */
export const printedBy = async (act: () => Promise<number | void>): Promise<Ended> => {
  const printed = {stdout: '', stderr: ''};
  const code = (await printing.run(printed, act)) ?? 0;
  return {code, ...printed};
};

/** An API server in this process, without controllers, and an administrator's settings file. */
export interface ServerHere extends AsyncDisposable {
  readonly settings: string;
  readonly client: Client;
}

export const aServerHere = async (naming: NamingName): Promise<ServerHere> => {
  const settings = join(aDirectory(), 'settings');
  const plane = await startPlane({naming, kubeconfig: settings, controllers: 'none'});
  return {settings, client: plane.client(), [Symbol.asyncDispose]: () => plane.stop()};
};

/** A command with its flags, which is given what src/program/program.ts gives it, and fails as there. */
export const commandHere =
  <R>(
    table: FlagTable<R>,
    run: (invocation: Invocation<R>) => Promise<number | void>,
    read: (argv: readonly string[]) => ParsedArguments | Promise<ParsedArguments> = argv =>
      parseArguments(table as unknown as FlagTable, argv),
  ) =>
  (...args: readonly string[]): Promise<Ended> =>
    printedBy(async () => {
      const alive = setInterval(() => {}, 60_000); // As a program is: the clock's timers do not keep a process alive.
      try {
        const parsed = parseAssignments(table, await read(args));
        const print = (line: string) => void process.stdout.write(`${line}\n`);
        return await run({
          parsed,
          log: noLog,
          clock: systemClock,
          unhandled: new UnhandledErrors(noLog),
          verbosity: new Verbosity(0),
          version: versionInfoOf(parsed),
          stopping: new AbortController().signal,
          print,
          ready: what => print(`ready: ${String(what)}`),
        });
      } catch (error) {
        process.stderr.write(`${table.program}: ${oneLine(error)}\n`);
        return 1;
      } finally {
        clearInterval(alive);
      }
    });
