import {kinds} from '#src/api/kinds.js';
import {defineLongRunning, type LongRunningController} from '#src/runtime/controller.js';
import {Scheduler} from './scheduler.js';
import {followNodes, followPods} from './watch.js';

/** The name that pods ask for when they ask for none. */
export const defaultSchedulerName = 'default-scheduler';

/** The scheduler as the manager runs it. */
export const schedulerController: LongRunningController = defineLongRunning({
  name: 'scheduler',
  doc: 'Gives pods that wait for a node to one.',
  serviceAccount: 'scheduler',
  eventSource: defaultSchedulerName,
  reads: [kinds.pods, kinds.nodes, kinds.namespaces, kinds.services, kinds.replicationControllers, kinds.replicaSets, kinds.statefulSets, kinds.podDisruptionBudgets],
  create({client, naming, clock, random, log, events, gates, signal, lister, informers}) {
    const scheduler = new Scheduler({client, naming, clock, random, log, events, signal, lister, gate: name => gates.enabled(name as never)});
    const listeners = [
      informers.informer(kinds.nodes).listen(followNodes(scheduler)),
      informers.informer(kinds.pods).listen(followPods(scheduler, ({spec}) => (spec?.schedulerName || defaultSchedulerName) === defaultSchedulerName)),
    ];
    return async running => {
      await scheduler.run(running);
      for (const listener of listeners) listener[Symbol.dispose]();
    };
  },
});
