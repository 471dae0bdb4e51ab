// The log lines about the readiness of the node: why it is not ready, once for each reason, and that it is ready again.

import type {Frozen} from '#src/api/key.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {NodeStatus} from './conditions.js';

/** How long a reason has to last: while the agent starts, there are some that pass by themselves. */
const lastingMs = 2_000;

/** What to do about a reason, by its beginning. */
const remedies: readonly (readonly [start: string, remedy: string])[] = [
  [
    'container runtime network not ready',
    'pods need a network configuration in the CNI folder of the runtime, usually /etc/cni/net.d: docs/nodes.md has one',
  ],
  ['container runtime', 'see the log of the container runtime'],
];

const remedyFor = (message: string): {readonly remedy?: string} => {
  const remedy = remedies.find(([start]) => message.replace(/^\[/, '').startsWith(start))?.[1];
  return remedy === undefined ? {} : {remedy};
};

export class ReadinessLog {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #node: string;
  #reason: {readonly message: string; readonly since: number; readonly isLogged: boolean} | undefined;

  constructor(clock: Clock, log: Log, node: string) {
    this.#clock = clock;
    this.#log = log;
    this.#node = node;
  }

  /** Notes a status that was reported. */
  observe({conditions = []}: Frozen<NodeStatus>): void {
    const ready = conditions.find(({type}) => type === 'Ready');
    if (!ready) return;
    if (ready.status === 'True') this.#noteReady();
    else this.#noteReason(ready.message ?? '');
  }

  #noteReady(): void {
    if (this.#reason?.isLogged) this.#log.info({node: this.#node}, 'the node is ready');
    this.#reason = undefined;
  }

  #noteReason(message: string): void {
    const now = this.#clock.monotonic();
    const reason = this.#reason?.message === message ? this.#reason : {message, since: now, isLogged: false};
    const isDue = !reason.isLogged && now - reason.since >= lastingMs;
    if (isDue) this.#log.warn({node: this.#node, message, ...remedyFor(message)}, 'the node is not ready');
    this.#reason = {...reason, isLogged: reason.isLogged || isDue};
  }
}
