import {readFileSync} from 'node:fs';
import {seededRandom} from '#src/base/random.js';
import {threadTime} from '#test/sweep/holds.js';
import {attacksOn, type Attack} from './attacks.js';
import {ask, startTargets, type Target} from './targets.js';
import {Attacker} from './wire.js';

export interface AttackOptions {
  readonly seed: number;
  /** How often each port is attacked in each way. */
  readonly rounds: number;
  /** The share of the full size that attacks have. */
  readonly share: number;
  /** The most CPU time that a server takes before an ordinary client is answered, in ms. */
  readonly mostMs: number;
  /** Selects attacks by `port: attack`. */
  readonly only?: RegExp;
  /** Called after each attack. */
  readonly progress?: (finding: AttackFinding) => void;
}

/** What one attack did. */
export interface AttackFinding {
  readonly label: string;
  readonly faults: readonly string[];
  /** The most CPU time that the server took before an ordinary client was answered, in ms. */
  readonly longestMs: number;
  /** The most bytes that waited for readers, where the port tells. */
  readonly waitingBytes: number;
  /** The memory that the process took more than before. */
  readonly memoryBytes: number;
}

/** How long an ordinary client waits, in ms: more than a machine takes that is busy with something else. */
const withinMs = 30_000;
/** How often an ordinary client tries again that was disconnected. */
const attempts = 5;
/** What a process may take besides the answers that wait, for requests and connections. */
const slackBytes = 256 << 20;

const memoryOf = (pid: number): number => {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) * 1024;
  } catch {
    return 0;
  }
};

/** Errors in the log, and what is no line of the log: a stack trace, a warning of Node. */
const errorsIn = (log: string): string[] =>
  log.split('\n').filter(line => /^[EF]\d{4} |panic|(?:Type|Range|Reference|Assertion)Error|Warning:/.test(line.trim()));

/** Looks at a port as its ordinary client does, again and again. */
class Observer {
  readonly #target: Target;
  readonly #mostMs: number;
  readonly faults = new Set<string>();
  longestMs = 0;
  waitingBytes = 0;
  memoryBytes = 0;
  readonly #logged: number;
  readonly #memoryBefore: number;

  constructor(target: Target, mostMs: number) {
    this.#target = target;
    this.#mostMs = mostMs;
    this.#logged = target.program.stderr.length;
    this.#memoryBefore = memoryOf(this.#pid);
  }

  get isAlive(): boolean {
    const {exitCode, signalCode} = this.#target.program.child;
    return exitCode === null && signalCode === null;
  }

  get #pid(): number {
    return this.#target.program.child.pid!;
  }

  async look(): Promise<void> {
    const {ordinary, waitingBytes, credentials} = this.#target;
    const before = threadTime(this.#pid).worked;
    let answer: Awaited<ReturnType<typeof ask>>;
    for (let attempt = 0; attempt < attempts && this.isAlive && answer?.status !== ordinary.status; attempt++)
      answer = await ask(this.#target, {...ordinary, withinMs});
    if (!this.isAlive) return void this.faults.add('the process has ended');
    if (answer?.status !== ordinary.status)
      this.faults.add(`an ordinary client gets ${answer ? `${answer.status} ${answer.text}` : 'no answer'}`);
    const ms = threadTime(this.#pid).worked - before;
    this.longestMs = Math.max(this.longestMs, ms);
    if (ms > this.#mostMs) this.faults.add(`an ordinary client waits for ${ms.toFixed(0)} ms of CPU time`);
    this.memoryBytes = Math.max(this.memoryBytes, memoryOf(this.#pid) - this.#memoryBefore);
    if (this.memoryBytes > waitingBytes * 2 + slackBytes) this.faults.add(`the process takes ${this.memoryBytes >> 20} MiB more`);
    if (credentials) await this.#lookAtWaitingBytes();
  }

  async #lookAtWaitingBytes(): Promise<void> {
    const metrics = await ask(this.#target, {method: 'GET', path: '/metrics', withinMs});
    const bytes = Number(/^apiserver_response_waiting_bytes (\S+)$/m.exec(metrics?.text ?? '')?.[1] ?? 0);
    this.waitingBytes = Math.max(this.waitingBytes, bytes);
    if (bytes > this.#target.waitingBytes) this.faults.add(`${bytes} bytes wait for readers`);
  }

  /** Looks until the signal, and once after it. */
  async watch(over: AbortSignal): Promise<void> {
    do await this.look();
    while (!over.aborted && this.isAlive);
  }

  end(label: string): AttackFinding {
    for (const line of errorsIn(this.#target.program.stderr.slice(this.#logged))) this.faults.add(`in the log: ${line}`);
    const {longestMs, waitingBytes, memoryBytes} = this;
    return {label, faults: [...this.faults], longestMs, waitingBytes, memoryBytes};
  }
}

const attackOnce = async (attack: Attack, attacker: Attacker, label: string, mostMs: number): Promise<AttackFinding> => {
  const observer = new Observer(attacker.target, mostMs);
  const over = new AbortController();
  const watched = observer.watch(over.signal);
  try {
    for (const fault of await attack(attacker)) observer.faults.add(fault);
    await observer.look();
  } finally {
    over.abort();
    await watched;
    attacker[Symbol.dispose]();
  }
  await observer.look();
  return observer.end(label);
};

/** Attacks the ports of programs by connections, and records where one ends, does not answer an ordinary client, takes too much memory or reports an internal error. */
export const attackPorts = async ({seed, rounds, share, mostMs, only = /(?:)/, progress}: AttackOptions): Promise<AttackFinding[]> => {
  await using started = await startTargets();
  const random = seededRandom(seed);
  const findings: AttackFinding[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const target of started.targets) {
      for (const [name, attack] of attacksOn(target)) {
        // Of its own, so that an attack which is repeated alone is the same.
        const own = seededRandom(Math.floor(random.float() * 2 ** 32));
        const label = `${target.name}: ${name}`;
        if (!only.test(label)) continue;
        const finding = await attackOnce(attack, new Attacker(target, own, share), label, mostMs);
        findings.push(finding);
        progress?.(finding);
      }
    }
  }
  return findings;
};
