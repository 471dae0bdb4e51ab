import {disruptPod} from '#controllers/shared/pods/disrupt.js';
import {unlessMissing} from '#src/client/missing.js';
import {keyText, type ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {isNotFound} from '#src/api/status.js';
import {withClockHeld, sleep} from '#src/base/clock.js';
import type {ControllerContext} from '#src/runtime/controller.js';

const maxAttempts = 5;
const retryMs = 10;

const evictionMetrics = ({meter}: ControllerContext) => ({
  total: meter.counter({
    name: 'taint_eviction_controller_pod_deletions_total',
    help: 'Total number of Pods deleted by TaintEvictionController since its start.',
  }),
  duration: meter.histogram({
    name: 'taint_eviction_controller_pod_deletion_duration_seconds',
    help: 'Latency, in seconds, between the time when a taint effect has been activated for the Pod and its deletion via TaintEvictionController.',
    buckets: [0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240],
  }),
});

/** Records events of scheduled and cancelled evictions. */
export const evictionEvents = ({events, naming}: ControllerContext) => {
  const recordEvent =
    (what: string) =>
    (key: ObjectKey): void => {
      const reference = {
        apiVersion: naming.apiVersion('', 'v1'),
        kind: kinds.pods.kind,
        metadata: {namespace: key.namespace, name: key.name},
      };
      events.normal(reference, 'TaintManagerEviction', `${what} deletion ${what === 'Marking for' ? '' : 'of '}Pod ${keyText(key)}`);
    };
  return {recordMarked: recordEvent('Marking for'), recordCancelled: recordEvent('Cancelling')};
};

/**
 * Deletes pods, with a DisruptionTarget condition. Never deletes a recreated pod of the name. Rejects when the server
 * keeps failing.
 */
export const evictor = (context: ControllerContext) => {
  const {client, clock, log, signal} = context;
  const {total, duration} = evictionMetrics(context);
  const pods = client.resource(kinds.pods);

  const evict = async ({namespace, name}: ObjectKey, uid: string | undefined): Promise<void> => {
    const pod = await unlessMissing(pods.get(name, {namespace, signal}));
    if (!pod || pod.metadata?.uid !== uid) return;
    await disruptPod(context, pod, {reason: 'DeletionByTaintManager', message: 'Taint manager: deleting due to NoExecute taint'});
    total.add();
  };

  return async (key: ObjectKey, uid: string | undefined, fireAt: number): Promise<void> => {
    for (let attempt = 1; ; attempt++) {
      try {
        await withClockHeld(clock, () => evict(key, uid));
        return duration.observe((clock.now() - fireAt) / 1000);
      } catch (error) {
        if (isNotFound(error)) return;
        if (attempt >= maxAttempts || signal.aborted) {
          if (!signal.aborted) log.error({key: keyText(key), err: error}, 'a pod could not be evicted');
          throw error;
        }
      }
      await sleep(clock, retryMs, signal);
    }
  };
};
