// What goes on with one volume of one pod.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {exponential} from '#src/base/backoff.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {onAbort} from '#src/base/signals.js';
import type {Naming} from '#src/api/naming.js';
import type {Node} from '#src/api/types.js';
import {matchesNodeSelector} from '#src/model/node-affinity.js';
import type {Host} from '#src/platlet/host/host.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import type {Claims} from './claims.js';
import {giveToGroup} from './ownership.js';
import type {MountedVolume, PersistentVolume, VolumePlugin, VolumeRequest} from './plugin.js';

export interface OperationParts {
  readonly naming: Naming;
  readonly host: Host;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventRecorder;
  readonly plugins: readonly VolumePlugin[];
  readonly claims: Pick<Claims, 'of'>;
  /** Returns the Node; undefined while it is not known. */
  node(): Frozen<Node> | undefined;
  readonly signal: AbortSignal;
}

/** An error with its own words in the event. */
class VolumeError extends Error {
  readonly what: string;
  constructor(what: string, message: string) {
    super(message);
    this.what = what;
  }
}

const backoff = exponential(500, 122_000);

/** Brings one volume of a pod to be mounted, and up to date. */
export class VolumeOperation {
  readonly #parts: OperationParts;
  readonly name: string;
  #pod: Frozen<Pod> | undefined;
  #result: MountedVolume | undefined;
  #running: Promise<void> | undefined;
  #retry: Disposable | undefined;
  #failures = 0;
  readonly #ending: Disposable | undefined;
  #isStopped = false;
  #isProcessed = false;
  #isRefreshed = true;
  /** The name in events: that of the persistent volume, if it is one. */
  #shownName = '';
  #waiting: (() => void)[] = [];

  constructor(parts: OperationParts, name: string) {
    this.#parts = parts;
    this.name = name;
    this.#ending = onAbort(parts.signal, () => this.stop());
  }

  /** Where the volume is; undefined while it is not mounted. */
  get result(): MountedVolume | undefined {
    return this.#result;
  }

  get isBusy(): boolean {
    return this.#running !== undefined;
  }

  /** Whether it is known what the volume is. */
  get isProcessed(): boolean {
    return this.#isProcessed;
  }

  /** Resolves when the volume is mounted and was brought up to date once more, if that does not fail. */
  async mounted(pod: Frozen<Pod>): Promise<void> {
    this.#pod = pod;
    if (this.#running) await this.#running;
    else if (!this.#retry && (!this.#result || this.#isRefreshed)) await this.#start();
    if (!this.#result && !this.#isStopped) await new Promise<void>(resolve => this.#waiting.push(resolve));
  }

  /** Begins nothing more. What goes on is still to end. */
  stop(): void {
    this.#isStopped = true;
    this.#ending?.[Symbol.dispose]();
    this.#retry?.[Symbol.dispose]();
    this.#retry = undefined;
  }

  #start(): Promise<void> {
    if (this.#isStopped || this.#parts.signal.aborted) return Promise.resolve();
    this.#running = this.#run().finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #run(): Promise<void> {
    const {events, log, clock} = this.#parts;
    const pod = this.#pod!;
    using _ = clock.hold();
    this.#shownName = this.name;
    try {
      this.#result = await this.#setUp(pod);
      this.#failures = 0;
      for (const resolve of this.#waiting.splice(0)) resolve();
    } catch (error) {
      log.error({volume: this.name, pod: pod.metadata?.name, err: error}, 'a volume could not be set up');
      const what = error instanceof VolumeError ? error.what : 'MountVolume.SetUp failed';
      if (this.#isProcessed)
        events.warning(pod, 'FailedMount', `${what} for volume ${JSON.stringify(this.#shownName)} : ${messageOf(error)}`);
      if (this.#isStopped) return;
      this.#retry = clock.schedule(backoff(this.#failures++), () => {
        this.#retry = undefined;
        return this.#running ?? this.#start();
      });
    }
  }

  async #setUp(pod: Frozen<Pod>): Promise<MountedVolume> {
    const {claims, plugins, naming} = this.#parts;
    const volume = pod.spec?.volumes?.find(({name}) => name === this.name);
    if (!volume) throw new Error(`volume ${JSON.stringify(this.name)} is not in the pod any more`);
    const claimed = await claims.of(pod, volume);
    const isReadonly = claimed?.isReadonly ?? false;
    const request: VolumeRequest = {
      pod,
      name: this.name,
      volume,
      isReadonly,
      ...(claimed ? {persistent: claimed.persistent} : {}),
      giveToGroup: path => this.#giveToGroup(pod, isReadonly, path),
    };
    this.#isProcessed = true;
    this.#shownName = claimed?.persistent.metadata?.name ?? this.name;
    const plugin = plugins.find(each => each.supports(request));
    if (!plugin) throw new Error(`no volume plugin matched name: ${sourceOf(request)}`);
    this.#isRefreshed = plugin.isRefreshed;
    if (claimed) this.#checkNode(claimed.persistent);
    const mounted = await plugin.setUp(request);
    const group = Number(claimed?.persistent.metadata?.annotations?.[naming.subKey('pv.beta', 'gid')]);
    return Number.isSafeInteger(group) && group > 0 ? {...mounted, groups: [group]} : mounted;
  }

  /** A persistent volume may be for other nodes only. */
  #checkNode({spec}: Frozen<PersistentVolume>): void {
    const required = spec?.nodeAffinity?.required;
    const node = this.#parts.node();
    if (required && node && !matchesNodeSelector(required, node))
      throw new VolumeError('MountVolume.NodeAffinity check failed', 'no matching NodeSelectorTerms');
  }

  async #giveToGroup(pod: Frozen<Pod>, isReadonly: boolean, path: string): Promise<void> {
    const {host, clock, events} = this.#parts;
    const {fsGroup, fsGroupChangePolicy} = pod.spec?.securityContext ?? {};
    // A volume that can only be read stays as it is.
    if (fsGroup === undefined || isReadonly) return;
    await giveToGroup(host, clock, {
      path,
      group: fsGroup,
      isReadonly,
      onlyOnMismatch: fsGroupChangePolicy === 'OnRootMismatch',
      progress: files =>
        events.warning(pod, 'VolumePermissionChangeInProgress', `Setting volume ownership for ${path}, processed ${files} files.`),
    });
  }
}

/** Returns the type of a volume, as the field that has it. */
const sourceOf = ({volume, persistent}: VolumeRequest): string => {
  const fields = Object.keys(persistent?.spec ?? volume);
  const plain = new Set([
    'name',
    'accessModes',
    'capacity',
    'claimRef',
    'persistentVolumeReclaimPolicy',
    'storageClassName',
    'volumeMode',
    'nodeAffinity',
    'mountOptions',
  ]);
  return fields.find(field => !plain.has(field)) ?? 'unknown';
};
