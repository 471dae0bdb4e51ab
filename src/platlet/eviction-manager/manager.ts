// Looks regularly whether the node runs out of anything, and ends pods before it does.

import type {Frozen} from '#src/api/key.js';
import type {NodeStats, PodStats} from '#src/api/node/stats.js';
import type {Pod} from '#src/api/pod.js';
import {sleep, withClockHeld, type Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import {firstOf} from '#src/base/signals.js';
import type {NodeCondition} from '#src/platlet/node/node-condition.js';
import {reclaimable, withContainerThresholds, type DiskLayout} from '#src/platlet/eviction/disk-layout.js';
import type {EvictionReports} from './reports.js';
import type {Evictor} from './evictor.js';
import {storageExcess} from '#src/platlet/eviction/local-storage.js';
import {evictionText} from '#src/platlet/eviction/message.js';
import type {StatsOf} from '#src/platlet/eviction/pod-usage.js';
import {judge, metThresholds, noPressure} from '#src/platlet/eviction/pressure.js';
import {ranked} from '#src/platlet/eviction/ranking.js';
import {observationsOf, signals, type Observations, type Pressure} from '#src/platlet/eviction/signals.js';
import {isHard, type Threshold} from '#src/platlet/eviction/thresholds.js';

/** How often the node is looked at. */
const lookMs = 10_000;
/** What is evicted at once has this long to end. */
const hardGraceSeconds = 1;

export interface EvictionSettings {
  readonly thresholds: readonly Threshold[];
  /** How long a pressure is reported after it was there last. */
  readonly transitionMs: number;
  /** The longest grace period of pods that are evicted for a soft threshold. */
  readonly maxGraceSeconds: number;
  /** Whether pods are evicted that exceed limits of local storage. */
  readonly limitsStorage: boolean;
  /** Whether resources of pods count instead of those of their containers. */
  readonly withPodLevel: boolean;
}

/** The node that evictions are to keep working. */
export interface EvictedNode {
  measure(): Promise<NodeStats>;
  /** Called with new statistics. */
  measured?(stats: NodeStats): Promise<void>;
  /** Rejects while it is not known. */
  layout(): Promise<DiskLayout>;
  /** Removes containers that have ended, those of pods that are over too. */
  removeContainers(): Promise<void>;
  /** Removes images that nothing uses. */
  removeImages(): Promise<void>;
}

export interface EvictionManagerParts {
  readonly settings: EvictionSettings;
  readonly node: EvictedNode;
  readonly evictor: Evictor;
  readonly condition: NodeCondition;
  readonly reports: EvictionReports;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

const pressures: readonly Pressure[] = ['MemoryPressure', 'DiskPressure', 'PIDPressure'];

const indexed = ({pods}: NodeStats): StatsOf => {
  const known = new Map<string, PodStats>(pods.map(pod => [pod.uid, pod]));
  return pod => known.get(pod.metadata?.uid ?? '');
};

/** One look at the node. */
interface Look {
  readonly layout: DiskLayout;
  readonly stats: NodeStats;
  readonly statsOf: StatsOf;
  readonly observations: Observations;
  readonly pods: readonly Frozen<Pod>[];
}

/** Evicts pods from a node. */
export class EvictionManager {
  readonly #parts: EvictionManagerParts;
  #thresholds: readonly Threshold[];
  #layout: DiskLayout | undefined;
  #state = noPressure;
  #wake = new AbortController();

  constructor(parts: EvictionManagerParts) {
    this.#parts = parts;
    this.#thresholds = parts.settings.thresholds;
  }

  /** Works until the signal aborts. */
  start(): void {
    const {clock, signal} = this.#parts;
    this.#parts.log.info('Eviction manager: starting control loop');
    this.#run().catch((error: unknown) => {
      if (!signal.aborted) clock.unhandled(error);
    });
  }

  /** Called when the node should be looked at before it is time. */
  wake(): void {
    this.#wake.abort();
  }

  async #run(): Promise<void> {
    const {clock, evictor, log, signal} = this.#parts;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      const evicted = await withClockHeld(clock, () => this.#look()).catch((error: unknown) => {
        if (!signal.aborted) log.error({err: error}, 'Eviction manager: failed to synchronize');
        return [];
      });
      if (evicted.length > 0) await evictor.cleanedUp(evicted);
      else await this.#pause();
    }
  }

  async #pause(): Promise<void> {
    const {clock, signal} = this.#parts;
    using either = firstOf(signal, this.#wake.signal);
    await sleep(clock, lookMs, either.signal).catch(() => {});
  }

  /** Looks at the node once. Returns the pods whose ends have begun. */
  async #look(): Promise<readonly Frozen<Pod>[]> {
    const {settings, node, evictor, condition, clock, log} = this.#parts;
    if (settings.thresholds.length === 0 && !settings.limitsStorage) return [];
    const layout = await this.#diskLayout();
    const stats = await node.measure().catch((error: unknown) => {
      log.error({err: error}, 'Eviction manager: failed to get summary stats');
      return undefined;
    });
    if (!stats) return [];
    await node.measured?.(stats);
    const observations = observationsOf(stats);
    this.#noteMissing(observations);
    const rules = {thresholds: this.#thresholds, transitionMs: settings.transitionMs};
    const {state, pressures: found, actionable} = judge(this.#state, rules, observations, clock.now());
    this.#state = state;
    for (const pressure of pressures) condition.setPressure(pressure, found.includes(pressure));
    const look = {layout, stats, statsOf: indexed(stats), observations, pods: evictor.active()};
    const overLimits = settings.limitsStorage ? this.#evictOverLimits(look) : [];
    if (overLimits.length > 0) return overLimits;
    return this.#reclaim(actionable, look);
  }

  /** The layout of the disks, once it is known, and the thresholds that follow from it. */
  async #diskLayout(): Promise<DiskLayout> {
    const {settings, node, log} = this.#parts;
    if (this.#layout) return this.#layout;
    const layout = await node.layout();
    const {thresholds, ignored} = withContainerThresholds(settings.thresholds, layout);
    if (ignored !== undefined) log.error({err: new Error(ignored)}, 'eviction manager: found conflicting containerfs eviction. Ignoring.');
    this.#thresholds = thresholds;
    return (this.#layout = layout);
  }

  #noteMissing(observations: Observations): void {
    const {log} = this.#parts;
    for (const {signal} of this.#thresholds)
      if (!observations.has(signal)) log.info({signal}, 'Eviction manager: no observation found for eviction signal');
  }

  #evictOverLimits({layout, statsOf, pods}: Look): readonly Frozen<Pod>[] {
    const {evictor, reports} = this.#parts;
    return pods.filter(pod => {
      const stats = statsOf(pod);
      const excess = stats && storageExcess(pod, stats, layout !== 'one');
      if (!excess || !evictor.evict(pod, {graceSeconds: hardGraceSeconds, message: excess.message})) return false;
      reports.evicted(excess.signal);
      return true;
    });
  }

  /** Gets back what there is too little of: by what nothing needs, or else by the end of one pod. */
  async #reclaim(actionable: readonly Threshold[], look: Look): Promise<readonly Frozen<Pod>[]> {
    const {reports, log} = this.#parts;
    const [threshold] = actionable;
    if (!threshold) return [];
    const {resource} = signals[threshold.signal];
    log.info({resource}, 'Eviction manager: attempting to reclaim');
    reports.reclaims(resource);
    if (await this.#reclaimUnused(threshold, look.layout)) {
      log.info({resource}, 'Eviction manager: able to reduce resource pressure without evicting pods.');
      return [];
    }
    log.info({resource}, 'Eviction manager: must evict pod(s) to reclaim');
    if (look.pods.length === 0) {
      log.error('Eviction manager: eviction thresholds have been met, but no pods are active to evict');
      return [];
    }
    return this.#evictOne(threshold, actionable, look);
  }

  /** Removes what nothing needs. Returns whether all thresholds are satisfied then. */
  async #reclaimUnused({signal}: Threshold, layout: DiskLayout): Promise<boolean> {
    const {node, log} = this.#parts;
    const {resource} = signals[signal];
    const wanted = reclaimable(layout, signal);
    for (const each of wanted)
      await (each === 'containers' ? node.removeContainers() : node.removeImages()).catch((error: unknown) =>
        log.info({resource, err: error}, 'Eviction manager: unexpected error when attempting to reduce resource pressure'),
      );
    if (wanted.length === 0) return false;
    try {
      return metThresholds(this.#thresholds, observationsOf(await node.measure()), true).length === 0;
    } catch (error) {
      log.error({err: error}, 'Eviction manager: failed to get summary stats after resource reclaim');
      return false;
    }
  }

  #evictOne(threshold: Threshold, actionable: readonly Threshold[], look: Look): readonly Frozen<Pod>[] {
    const {settings, evictor, reports, clock, log} = this.#parts;
    const {layout, statsOf, observations} = look;
    const {withPodLevel} = settings;
    const {resource} = signals[threshold.signal];
    const pods = ranked(look.pods, threshold.signal, {statsOf, layout, withPodLevel});
    log.info({pods: pods.map(({metadata}) => metadata?.name)}, 'Eviction manager: pods ranked for eviction');
    for (const {signal} of actionable) reports.measuredAt(signal, observations.get(signal)?.at ?? clock.now());
    const cause = {resource, thresholds: actionable, observations, withPodLevel};
    for (const pod of pods) {
      const {message, annotations} = evictionText(pod, statsOf(pod), cause);
      if (!evictor.evict(pod, {graceSeconds: this.#graceOf(threshold, pod), message, annotations, isDisruption: true})) continue;
      reports.evicted(threshold.signal);
      return [pod];
    }
    log.info('Eviction manager: unable to evict any pods from the node');
    return [];
  }

  #graceOf(threshold: Threshold, {spec}: Frozen<Pod>): number {
    const {maxGraceSeconds} = this.#parts.settings;
    if (isHard(threshold)) return hardGraceSeconds;
    return Math.min(maxGraceSeconds, spec?.terminationGracePeriodSeconds ?? maxGraceSeconds);
  }
}
