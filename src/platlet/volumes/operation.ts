// The current operation on one volume of a pod.

import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {exponential} from '#src/base/backoff.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {messageOf} from '#src/base/message.js';
import {onAbort} from '#src/base/signals.js';
import type {Host} from '#src/platlet/host/host.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import {giveToGroup} from './ownership.js';
import {NotAttached, StillMounted, VolumeError, type MountedVolume, type VolumePlugin, type VolumeRequest} from './plugin.js';
import type {VolumeResolver} from './resolver.js';
import type {StorageOperation, StorageOperations} from './storage-operations.js';
import type {VolumeLabels} from './volume-labels.js';

export interface VolumeOperationParts {
  readonly resolver: VolumeResolver;
  readonly labels: Pick<VolumeLabels, 'use' | 'leave'>;
  readonly operations: StorageOperations;
  readonly host: Host;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventRecorder;
  readonly signal: AbortSignal;
}

const backoff = exponential(500, 122_000);
/** How often a volume is looked at that is not attached, or not unmounted yet. */
const lookAgainMs = 100;

/** Mounts one volume of a pod and keeps it up to date. */
export class VolumeOperation {
  readonly #parts: VolumeOperationParts;
  readonly name: string;
  #pod: Frozen<Pod> | undefined;
  #result: MountedVolume | undefined;
  #running: Promise<void> | undefined;
  #retry: Disposable | undefined;
  #failures = 0;
  readonly #ending: Disposable | undefined;
  #isStopped = false;
  #isProcessed = false;
  #isAttached = true;
  #isRefreshed = true;
  /** The name in events: that of the persistent volume, if any. */
  #shownName = '';
  /** Why the pod could not have the volume at the last attempt. */
  #problem: string | undefined;
  #waiting: (() => void)[] = [];
  /** The type of the volume, once it is known. */
  #plugin: VolumePlugin | undefined;
  /** Asks the plugin whether the node has as many volumes as it can have. */
  #isFull: (() => Promise<boolean>) | undefined;

  constructor(parts: VolumeOperationParts, name: string) {
    this.#parts = parts;
    this.name = name;
    this.#ending = onAbort(parts.signal, () => this.stop());
  }

  /** The mounted volume; undefined before. */
  get result(): MountedVolume | undefined {
    return this.#result;
  }

  get isBusy(): boolean {
    return this.#running !== undefined;
  }

  /** Whether the volume was resolved. */
  get isProcessed(): boolean {
    return this.#isProcessed;
  }

  /** Why the pod could not have the volume when it was synced; undefined if it can. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Whether the volume is attached to the node, if it needs to be. */
  get isAttached(): boolean {
    return this.#isAttached;
  }

  /** Whether the volume is not attached because the node has as many as it can have. */
  async isBeyondLimit(): Promise<boolean> {
    return !this.#isAttached && this.#isFull ? this.#isFull() : false;
  }

