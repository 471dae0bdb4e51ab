import {kinds} from '#src/api/kinds/index.js';
import type {Clock} from '#src/base/clock.js';
import type {Client} from '#src/client/client.js';
import {waitFor} from './wait-for.js';

/** Waits for the default service account of a new namespace, without which pods are refused. */
export const accountIn = (namespace: string, {client, clock}: {readonly client: Client; readonly clock: Clock}): Promise<void> =>
  waitFor({
    client,
    clock,
    kind: kinds.serviceAccounts,
    name: 'default',
    namespace,
    isThere: () => true,
    late: () => `the namespace ${namespace} has no service account "default" yet`,
  });
