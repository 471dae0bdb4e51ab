import {TokenBucket} from '#src/base/token-bucket.js';
import type {Frozen} from '#src/api/key.js';
import type {Pod} from '#src/api/pod.js';
import {isConflict, isNotFound} from '#src/api/status.js';
import {requeueAfter, settled, type Reconcile} from '#src/runtime/controller.js';
import type {SimulationContext} from '#src/simulation/node/context.js';
import {DevicePreparation} from './devices/preparation.js';
import {isSwitchedOff} from './node/agent.js';
import {podAddresses} from './node/pod-addresses.js';
import {notifyListeners, Records} from './pod-records.js';
import {PodSync} from './pod-sync.js';
import {behaviors as behaviorsOf} from './rules/behaviors.js';
import type {NodeVolumes} from './volumes/mounts.js';
import type {PodRecord} from './pod/record.js';
import type {PodRecords} from './streams/target.js';

/** The records of pods on simulated nodes, and their reconciler. */
export interface PodReconciler extends PodRecords {
  readonly reconcile: Reconcile;
  /** Restores a running pod without admission. */
  restore(pod: Frozen<Pod>): void;
}

const conflictRetryMs = 100;

/** The rate per second and the burst of intermediate statuses. */
const [briefPerSecond, briefBurst] = [20, 100];

/** Reconciles the pods bound to simulated nodes, and keeps a record of each. */
export const createPodReconciler = (
  context: SimulationContext,
  known: Map<string, PodRecord>,
  volumes: NodeVolumes | undefined,
): PodReconciler => {
  const {clock, naming, nodes, timeline} = context;
  const behaviors = behaviorsOf(naming, context.rules.pods);
  const addresses = podAddresses(context);
  const records = new Records({context, known, behaviors, addresses, volumes});
  const devices = new DevicePreparation(context);
  const briefBudget = new TokenBucket(clock, briefPerSecond, briefBurst);
  const sync = new PodSync({context, behaviors, addresses, records, volumes, devices, briefBudget});

  return {
    behaviors,
    recordOf: key => records.get(key),
    notifyChanged: notifyListeners,
    end(record, container, exitCode) {
      record.requestedExits.set(container, exitCode);
      context.enqueuePod(record.key);
    },
    async reconcile({namespace, name}) {
      const key = `${namespace}/${name}`;
      const pod = context.pods.get(key);
      const agent = context.agents.get(pod?.spec?.nodeName ?? '');
      if (!pod || !agent) {
        records.forget(key);
        return settled;
      }
      if (!agent.registered || isSwitchedOff(naming, agent, nodes.get(agent.machine.name), clock.monotonic())) return settled;
      try {
        const next = await sync.run(agent, key, pod);
        return next === Infinity ? settled : requeueAfter(Math.max(0, next - timeline.now()));
      } catch (error) {
        if (isNotFound(error)) return settled;
        // The pod was replaced or changed concurrently: the cache will show it.
        if (isConflict(error)) return requeueAfter(conflictRetryMs);
        throw error;
      }
    },
    restore(pod) {
      const agent = context.agents.get(pod.spec?.nodeName ?? '');
      const {namespace, name} = pod.metadata ?? {};
      if (agent && pod.status?.startTime) records.create(agent, `${namespace}/${name}`, pod);
    },
  };
};
