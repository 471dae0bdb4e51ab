import {spawn, type ChildProcess} from 'node:child_process';
import {once} from 'node:events';
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {isAbsolute, join} from 'node:path';
import {naming as namingOf, type NamingName} from '#src/api/naming.js';
import {systemClock} from '#src/base/clock.js';
import {noMeter} from '#src/base/meter.js';
import type {Client} from '#src/client/client.js';
import {connectedClient} from '#src/client/connected.js';
import {kubeconfig} from '#src/plane/kubeconfig/settings.js';
import {planeMaterial, type PlaneMaterial} from '#src/plane/inputs/material.js';
import {connect} from '#src/transport/client/http-connection.js';
import {loadSettings} from '#src/transport/kubeconfig/load-settings.js';
import {killAtExit} from '#test/fixtures/kill-at-exit.js';

/** The file to run: the bundle where it is known to be current, else the compiler's output. */
export const programFile = (name: string): string => (process.env['PLAT_TEST_BUNDLES'] ? `bin/${name}` : `dist/src/cli/${name}.js`);

/** A script of a shell, by its path. */
export const shellProgram = (file: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Program =>
  new Program(file, args, env, undefined, '/bin/sh');

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** One of our programs as a process of its own. */
export class Program {
  stdout = '';
  stderr = '';
  readonly child: ChildProcess;
  readonly #ended: Promise<Ended>;
  #wake: () => void = () => {};
  #isOver = false;

  constructor(name: string, args: readonly string[], env: Readonly<Record<string, string>> = {}, cwd?: string, node = process.execPath) {
    const file = isAbsolute(name) ? name : join(process.cwd(), programFile(name));
    this.child = killAtExit(
      spawn(node, [file, ...args], {stdio: ['ignore', 'pipe', 'pipe'], env: {...process.env, ...env}, ...(cwd ? {cwd} : {})}),
    );
    this.child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.stdout += text;
      this.#wake();
    });
    this.child.stderr!.setEncoding('utf8').on('data', (text: string) => {
      this.stderr += text;
      this.#wake();
    });
    this.#ended = once(this.child, 'close').then(([code]: unknown[]) => {
      this.#isOver = true;
      this.#wake();
      return {code: code as number | null, stdout: this.stdout, stderr: this.stderr};
    });
  }

  /** Resolves with the match once either stream has printed it; rejects when the program ends without. */
  async waitFor(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.stdout) ?? pattern.exec(this.stderr);
      if (match) return match;
      if (this.#isOver) throw new Error(`ended without saying ${String(pattern)}:\n${this.stdout}\n${this.stderr}`);
      await new Promise<void>(resolve => (this.#wake = resolve));
    }
  }

  /** Resolves once it has ended and all its output was read. */
  ended(): Promise<Ended> {
    return this.#ended;
  }

  /** Sends it a signal: SIGTERM by default. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Ended> {
    this.child.kill(signal);
    return this.#ended;
  }
}

/** Runs a program to its end. */
export const run = (name: string, args: readonly string[], env?: Readonly<Record<string, string>>, cwd?: string): Promise<Ended> =>
  new Program(name, args, env, cwd).ended();

const directories: string[] = [];
process.on('exit', () => directories.forEach(directory => rmSync(directory, {recursive: true, force: true})));

/** A directory that is gone at the end. */
export const aDirectory = (): string => {
  const directory = mkdtempSync(join(tmpdir(), 'plat-test-'));
  directories.push(directory);
  return directory;
};

/** A client by a settings file, as a program would have it. */
export const clientBy = async (file: string, naming: NamingName): Promise<Client & AsyncDisposable> => {
  const connection = await connect(await loadSettings({file, env: {}}), {clock: systemClock});
  const client = connectedClient(connection, {
    clock: systemClock,
    meter: noMeter,
    naming: namingOf(naming),
    userAgent: 'test',
    timeoutMs: 10_000,
  });
  return {...client, [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose]()};
};

/** An API server as a process of its own, with RBAC, an authority of its own and an administrator's settings file. */
export interface ServerProcess extends AsyncDisposable {
  readonly directory: string;
  readonly url: string;
  readonly settings: string;
  readonly program: Program;
  readonly material: PlaneMaterial;
  readonly client: Client;
}

export const aServer = async (naming: NamingName, args: readonly string[] = []): Promise<ServerProcess> => {
  const directory = aDirectory();
  const material = await planeMaterial(join(directory, 'pki'), systemClock);
  const own = [
    '--secure-port=0',
    '--bind-address=127.0.0.1',
    `--cert-dir=${directory}/serving`,
    `--data-dir=${directory}/store`,
    `--naming=${naming}`,
  ];
  const {ca: authority, serviceAccountKey, serviceAccountPublic} = material.files;
  const accounts = [
    '--service-account-issuer=https://issuer.example.com',
    `--service-account-key-file=${serviceAccountPublic}`,
    `--service-account-signing-key-file=${serviceAccountKey}`,
  ];
  const program = new Program('plat-apiserver', [
    ...own,
    '--authorization-mode=RBAC',
    `--client-ca-file=${authority}`,
    ...accounts,
    ...args,
  ]);
  const [, url = ''] = await program.waitFor(/ready: serving on (https:\S+)/);
  const settings = join(directory, 'settings');
  const pem = (file: string) => readFileSync(file, 'utf8');
  const ca = pem(join(directory, 'serving', 'apiserver.crt'));
  writeFileSync(settings, kubeconfig({server: url, ca, certificate: pem(material.files.admin), key: pem(material.files.adminKey)}), {
    mode: 0o600,
  });
  const client = await clientBy(settings, naming);
  return {
    directory,
    url,
    settings,
    program,
    material,
    client,
    async [Symbol.asyncDispose]() {
      await client[Symbol.asyncDispose]();
      await program.stop('SIGKILL');
    },
  };
};