  /**
   * Resolves when the volume is mounted and was updated once more, unless that fails; also if the pod cannot have it,
   * with a `problem`.
   */
  async mounted(pod: Frozen<Pod>): Promise<void> {
    this.#pod = pod;
    if (this.#running) await this.#running;
    else if ((!this.#retry || this.#problem !== undefined) && (!this.#result || this.#isRefreshed)) await this.#start();
    if (!this.#result && this.#problem === undefined && !this.#isStopped) await new Promise<void>(resolve => this.#waiting.push(resolve));
  }

  /** Starts no further operation. The current one still has to end; it is stopped once more then. */
  stop(): void {
    this.#isStopped = true;
    this.#parts.labels.leave(this.#pod?.metadata?.uid ?? '');
    this.#ending?.[Symbol.dispose]();
    this.#retry?.[Symbol.dispose]();
    this.#retry = undefined;
  }

  /** Called when the volumes of the pod are unmounted. One without a folder has needed nothing for that. */
  released(): void {
    const {folder, measuredAs} = this.#plugin ?? {};
    if (this.#result && measuredAs !== undefined && folder === undefined) this.#parts.operations.done(measuredAs, 'volume_unmount');
  }

  #start(): Promise<void> {
    if (this.#isStopped || this.#parts.signal.aborted) return Promise.resolve();
    this.#retry?.[Symbol.dispose]();
    this.#retry = undefined;
    this.#running = this.#run().finally(() => (this.#running = undefined));
    return this.#running;
  }

  async #run(): Promise<void> {
    const {clock} = this.#parts;
    const pod = this.#pod!;
    using _ = clock.hold();
    this.#shownName = this.name;
    try {
      this.#result = await this.#setUp(pod);
      this.#isAttached = true;
      this.#failures = 0;
      this.#wake();
    } catch (error) {
      this.#failed(pod, error);
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #failed(pod: Frozen<Pod>, error: unknown): void {
    const {log, events} = this.#parts;
    this.#isAttached = !(error instanceof NotAttached);
    if (!this.#isAttached) return this.#retryAfter(lookAgainMs);
    if (error instanceof StillMounted) {
      this.#problem = error.message;
      this.#retryAfter(lookAgainMs);
      return this.#wake();
    }
    log.error({volume: this.name, pod: pod.metadata?.name, err: error}, 'failed to set up a volume');
    // It is resolved again when the pod is synced.
    if (this.#problem !== undefined) return this.#wake();
    const {what, reason} = error instanceof VolumeError ? error : {what: 'MountVolume.SetUp failed', reason: 'FailedMount'};
    events.warning(pod, reason, `${what} for volume ${JSON.stringify(this.#shownName)} : ${messageOf(error)}`);
    this.#retryAfter(backoff(this.#failures++));
  }

  #retryAfter(ms: number): void {
    if (this.#isStopped) return;
    this.#retry = this.#parts.clock.schedule(ms, () => {
      this.#retry = undefined;
      return this.#running ?? this.#start();
    });
  }

  async #setUp(pod: Frozen<Pod>): Promise<MountedVolume> {
    const {resolver, labels} = this.#parts;
    const resolved = await this.#judged(() => resolver.resolve(pod, this.name));
    const {volume, persistent, isReadonly} = resolved;
    const request: VolumeRequest = {
      pod,
      name: this.name,
      volume,
      isReadonly,
      ...(persistent ? {persistent} : {}),
      giveToGroup: path => this.#giveToGroup(pod, isReadonly, path),
    };
    this.#shownName = persistent?.metadata?.name ?? this.name;
    const plugin = resolver.pluginOf(request);
    const label = await this.#judged(() => labels.use(request, plugin));
    this.#isProcessed = true;
    this.#found(plugin);
    this.#isFull = plugin.isBeyondLimit && (() => plugin.isBeyondLimit!(request));
    this.#isRefreshed = plugin.expand !== undefined || isRefreshed(plugin, request);
    if (!resolver.allowsNode(resolved)) throw new VolumeError('MountVolume.NodeAffinity check failed', 'no matching NodeSelectorTerms');
    checkOptions(plugin, request);
    checkDevice(plugin, request);
    if (this.#result && !isRefreshed(plugin, request)) {
      await plugin.expand?.(request);
      return this.#result;
    }
    const operation = persistent?.spec?.volumeMode === 'Block' ? 'map_volume' : 'volume_mount';
    const mounted = await this.#measured(operation, () => plugin.setUp(label === undefined ? request : {...request, label}));
    const groups = resolver.groupsOf(resolved);
    return groups.length > 0 ? {...mounted, groups} : mounted;
  }

  /** Nothing but volumes of drivers needs to be attached, which is found out once. */
  #found(plugin: VolumePlugin): void {
    const isNew = this.#plugin === undefined;
    this.#plugin = plugin;
    if (isNew && plugin.measuredAs !== undefined) this.#parts.operations.done(plugin.measuredAs, 'verify_controller_attached_volume');
  }

  #measured<T>(operation: StorageOperation, act: () => Promise<T>): Promise<T> {
    const name = this.#plugin?.measuredAs;
    return name === undefined ? act() : this.#parts.operations.measured(name, operation, act);
  }

  /** Runs a step that says whether the pod can have the volume. */
  async #judged<T>(act: () => Promise<T>): Promise<T> {
    try {
      const result = await act();
      this.#problem = undefined;
      return result;
    } catch (error) {
      this.#problem = messageOf(error);
      throw error;
    }
  }

  async #giveToGroup(pod: Frozen<Pod>, isReadonly: boolean, path: string): Promise<void> {
    const {host, clock, events} = this.#parts;
    const {fsGroup, fsGroupChangePolicy} = pod.spec?.securityContext ?? {};
    // A read-only volume is left unchanged.
    if (fsGroup === undefined || isReadonly) return;
    await this.#measured('volume_apply_access_control', () =>
      giveToGroup(host, clock, {
        path,
        group: fsGroup,
        isReadonly,
        onlyOnMismatch: fsGroupChangePolicy === 'OnRootMismatch',
        progress: files =>
          events.warning(pod, 'VolumePermissionChangeInProgress', `Setting volume ownership for ${path}, processed ${files} files.`),
      }),
    );
  }
}

const isRefreshed = ({isRefreshed: refreshed}: VolumePlugin, request: VolumeRequest): boolean =>
  typeof refreshed === 'boolean' ? refreshed : refreshed(request);

/** Throws if a volume is a block device, which its type does not support. */
const checkDevice = ({hasDevices}: VolumePlugin, {persistent}: VolumeRequest): void => {
  if (hasDevices || persistent?.spec?.volumeMode !== 'Block') return;
  throw new VolumeError('MapVolume.FindMapperPluginBySpec failed to find BlockVolumeMapper plugin. Volume plugin is nil.', '<nil>');
};

/** Throws if a persistent volume has mount options that its type does not support. */
const checkOptions = ({hasMountOptions}: VolumePlugin, {persistent}: VolumeRequest): void => {
  if (hasMountOptions || (persistent?.spec?.mountOptions ?? []).length === 0) return;
  throw new VolumeError('MountVolume.MountOptionSupport check failed', 'mount options are not supported for this volume type');
};
