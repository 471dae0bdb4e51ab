import type {Lister} from '#informers/lister.js';
import type {Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import {isConflict, isNotFound} from '#src/api/status.js';
import type {Clock} from '#src/base/clock.js';
import type {Log} from '#src/base/log.js';
import type {Client} from '#src/client/client.js';
import type {EventRecorder} from '#src/runtime/events/events.js';
import type {PodInfo} from './cache/pod-info.js';
import {truncateNote} from '#src/scheduler/framework/fit-error.js';
import {nominationPatch, statusPatch, type SchedulingFailure} from './pod-status.js';
import {PodWrites} from './pod-writes.js';

export interface ReporterParts {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly events: EventRecorder;
  /** Aborts when the scheduler is to stop; pending writes are still finished. */
  readonly signal: AbortSignal;
  pods(): Lister<Pod>;
}

/**
 * Reports scheduling results in Events and pod statuses, and binds pods. All writes to a pod go through here, in order.
 */
export class Reporter {
  readonly #parts: ReporterParts;
  readonly #writes = new PodWrites();

  constructor(parts: ReporterParts) {
    this.#parts = parts;
  }

  /** Reports that a pod was not scheduled, and why. */
  reportFailure(pod: Frozen<Pod>, report: SchedulingFailure): void {
    this.#parts.events.warning(pod, 'FailedScheduling', truncateNote(report.message));
    this.#report(pod, current => statusPatch(current, report, this.#parts.clock.now()));
  }

  /** Reports the node that a pod is expected to be bound to. */
  reportNomination(pod: Frozen<Pod>, node: string): void {
    this.#report(pod, current => nominationPatch(current, node));
  }

  /** Binds a pod to a node. */
  async bind({pod, key, uid}: PodInfo, node: string): Promise<void> {
    const {client, events} = this.#parts;
    const {name = '', namespace = ''} = pod.metadata ?? {};
    const binding = {metadata: {name, namespace, uid}, target: {kind: 'Node', name: node}};
    // The response to a binding is a Status, not a pod.
    await this.#writes.runLast(uid, () => client.resource(kinds.pods).create(binding as Pod, {name, subresource: 'binding'}));
    events.normal(pod, 'Scheduled', `Successfully assigned ${key} to ${node}`);
  }

  #report({metadata}: Frozen<Pod>, patchFor: (current: Frozen<Pod>) => object | undefined): void {
    const {client, clock, log, signal} = this.#parts;
    const {name = '', namespace = '', uid = ''} = metadata ?? {};
    this.#writes.enqueue(uid, async () => {
      const hold = clock.hold();
      try {
        const current = this.#parts.pods().get({namespace, name});
        const patch = current?.metadata?.uid === uid && !current.spec?.nodeName ? patchFor(current) : undefined;
        if (!patch) return;
        await client.resource(kinds.pods).patch(name, 'strategic', patch, {namespace, subresource: 'status'});
      } catch (error) {
        if (!signal.aborted && !isNotFound(error) && !isConflict(error))
          log.error({pod: `${namespace}/${name}`, err: error}, 'failed to update the status of a pod');
      } finally {
        hold[Symbol.dispose]();
      }
    });
  }
}
