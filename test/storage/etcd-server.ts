import {spawn, type ChildProcess} from 'node:child_process';
import {once} from 'node:events';
import {cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {delimiter, join} from 'node:path';
import {freePort} from '#test/fixtures/free-port.js';
import {killAtExit} from '#test/fixtures/kill-at-exit.js';

/** Whether there is an etcd to test with; where there is none, why tests are skipped. */
export const hasEtcd = (process.env['PATH'] ?? '').split(delimiter).some(directory => existsSync(join(directory, 'etcd')));
export const etcdMissing = 'etcd is not installed (Debian: apt-get install etcd-server)';

export interface EtcdFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Where a member runs. */
export interface Place {
  readonly host?: string;
  /** What its command line begins with. */
  readonly command?: readonly string[];
  /** The folder of its data, which it then syncs to the disk; a temporary one without, and no syncs. */
  readonly directory?: string;
}

interface MemberOptions {
  readonly tls?: EtcdFiles | undefined;
  readonly place?: Place | undefined;
  readonly name?: string;
  readonly members?: string;
}

/** The states of the threads of a process, as in proc(5). */
const threadStates = (pid: number): readonly string[] =>
  readdirSync(`/proc/${pid}/task`).map(thread => /\) (\w)/.exec(readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8'))?.[1] ?? '');

/** A real etcd in a directory of its own, which can be killed and restarted on its data. */
export class EtcdServer {
  readonly url: string;
  readonly #directory: string;
  readonly #place: Place;
  readonly #peer: string;
  readonly #tls: EtcdFiles | undefined;
  readonly #name: string;
  /** The members of its cluster, as `--initial-cluster` lists them. */
  readonly #members: string;
  #process: ChildProcess | undefined;

  private constructor(url: string, peer: string, {tls, place = {}, name = 'one', members = `one=${peer}`}: MemberOptions = {}) {
    this.url = url;
    this.#peer = peer;
    this.#tls = tls;
    this.#place = place;
    this.#directory = place.directory ?? mkdtempSync(join(tmpdir(), 'plat-etcd-'));
    this.#name = name;
    this.#members = members;
  }

  /** Resolves once it serves; with `tls` only to clients with a certificate of that authority. */
  static async start(tls?: EtcdFiles, place?: Place): Promise<EtcdServer> {
    const server = new EtcdServer(`${tls ? 'https' : 'http'}://127.0.0.1:${await freePort()}`, `http://127.0.0.1:${await freePort()}`, {
      tls,
      place,
    });
    await server.resume();
    return server;
  }

  /** Starts the three members of a cluster. Resolves once all serve. */
  static async startThree(places: readonly Place[] = []): Promise<readonly EtcdServer[]> {
    const names = ['one', 'two', 'three'];
    const urls = await Promise.all(
      names.map(async (_, index) => {
        const {host = '127.0.0.1'} = places[index] ?? {};
        return [`http://${host}:${await freePort()}`, `http://${host}:${await freePort()}`];
      }),
    );
    const members = names.map((name, index) => `${name}=${urls[index]![1]!}`).join(',');
    const servers = names.map((name, index) => new EtcdServer(urls[index]![0]!, urls[index]![1]!, {name, members, place: places[index]}));
    await Promise.all(servers.map(server => server.resume()));
    return servers;
  }

  async resume(): Promise<void> {
    const tls = this.#tls
      ? ['--client-cert-auth', '--trusted-ca-file', this.#tls.ca, '--cert-file', this.#tls.cert, '--key-file', this.#tls.key]
      : [];
    const {command: [program, ...before] = ['etcd'], directory} = this.#place;
    const child = spawn(
      program!,
      [
        ...before,
        ...(program === 'etcd' ? [] : ['etcd']),
        `--data-dir=${this.#directory}`,
        `--name=${this.#name}`,
        `--listen-client-urls=${this.url}`,
        `--advertise-client-urls=${this.url}`,
        `--listen-peer-urls=${this.#peer}`,
        `--initial-advertise-peer-urls=${this.#peer}`,
        `--initial-cluster=${this.#members}`,
        ...(directory === undefined ? ['--unsafe-no-fsync'] : []),
        '--heartbeat-interval=20',
        '--election-timeout=200',
        '--logger=zap',
        '--log-level=info',
        ...tls,
      ],
      {stdio: ['ignore', 'ignore', 'pipe']},
    );
    this.#process = killAtExit(child);
    let text = '';
    await new Promise<void>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', code => reject(new Error(`etcd ended with ${code}: ${text.slice(-2000)}`)));
      child.stderr.on('data', (chunk: Buffer) => {
        text = (text + chunk.toString()).slice(-20_000);
        if (/serving (insecure client requests|client traffic)/.test(text)) resolve();
      });
    });
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  /** Stops the process without ending it: connections stay open, nothing is answered until `proceed`. */
  pause(): void {
    const {pid} = this.#process ?? {};
    if (pid === undefined) return;
    this.#process!.kill('SIGSTOP');
    // A thread that is at work stops a little later than the signal is sent.
    while (!threadStates(pid).every(state => state === 'T'));
  }

  proceed(): void {
    this.#process?.kill('SIGCONT');
  }

  /** Copies the data of a killed server, and returns the copy's path for `restore`. */
  save(): string {
    const copy = `${this.#directory}-copy`;
    cpSync(this.#directory, copy, {recursive: true});
    return copy;
  }

  /** Replaces the data of a killed server by a copy; by none, as on a new disk, without one. */
  restore(copy?: string): void {
    rmSync(this.#directory, {recursive: true, force: true});
    if (copy) cpSync(copy, this.#directory, {recursive: true});
  }

  async kill(): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (!child || child.exitCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  async stop(): Promise<void> {
    await this.kill();
    for (const path of [this.#directory, `${this.#directory}-copy`]) rmSync(path, {recursive: true, force: true});
  }
}
