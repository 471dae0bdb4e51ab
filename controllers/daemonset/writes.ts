import type {TrackingExpectations} from '#controllers/shared/children/expectations.js';
import {countsWriter} from '#controllers/shared/counts-writer.js';
import {sameJson} from '#src/api/equal.js';
import {keyText, keyOf, type Frozen} from '#src/api/key.js';
import {kinds, type ObjectOf} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {nextAvailability} from '#src/model/pod/state.js';
import {requeueAfter, settled, type KeyedContext, type Result} from '#src/runtime/controller.js';
import {messageOf} from '#src/base/message.js';
import type {Histories, History} from './history.js';
import type {DaemonSetStatus} from './kinds.js';
import {podChangesFor} from './manage.js';
import {podWriter} from './pod-writer.js';
import {rollingUpdate} from './rolling-update.js';
import {statusOf} from './status.js';
import {podsByNode, type DaemonSetSync} from './sync.js';
import {terminalPods} from './terminal-pods.js';

const collisionsOf = ({status}: Frozen<ObjectOf<typeof kinds.daemonSets>>): Pick<DaemonSetStatus, 'collisionCount'> =>
  status?.collisionCount === undefined ? {} : {collisionCount: status.collisionCount};

interface WriteParts {
  readonly context: KeyedContext;
  readonly expected: TrackingExpectations;
  readonly history: Histories;
}

/** Writes what follows from a sync: pods, revisions and the status. */
export class DaemonSetWrites {
  readonly #parts: WriteParts;
  readonly #applyChanges;
  readonly #onTerminalFor;
  readonly #writeStatus;

  constructor(parts: WriteParts) {
    const {context, expected} = parts;
    this.#parts = parts;
    this.#applyChanges = podWriter(context, expected);
    this.#onTerminalFor = terminalPods(context);
    this.#writeStatus = countsWriter(context, kinds.daemonSets);
  }

  /** Creates and deletes pods, replaces outdated ones, and forgets revisions that none has any more. */
  async update(state: DaemonSetSync, own: () => Promise<readonly Frozen<Pod>[]>, old: History['old']): Promise<void> {
    const {set, hash} = state;
    const {expected, history} = this.#parts;
    await this.#applyChanges(set, hash, podChangesFor(state, podsByNode(await own()), this.#onTerminalFor(set)));
    if (expected.satisfied(keyText(keyOf(set))) && set.spec?.updateStrategy?.type === 'RollingUpdate')
      await this.#applyChanges(set, hash, rollingUpdate(state, podsByNode(await own())));
    await history.forget(set, old, await own()).catch((error: unknown) => {
      throw new Error(`failed to clean up revisions of DaemonSet: ${messageOf(error)}`, {cause: error});
    });
  }

  /** Writes the status, now or later. */
  async updateStatus(state: DaemonSetSync, own: readonly Frozen<Pod>[], isObserved: boolean): Promise<Result> {
    const {set} = state;
    const status = statusOf(state, podsByNode(own), isObserved);
    const waitMs = sameJson(set.status, status) ? 0 : await this.#writeStatus(set, latest => ({...status, ...collisionsOf(latest)}));
    if (waitMs > 0) return requeueAfter(waitMs);
    const {minReadySeconds = 0} = set.spec ?? {};
    if (minReadySeconds === 0 || status.numberReady === (status.numberAvailable ?? 0)) return settled;
    return requeueAfter(nextAvailability(own, minReadySeconds, this.#parts.context.clock.now()) ?? minReadySeconds * 1000);
  }
}
