import type {Lister} from '#informers/lister.js';
import type {kinds, ObjectOf} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import {notFound} from '#src/api/status.js';

/** Returns the lookup of RuntimeClass handlers. */
export const runtimeClassHandlers =
  (naming: Naming, lister: Pick<Lister<ObjectOf<typeof kinds.runtimeClasses>>, 'get'>) =>
  async (name: string): Promise<string> => {
    const found = lister.get(name);
    if (!found) throw notFound({group: naming.group('node'), resource: 'runtimeclass'}, name);
    return found.handler;
  };
