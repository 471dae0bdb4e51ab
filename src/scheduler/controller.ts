import {kinds} from '#src/api/kinds.js';
import {defineLongRunning, type LongRunningController} from '#src/runtime/controller.js';
import {defaultProfile, defaultSchedulerName} from './profile.js';
import {Scheduler} from './scheduler.js';
import {follow, followed} from './watch.js';

/** What else decisions are made from, which nobody waits for. */
const looked = [kinds.namespaces, kinds.services, kinds.replicationControllers, kinds.replicaSets, kinds.statefulSets, kinds.podDisruptionBudgets];

/** The scheduler as the manager runs it. */
export const schedulerController: LongRunningController = defineLongRunning({
  name: 'scheduler',
  doc: 'Gives pods that wait for a node to one.',
  serviceAccount: 'scheduler',
  eventSource: defaultSchedulerName,
  reads: [...followed, ...looked],
  create({gates, informers, ...context}) {
    const gate = (name: string) => gates.enabled(name as never);
    const scheduler = new Scheduler({...context, gate, profiles: new Map([[defaultSchedulerName, defaultProfile]]), backoff: {initialMs: 1_000, maxMs: 10_000}});
    const listeners = follow(scheduler, informers);
    return async running => {
      await scheduler.run(running);
      for (const listener of listeners) listener[Symbol.dispose]();
    };
  },
});
