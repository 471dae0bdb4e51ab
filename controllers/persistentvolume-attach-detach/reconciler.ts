import type {Lister} from '#informers/lister.js';
import {keyOf, type Frozen} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Pod} from '#src/api/pod.js';
import type {Node} from '#src/api/types.js';
import type {Counter} from '#src/base/meter.js';
import {messageOf} from '#src/base/message.js';
import {isReadyNode} from '#src/model/node-readiness.js';
import type {ControllerContext} from '#src/runtime/controller.js';
import {unlessMissing} from '#src/client/missing.js';
import type {Operations} from '#controllers/shared/volumes/operations.js';
import type {OperationTimes} from './metrics.js';
import type {NodeReport} from './node-report.js';
import type {AttachDetachOptions} from './options.js';
import type {ActualVolume, ActualWorld, AttachableVolume, DesiredWorld, WantedVolume} from './attachment-state.js';

/** How long to wait for a node to unmount a volume before it is detached by force. */
const unmountMs = 360_000;

interface ReconcilerParts {
  readonly context: ControllerContext<AttachDetachOptions>;
  readonly desired: DesiredWorld;
  readonly actual: ActualWorld;
  readonly operations: Operations;
  readonly report: NodeReport;
  readonly times: OperationTimes;
  /** Called when an operation has ended. */
  wake(): void;
}

/** Whether a volume may be attached to several nodes at once. */
const isShareable = ({spec: {volume}}: AttachableVolume): boolean => {
  const modes = volume?.spec?.accessModes ?? [];
  return !volume || modes.length === 0 || modes.some(mode => mode === 'ReadWriteMany' || mode === 'ReadOnlyMany');
};

/** Operations on a volume exclude each other, on shareable volumes only those on the same node. */
const operationOf = (volume: AttachableVolume, node: string): string => (isShareable(volume) ? `${volume.name} ${node}` : volume.name);

/** Detaches what is not wanted any more, then attaches what is wanted. */
export class Reconciler {
  readonly #parts: ReconcilerParts;
  readonly #nodes: Lister<Node>;
  readonly #forced: Counter;

