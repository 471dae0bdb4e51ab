import {kinds} from '#src/api/kinds/index.js';
import {requeueAfter, defineController, settled, type KeyedController} from '#src/runtime/controller.js';
import {remoteOnly} from './condition.js';

const periodMs = 60_000;

/**
 * Refreshes the discovery or OpenAPI documents of aggregated servers when their registrations change, and once a
 * minute.
 */
export const remoteDocumentsLoop = (name: string, refresh: (name: string) => Promise<void>): KeyedController =>
  defineController({
    doc: 'Refreshes the documents of aggregated servers.',
    name,
    watches: [remoteOnly],
    workers: 2,
    create({lister}) {
      const objects = lister(kinds.apiServices);
      return async key => {
        await refresh(key.name);
        return objects.get(key)?.spec?.service ? requeueAfter(periodMs) : settled;
      };
    },
  });
