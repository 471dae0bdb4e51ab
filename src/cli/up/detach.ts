// `plat up --detach`: starts the same command in the background and waits until its plane is ready.

import {spawn, type ChildProcess} from 'node:child_process';
import {once} from 'node:events';
import {closeSync, openSync, statSync} from 'node:fs';
import {dirname, join, resolve} from 'node:path';
import {confineErrors} from '#src/base/emitters/confined.js';
import {makeFolder} from '#src/base/files/folder.js';
import {shellQuoted} from '#src/base/text/shell-quoted.js';
import {argumentOf, type Assignment} from '#src/options/grammar.js';
import {lastLines} from '#src/cli/planes/log-text.js';
import type {UpInvocation} from './up.js';
import {dataDirOf} from './name.js';
import {ownProgram} from '#src/cli/program/executable.js';

/** The number of lines of the log that are printed when the plane does not start. */
const shownLines = 20;

/** What a plane in the background prints when it is ready. */
interface ReadyLine {
  readonly address: string;
  readonly name: string;
  readonly naming: string;
  readonly pid: number;
  readonly kubeconfig: string;
  readonly dataDir: string;
  readonly logFile: string;
  readonly console?: string;
}

/**
 * Starts a plane in the background. Returns the exit code: 1 when it does not become ready, with the end of its log.
 */
export const runDetached = async ({parsed: {options, assignments}, print, stopping}: UpInvocation): Promise<number> => {
  const logFile = resolve(options.logFile || join(dataDirOf(options), 'plat.log'));
  makeFolder(dirname(logFile));
  const begin = statSync(logFile, {throwIfNoEntry: false})?.size ?? 0;
  const child = background(assignments, logFile);
  const end = () => child.kill('SIGTERM');
  stopping.addEventListener('abort', end, {once: true});
  const line = await Promise.race([readyLine(child), once(child, 'exit').then(() => undefined)]);
  if (line) {
    stopping.removeEventListener('abort', end);
    print(options.output === 'json' ? JSON.stringify(line) : describe(line));
    child.stdout?.destroy();
    child.unref();
    return 0;
  }
  const lines = lastLines(logFile, shownLines, begin);
  process.stderr.write(`plat up: the plane did not start; its log ${logFile} ends with:\n${lines}`);
  return 1;
};

const describe = ({address, name, naming, kubeconfig, console}: ReadyLine): string =>
  `ready: ${address} (${naming} naming) runs in the background as ${name}; kubectl --kubeconfig ${shellQuoted(kubeconfig)} get namespaces${console === undefined ? '' : `\nconsole: ${console}`}`;

/** Starts this program again, without a terminal, with its output in the log file. */
const background = (assignments: readonly Assignment[], logFile: string): ChildProcess => {
  const kept = assignments.filter(({flag}) => !['detach', 'output', 'log-file', 'config'].includes(flag)).map(argumentOf);
  const args = [...process.execArgv, ownProgram(), 'up', ...kept, '--output=json', `--log-file=${logFile}`];
  const file = openSync(logFile, 'a', 0o600);
  try {
    return confineErrors(spawn(process.execPath, args, {detached: true, stdio: ['ignore', 'pipe', file]}));
  } finally {
    closeSync(file);
  }
};

/** Resolves to the line that a plane prints when it is ready; never without one. */
const readyLine = (child: ChildProcess): Promise<ReadyLine> =>
  new Promise(resolve => {
    let text = '';
    child.stdout!.setEncoding('utf8').on('data', (part: string) => {
      text += part;
      const line = text
        .split('\n')
        .slice(0, -1)
        .find(each => each.startsWith('{"ready":true'));
      if (line !== undefined) resolve(JSON.parse(line) as ReadyLine);
    });
  });
