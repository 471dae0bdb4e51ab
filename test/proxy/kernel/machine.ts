// A network namespace with a whole plane, and an endpoint, in which programs of proxies are started.

import {spawn, type ChildProcess} from 'node:child_process';
import {existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join, resolve} from 'node:path';
import {proxyTable} from '#src/api/naming.js';
import {systemKernel} from '#src/proxy/kernel/system-kernel.js';
import {programFile} from '#test/cli/programs.js';
import {Namespaces} from '#test/node/namespaces.js';

/** The address of the node, and of the endpoint. */
export const nodeIp = '192.168.7.2';

/** Serves HTTP, and asks: `get URL` prints status and body. */
const asking = `
require('node:http').createServer((_, response) => response.end('hello')).listen(8080, '${nodeIp}');
require('node:readline').createInterface({input: process.stdin}).on('line', url =>
  fetch(url, {signal: AbortSignal.timeout(3000)}).then(
    async response => console.log(JSON.stringify([response.status, await response.text()])),
    error => console.log(JSON.stringify([0, String(error.cause ?? error)])),
  ));
`;

/** A process whose output is kept. */
export class Running {
  readonly child: ChildProcess;
  output = '';
  readonly ended: Promise<number | null>;
  readonly #waiting = new Set<() => void>();

  constructor(enter: readonly string[], command: readonly string[]) {
    this.child = spawn(enter[0]!, [...enter.slice(1), ...command], {stdio: 'pipe'});
    for (const stream of [this.child.stdout!, this.child.stderr!])
      stream.setEncoding('utf8').on('data', (text: string) => {
        this.output += text;
        for (const check of this.#waiting) check();
      });
    this.ended = new Promise(resolve => this.child.once('close', resolve));
  }

  async until(pattern: RegExp): Promise<RegExpExecArray> {
    let check = (): void => {};
    const found = new Promise<RegExpExecArray>(resolve => {
      check = () => {
        const match = pattern.exec(this.output);
        if (match) resolve(match);
      };
      this.#waiting.add(check);
      check();
    });
    const ended = this.ended.then(code => Promise.reject(new Error(`ended with ${code} before ${String(pattern)}:\n${this.output}`)));
    return Promise.race([found, ended]).finally(() => this.#waiting.delete(check));
  }

  /** Ends the program, which is the child of the one that entered the namespaces. */
  async stop(): Promise<number | null> {
    const {pid} = this.child;
    const [program] = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).map(Number);
    if (program !== undefined) process.kill(program, 'SIGTERM');
    return this.ended;
  }
}

/** The program of the original, where it is on the path. */
export const originalProgram = (process.env['PATH'] ?? '')
  .split(':')
  .map(place => join(place, proxyTable.name))
  .find(file => existsSync(file));

/** The plane and the proxies. */
export class Machine implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'proxy-program-'));
  readonly #namespaces: Namespaces;
  readonly #asking: Running;
  readonly plane: Running;

  private constructor(namespaces: Namespaces, objects: string) {
    this.#namespaces = namespaces;
    writeFileSync(join(this.folder, 'objects.yaml'), objects);
    this.#asking = new Running(namespaces.enter, [process.execPath, '-e', asking]);
    this.plane = new Running(namespaces.enter, [
      process.execPath,
      resolve(programFile('plat')),
      'up',
      `--data-dir=${this.folder}/plane`,
      '--secure-port=0',
      '--nodes=0',
      `--manifests=${this.folder}/objects.yaml`,
      '--controller-manager-arg=--controllers=ttl',
    ]);
  }

  /** Starts a plane with some objects. */
  static async create(objects: string): Promise<Machine> {
    const namespaces = await Namespaces.create();
    const set = [
      'ip link set lo up',
      'ip link add d0 type veth peer name d1',
      `ip address add ${nodeIp}/24 dev d0`,
      'ip link set d0 up',
      'ip link set d1 up',
      'ip route add default via 192.168.7.1',
    ];
    await systemKernel.run({program: 'nsenter', args: [...namespaces.enter.slice(1), 'sh', '-ec', set.join('\n')]});
    const machine = new Machine(namespaces, objects);
    await machine.plane.until(/^ready/m);
    return machine;
  }

  /** Starts our proxy. */
  proxy(...args: string[]): Running {
    return this.#start([process.execPath, resolve(programFile('plat-proxy')), ...args]);
  }

  /** Starts that of the original. */
  original(...args: string[]): Running {
    return this.#start([originalProgram!, ...args]);
  }

  #start(command: readonly string[]): Running {
    return new Running(this.#namespaces.enter, [...command, `--kubeconfig=${this.folder}/plane/kubeconfig`, '--hostname-override=n1']);
  }

  async get(url: string): Promise<readonly [status: number, body: string]> {
    const before = this.#asking.output.length;
    this.#asking.child.stdin!.write(`${url}\n`);
    await this.#asking.until(new RegExp(`^[^]{${before}}.*\\n`));
    return JSON.parse(this.#asking.output.slice(before)) as [number, string];
  }

  async rules(program: string, ...args: string[]): Promise<string> {
    return (await systemKernel.run({program: 'nsenter', args: [...this.#namespaces.enter.slice(1), program, ...args]})).stdout;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.plane.stop();
    await this.#asking.stop();
    await this.#namespaces.end();
    rmSync(this.folder, {recursive: true, force: true});
  }
}
