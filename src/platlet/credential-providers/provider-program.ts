// Runs the program of a credential provider: the request is its input, the response its output.

import {spawn} from 'node:child_process';
import {confineErrors} from '#src/base/emitters/confined.js';
import type {Clock} from '#src/base/clock.js';

export interface ProviderCall {
  readonly path: string;
  readonly args: readonly string[];
  /** Added to the environment of this process, over which they take precedence. */
  readonly env: readonly {readonly name: string; readonly value: string}[];
  readonly input: string;
}

const timeoutMs = 60_000;
/** Much more than any response; the program ends if it prints more. */
const maxBytes = 4 * 1024 * 1024;

/** Runs a program, and resolves to what it printed. Rejects, with its error output, if it fails or takes a minute. */
export const runProvider = async ({path, args, env, input}: ProviderCall, clock: Clock): Promise<string> => {
  const ending = new AbortController();
  using _ = clock.schedule(timeoutMs, () => ending.abort(new Error('context deadline exceeded')));
  const child = confineErrors(
    spawn(path, args, {
      env: {...process.env, ...Object.fromEntries(env.map(({name, value}) => [name, value]))},
      stdio: ['pipe', 'pipe', 'pipe'],
      signal: ending.signal,
      killSignal: 'SIGKILL',
    }),
  );
  const kept = (stream: NodeJS.ReadableStream): Buffer[] => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    stream.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > maxBytes) ending.abort(new Error(`more than ${maxBytes} bytes of output`));
      else chunks.push(chunk);
    });
    return chunks;
  };
  const [stdout, stderr] = [kept(child.stdout), kept(child.stderr)];
  // A program that does not read its input is no failure.
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  await new Promise<void>((resolve, reject) => {
    const failed = (text: string): void => reject(new Error(`${text}: ${Buffer.concat(stderr).toString()}`));
    child.on('error', error => failed((ending.signal.aborted ? (ending.signal.reason as Error) : error).message));
    child.on('close', (code, signal) => {
      if (ending.signal.aborted) failed((ending.signal.reason as Error).message);
      else if (code === 0) resolve();
      else failed(code === null ? `signal: ${String(signal)}` : `exit status ${code}`);
    });
  });
  return Buffer.concat(stdout).toString();
};
