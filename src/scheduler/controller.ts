import {kinds} from '#src/api/kinds/index.js';
import {defineLongRunning, type LongRunningController} from '#src/runtime/controller.js';
import {composeScheduler} from './composition.js';
import {defaultSchedulerName} from './profile.js';
import {featuresOf} from './devices/types.js';
import {defaultSettings, type Settings} from './settings.js';
import {addEventHandlers, watchedKinds} from './event-handlers.js';

/** Further kinds that decisions read, whose changes requeue no pod. */
const readKinds = [
  kinds.namespaces,
  kinds.services,
  kinds.replicationControllers,
  kinds.replicaSets,
  kinds.statefulSets,
  kinds.podDisruptionBudgets,
];

/** The scheduler as a controller of a manager. */
export const schedulerController = (settings: Settings = defaultSettings): LongRunningController =>
  defineLongRunning({
    name: 'scheduler',
    doc: 'Gives pods that wait for a node to one.',
    serviceAccount: 'scheduler',
    eventSource: defaultSchedulerName,
    reads: [...watchedKinds, ...readKinds],
    create({gates, informers, ...context}) {
      const gate = (name: string) => gates.enabled(name as never);
      // These kinds are served with their gates only.
      if (featuresOf(gate).deviceTaintRules) context.lister(kinds.deviceTaintRules);
      if (gate('GangScheduling')) context.lister(kinds.workloads);
      const scheduler = composeScheduler({...context, ...settings, gate});
      const listeners = addEventHandlers(scheduler, informers);
      return async running => {
        await scheduler.run(running);
        for (const listener of listeners) listener[Symbol.dispose]();
      };
    },
  });