  constructor(parts: ReconcilerParts) {
    const {lister, meter} = parts.context;
    this.#parts = parts;
    this.#nodes = lister(kinds.nodes);
    this.#forced = meter.counter({
      name: 'attachdetach_controller_forced_detaches',
      help: 'Number of times the A/D Controller performed a forced detach',
      labels: ['reason'],
    });
  }

  /** Makes one pass. Returns whether another has to follow even if nothing changes. */
  async pass(): Promise<boolean> {
    const {actual, desired, report} = this.#parts;
    let isUnfinished = false;
    for (const volume of Array.from(actual.list())) {
      if (desired.get(volume.volume.name, volume.node)) continue;
      isUnfinished = true;
      await this.#detach(volume);
    }
    for (const wanted of desired.list()) isUnfinished = this.#attach(wanted, wanted.node) || isUnfinished;
    return !(await report.writeAll()) || isUnfinished;
  }

  async #detach(actual: ActualVolume): Promise<void> {
    const {context, operations, report, times, wake} = this.#parts;
    const {clock, options, log} = context;
    const {volume, node: nodeName} = actual;
    const operation = operationOf(volume, nodeName);
    if (operations.isPending(operation)) return;
    actual.detachSince ??= clock.monotonic();
    const node = this.#nodes.get(nodeName);
    const isExpired = clock.monotonic() - actual.detachSince > unmountMs;
    const isForced = isExpired && !(node && isReadyNode(node)) && !options.disableForceDetachOnTimeout;
    const isOutOfService = node?.spec?.taints?.some(({key}) => key === context.naming.subKey('node', 'out-of-service')) ?? false;
    const isMounted = node?.status?.volumesInUse?.includes(volume.name) ?? false;
    if (isMounted && !isForced && !isOutOfService) return;
    if (operations.isWaiting(operation)) return;
    // Pods must not be started with the volume from now on.
    this.#parts.actual.report(actual, false);
    try {
      await report.write(nodeName);
    } catch (error) {
      this.#parts.actual.report(actual, true);
      log.warn({node: nodeName, volume: volume.name, err: error}, 'a volume is not detached, as the status of its node cannot be written');
      return;
    }
    const started = operations.start(operation, async waiting => {
      try {
        if (!isForced && !isOutOfService) await this.#checkUnmounted(volume, nodeName);
        await times.measured('volume_detach', volume, () => volume.plugin.attacher!.detach(volume.spec, nodeName, waiting));
        this.#parts.actual.remove(volume.name, nodeName);
      } catch (error) {
        this.#parts.actual.report(actual, actual.state === 'attached');
        throw error;
      } finally {
        wake();
      }
    });
    if (started !== 'started') this.#parts.actual.report(actual, actual.state === 'attached');
    else if (isForced || isOutOfService) this.#forced.add({reason: isForced ? 'timeout' : 'out-of-service'});
  }

  /** The cache may be behind: the node may use the volume by now. */
  async #checkUnmounted(volume: AttachableVolume, nodeName: string): Promise<void> {
    const node = await unlessMissing(this.#parts.context.client.resource(kinds.nodes).get(nodeName));
    if (node?.status?.volumesInUse?.includes(volume.name))
      throw new Error(
        `DetachVolume failed for volume ${JSON.stringify(volume.spec.name)} on node ${JSON.stringify(nodeName)}: the volume is still in use`,
      );
  }

  /** Returns whether it is not attached yet. */
  #attach(wanted: WantedVolume, node: string): boolean {
    const {actual, operations, times, wake} = this.#parts;
    const {volume} = wanted;
    const known = actual.get(volume.name, node);
    if (known?.state === 'attached') {
      known.volume = volume;
      delete known.detachSince;
      if (!operations.isPending(operationOf(volume, node))) actual.report(known, true);
      return false;
    }
    const operation = operationOf(volume, node);
    if (!isShareable(volume)) {
      if (operations.isPending(operation)) return true;
      const others = actual.nodesOf(volume.name).filter(other => other !== node);
      if (others.length > 0) {
        this.#reportConflict(wanted, others);
        return true;
      }
    }
    operations.start(operation, async waiting => {
      try {
        const path = await times.measured('volume_attach', volume, () => volume.plugin.attacher!.attach(volume.spec, node, waiting));
        actual.set(volume, node, 'attached', path);
        this.#record(
          wanted,
          'normal',
          'SuccessfulAttachVolume',
          `AttachVolume.Attach succeeded for volume ${JSON.stringify(volume.spec.name)}`,
        );
      } catch (error) {
        if (waiting.signal.aborted) throw error;
        // It may be attached all the same.
        actual.set(volume, node, 'uncertain');
        this.#record(
          wanted,
          'warning',
          'FailedAttachVolume',
          `AttachVolume.Attach failed for volume ${JSON.stringify(volume.spec.name)} : ${messageOf(error)}`,
        );
        throw error;
      } finally {
        wake();
      }
    });
    return true;
  }

  #record({pods}: WantedVolume, type: 'normal' | 'warning', reason: string, message: string): void {
    for (const pod of pods.values()) this.#parts.context.events[type](pod, reason, message);
  }

  /** Reports once why pods wait. Names of pods in other namespaces are not shown. */
  #reportConflict(wanted: WantedVolume, others: readonly string[]): void {
    if (wanted.conflictReported) return;
    wanted.conflictReported = true;
    const {desired, context} = this.#parts;
    const {volume} = wanted;
    const users: Frozen<Pod>[] = others.flatMap(node => [...(desired.get(volume.name, node)?.pods.values() ?? [])]);
    for (const pod of wanted.pods.values()) {
      const {namespace} = keyOf(pod);
      const local = users.filter(user => keyOf(user).namespace === namespace).map(user => keyOf(user).name);
      const foreign = users.length - local.length;
      const elsewhere = `${foreign} pod(s) in different namespaces`;
      const why =
        users.length === 0
          ? "Volume is already exclusively attached to one node and can't be attached to another"
          : local.length === 0
            ? `Volume is already used by ${elsewhere}`
            : `Volume is already used by pod(s) ${local.join(', ')}${foreign > 0 ? ` and ${elsewhere}` : ''}`;
      context.events.warning(pod, 'FailedAttachVolume', `Multi-Attach error for volume ${JSON.stringify(volume.spec.name)} ${why}`);
    }
  }

  /** Asks the plugins whether volumes are still attached. */
  async sync(): Promise<void> {
    const {actual, context, operations} = this.#parts;
    const attached = [...actual.list()].filter(
      ({state, volume, node}) => state === 'attached' && !operations.isPending(operationOf(volume, node)),
    );
    for (const {volume, node} of attached) {
      try {
        const [isAttached] = await volume.plugin.attacher!.areAttached([volume.spec], node);
        if (!isAttached) actual.remove(volume.name, node);
      } catch (error) {
        context.log.warn({volume: volume.name, node, err: error}, 'whether a volume is attached could not be verified');
      }
    }
  }
}
