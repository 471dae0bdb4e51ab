import {type ChildProcess, spawn} from 'node:child_process';
import {readFileSync, rmSync} from 'node:fs';
import {mkdtemp} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {Agent, request} from 'undici';

/** A program of plat started for a measurement. */
export interface Running {
  readonly child: ChildProcess;
  readonly url: string;
  /** Time in ms from the start of the process to its line that begins with `ready`. */
  readonly readyMs: number;
  readonly pki: {readonly ca: string; readonly cert: string; readonly key: string};
  readonly directory: string;
  /** Resident memory in MB. */
  residentMb(): number;
  stop(): Promise<void>;
}

const programPath = (program: string): string => fileURLToPath(new URL(`../../bin/${program}`, import.meta.url));

/** A directory that is removed when the benchmark ends. */
export const scratch = async (): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'plat-bench-'));
  process.once('exit', () => rmSync(directory, {recursive: true, force: true}));
  return directory;
};

/** Starts a program and resolves when it prints its line that begins with `ready`. */
export const start = async (program: string, args: readonly string[], directory: string): Promise<Running> => {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [programPath(program), ...args], {stdio: ['ignore', 'pipe', 'pipe']});
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const url = await new Promise<string>((resolve, reject) => {
    let text = '';
    child.stdout.on('data', (chunk: Buffer) => {
      text += chunk.toString();
      const match = /^ready.*?(https:\/\/\S+?)(?:[\s;]|$)/m.exec(text);
      if (match) resolve(match[1]!);
    });
    child.once('exit', code => reject(new Error(`${program} ended with ${code}: ${errors}`)));
  });
  const readyMs = performance.now() - startedAt;
  const file = (name: string) => {
    try {
      return readFileSync(join(directory, 'pki', name), 'utf8');
    } catch {
      return '';
    }
  };
  return {
    child,
    url,
    readyMs,
    directory,
    pki: {ca: file('ca.crt'), cert: file('admin.crt'), key: file('admin.key')},
    residentMb: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024,
    stop: () =>
      new Promise(resolve => {
        child.once('exit', () => resolve());
        child.kill('SIGTERM');
      }),
  };
};

/** Starts `plat up` in a new directory. */
export const startPlane = async (directory?: string, args: readonly string[] = []): Promise<Running> => {
  const place = directory ?? (await scratch());
  return start('plat', ['up', '--data-dir', place, '--secure-port', '0', ...args], place);
};

/** Calls a running server as its administrator. */
export const caller = ({
  url,
  pki,
}: Running): ((method: string, path: string, body?: unknown) => Promise<{status: number; text: string}>) => {
  const dispatcher = new Agent({connections: 64, connect: {ca: pki.ca, cert: pki.cert, key: pki.key}});
  return async (method, path, body) => {
    const response = await request(`${url}${path}`, {
      method: method as 'GET',
      dispatcher,
      headers: {'content-type': 'application/json', accept: 'application/json'},
      ...(body === undefined ? {} : {body: JSON.stringify(body)}),
    });
    return {status: response.statusCode, text: await response.body.text()};
  };
};
