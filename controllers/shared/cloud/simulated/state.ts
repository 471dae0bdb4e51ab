import {withClockHeld, type Clock} from '#src/base/clock.js';
import type {Files} from '#src/base/files/files.js';
import type {InstanceMetadata, LoadBalancerStatus, Route} from '#src/runtime/cloud.js';

/** A machine. Machines that are not listed run. */
export interface SimulatedInstance extends Partial<InstanceMetadata> {
  readonly state: 'running' | 'stopped' | 'gone';
  /** The ranges of its pods, in CIDR notation. */
  readonly podRanges?: readonly string[];
}

export interface SimulatedLoadBalancer {
  /** `namespace/name`. */
  readonly service: string;
  readonly status: LoadBalancerStatus;
  readonly nodes: readonly string[];
  readonly ports: readonly string[];
}

/** The whole state of the simulated cloud, by names. */
export interface SimulatedState {
  readonly instances: Readonly<Record<string, SimulatedInstance>>;
  readonly loadBalancers: Readonly<Record<string, SimulatedLoadBalancer>>;
  readonly routes: Readonly<Record<string, Omit<Route, 'name'>>>;
}

const empty: SimulatedState = {instances: {}, loadBalancers: {}, routes: {}};

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);

const parseState = (text: string): SimulatedState => {
  const value: unknown = JSON.parse(text);
  if (!isRecord(value)) throw new Error('it is not a JSON object');
  const {instances = {}, loadBalancers = {}, routes = {}} = value;
  if (!isRecord(instances) || !isRecord(loadBalancers) || !isRecord(routes))
    throw new Error('instances, loadBalancers and routes must be objects');
  for (const [name, instance] of Object.entries(instances)) {
    if (!isRecord(instance) || !['running', 'stopped', 'gone'].includes(instance['state'] as string))
      throw new Error(`instances.${name}.state must be running, stopped or gone`);
    const {podRanges = []} = instance;
    if (!Array.isArray(podRanges) || !podRanges.every(range => typeof range === 'string'))
      throw new Error(`instances.${name}.podRanges must be a list of texts`);
  }
  return {instances, loadBalancers, routes} as unknown as SimulatedState;
};

/** Keeps the state, in memory or in a file that may be edited meanwhile. Changes are made one after the other. */
export class StateStore {
  readonly #files: Files;
  readonly #path: string | undefined;
  readonly #clock: Clock;
  #state: SimulatedState = empty;
  #stamp = '';
  #changes: Promise<unknown> = Promise.resolve();

  constructor(files: Files, path: string | undefined, clock: Clock) {
    this.#clock = clock;
    this.#files = files;
    this.#path = path;
  }

  /** Returns the present state. Rejects if the file cannot be read or is malformed. */
  read(): Promise<SimulatedState> {
    return withClockHeld(this.#clock, async () => {
      await this.#changes.catch(() => {});
      return this.#load();
    });
  }

  /** Replaces the state by what `change` returns for it. Resolves once it is stored. */
  change(change: (state: SimulatedState) => SimulatedState): Promise<void> {
    const done = this.#changes
      .catch(() => {})
      .then(async () => {
        const before = await this.#load();
        const after = change(before);
        if (after === before) return;
        if (this.#path) {
          await this.#files.write(this.#path, `${JSON.stringify(after, undefined, 2)}\n`, 0o600);
          this.#stamp = this.#files.stamp(this.#path);
        }
        this.#state = after;
      });
    this.#changes = done;
    return withClockHeld(this.#clock, () => done);
  }

  async #load(): Promise<SimulatedState> {
    if (!this.#path) return this.#state;
    const stamp = this.#files.stamp(this.#path);
    if (stamp === this.#stamp) return this.#state;
    const content = await this.#files.read(this.#path);
    try {
      this.#state = content === undefined ? empty : parseState(content.toString());
    } catch (cause) {
      throw new Error(`the state of the simulated cloud in ${this.#path} is malformed: ${(cause as Error).message}`, {cause});
    }
    this.#stamp = stamp;
    return this.#state;
  }
}
