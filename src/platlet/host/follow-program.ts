// Programs that run beside this process, whose lines are heard. They end with it, however it ends.

import {spawn} from 'node:child_process';
import {createInterface} from 'node:readline';
import {confineErrors} from '#src/base/emitters/confined.js';
import type {ProgramListener} from './host.js';

/** Starts a program with an open input. Disposing of it closes the input and ends it. */
export const followProgram = (program: string, args: readonly string[], listener: ProgramListener): Disposable => {
  const child = confineErrors(spawn('setpriv', ['--pdeathsig', 'TERM', program, ...args], {stdio: ['pipe', 'pipe', 'pipe']}));
  let isStopped = false;
  let failure: string | undefined;
  child.stdin.on('error', () => {});
  for (const stream of [child.stdout, child.stderr])
    createInterface({input: stream}).on('line', line => {
      if (!isStopped) listener.line(line);
    });
  child.once('error', ({message}) => (failure = message));
  child.once('close', (code, signal) => {
    if (!isStopped) listener.ended(failure ?? (signal ? `${program} ended: ${signal}` : `${program} ended: exit status ${code}`));
  });
  return {
    [Symbol.dispose]() {
      isStopped = true;
      child.stdin.end();
      child.kill();
    },
  };
};
