import {type ChildProcess, spawn} from 'node:child_process';
import {readFileSync, rmSync} from 'node:fs';
import {mkdtemp} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {Agent, request} from 'undici';

/** A server, and the CA and the administrator's certificate for it. */
export interface Server {
  readonly url: string;
  readonly pki: {readonly ca: string; readonly cert: string; readonly key: string};
}

/** A server whose programs were started for a measurement. */
export interface Running extends Server {
  /** Time in ms from the start of the process until it was ready. */
  readonly readyMs: number;
  readonly directory: string;
  /** Resident memory in MB. */
  residentMb(): number;
  /** CPU time so far in ms. */
  cpuMs(): number;
  stop(): Promise<void>;
}

const programPath = (program: string): string => fileURLToPath(new URL(`../../../bin/${program}`, import.meta.url));

/** The directories that are removed when the benchmark ends. */
const directories: string[] = [];
process.once('exit', () => directories.forEach(directory => rmSync(directory, {recursive: true, force: true})));

/** A directory that is removed when the benchmark ends. */
export const scratch = async (): Promise<string> => {
  const directory = await mkdtemp(join(tmpdir(), 'plat-bench-'));
  directories.push(directory);
  return directory;
};

/** Returns the resident memory of a process in MB. */
const residentMb = ({pid}: ChildProcess): number => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** Returns the CPU time of a process in ms. */
export const processCpuMs = (pid: number): number => {
  const [user, system] = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')
    .slice(11, 13)
    .map(Number);
  return (user! + system!) * 10;
};

/** The programs that were not stopped yet. */
const started = new Set<ChildProcess>();
const killStarted = () => {
  for (const child of started) child.kill('SIGKILL');
};
process.once('exit', killStarted);

/** Stops the programs that a failed measurement has left. */
export const stopLeftovers = async (): Promise<void> => {
  const ended = [...started].map(child => new Promise(resolve => child.once('exit', resolve)));
  killStarted();
  await Promise.all(ended);
};

/** Has a program stopped at the latest when the benchmark ends. */
export const owned = (child: ChildProcess): ChildProcess => {
  started.add(child);
  for (const event of ['exit', 'error']) child.once(event, () => started.delete(child));
  return child;
};

/** Stops a program with SIGTERM, and resolves when it has ended. */
const stopped = (child: ChildProcess): Promise<void> =>
  new Promise(resolve => {
    if (!started.has(child)) return resolve();
    child.once('exit', () => resolve());
    child.kill('SIGTERM');
  });

/** The memory and CPU time of programs together, and how to stop them, the last first. */
export const statisticsOf = (children: readonly ChildProcess[]): Pick<Running, 'residentMb' | 'cpuMs' | 'stop'> => ({
  residentMb: () => children.reduce((sum, child) => sum + residentMb(child), 0),
  cpuMs: () => children.reduce((sum, {pid}) => sum + processCpuMs(pid!), 0),
  stop: async () => {
    for (const child of children.toReversed()) await stopped(child);
  },
});

/** Starts a program and resolves when it prints its line that begins with `ready`. */
export const start = async (program: string, args: readonly string[], directory: string): Promise<Running> => {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [programPath(program), ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {...process.env, PLAT_HOME: join(tmpdir(), `plat-bench-home-${process.pid}`)},
  });
  owned(child);
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
    url,
    readyMs,
    directory,
    pki: {ca: file('ca.crt'), cert: file('admin.crt'), key: file('admin.key')},
    ...statisticsOf([child]),
  };
};

/** Starts `plat up` in a new directory. */
export const startPlane = async (directory?: string, args: readonly string[] = []): Promise<Running> => {
  const place = directory ?? (await scratch());
  return start('plat', ['up', '--data-dir', place, '--secure-port', '0', ...args], place);
};

/** Calls a server as its administrator. */
export const caller = ({url, pki}: Server): ((method: string, path: string, body?: unknown) => Promise<{status: number; text: string}>) => {
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
