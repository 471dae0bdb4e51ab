import {execFile, execFileSync} from 'node:child_process';
import {mkdtempSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';

/** The exit code and output of kubectl. */
export interface Output {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const versionOf = (): number => {
  try {
    const {clientVersion} = JSON.parse(
      execFileSync('kubectl', ['version', '--client', '-o', 'json'], {encoding: 'utf8', stdio: 'pipe'}),
    ) as {clientVersion: {minor: string}};
    return Number.parseInt(clientVersion.minor, 10);
  } catch {
    return 0;
  }
};

/** The minor version of this machine's kubectl; 0 where there is none. */
export const kubectlMinor = versionOf();

if (kubectlMinor === 0) console.log('skipped: kubectl is not installed');

/** Whether kubectl is installed and not older than that; prints a message where it is too old. */
export const hasKubectl = (minor = 0): boolean => {
  if (kubectlMinor > 0 && kubectlMinor < minor) console.log(`skipped: kubectl is 1.${kubectlMinor}, and 1.${minor} is needed`);
  return kubectlMinor >= Math.max(minor, 1);
};

const settingsOfGo = ['GOGC', 'GOMAXPROCS'];

/** The path of programs, and how those in Go are run (tools/test.mjs): what tests pass on of their environment. */
export const bareEnvironment: Readonly<Record<string, string | undefined>> = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => name === 'PATH' || settingsOfGo.includes(name)),
);

/** kubectl with a home of its own, so that nothing of this machine's settings counts and nothing stays behind. */
export class Kubectl implements Disposable {
  readonly #settings: string;
  readonly #home = mkdtempSync(join(tmpdir(), 'kubectl-'));

  constructor(settings: string) {
    this.#settings = settings;
  }

  /** Runs it to its end, whatever that is. */
  try(args: string, input?: string): Promise<Output> {
    return this.run(args.split(' '), input);
  }

  run(args: readonly string[], input?: string, extra: Readonly<Record<string, string>> = {}): Promise<Output> {
    return new Promise(resolve => {
      const env = {...bareEnvironment, HOME: this.#home, KUBECONFIG: this.#settings, ...extra};
      const child = execFile('kubectl', args, {env, cwd: this.#home, timeout: 60_000, maxBuffer: 64 << 20}, (error, stdout, stderr) => {
        const code = error ? (typeof error.code === 'number' ? error.code : -1) : 0;
        resolve({code, stdout, stderr});
      });
      child.stdin?.on('error', () => {}); // A kubectl that refuses its arguments does not read.
      child.stdin?.end(input ?? '');
    });
  }

  /** Runs it and returns its output; throws its error output. */
  async ok(args: string, input?: string): Promise<string> {
    return this.okay(args.split(' '), input);
  }

  async okay(args: readonly string[], input?: string): Promise<string> {
    const {code, stdout, stderr} = await this.run(args, input);
    if (code !== 0) throw new Error(`kubectl ${args.join(' ')} ended with ${code}: ${stderr || stdout}`);
    return stdout;
  }

  [Symbol.dispose](): void {
    rmSync(this.#home, {recursive: true, force: true});
  }
}

/**
 * A table as kubectl prints it: its headings, and its rows by the first column. Columns are at least two blanks apart.
 */
export const table = (text: string): {readonly columns: readonly string[]; readonly rows: Readonly<Record<string, readonly string[]>>} => {
  const [head = [], ...rows] = text
    .trimEnd()
    .split('\n')
    .map(line => line.trimEnd().split(/\s{2,}/));
  return {columns: head, rows: Object.fromEntries(rows.map(([name = '', ...cells]) => [name, cells]))};
};
