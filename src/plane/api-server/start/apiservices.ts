import type {ApiServer} from '#src/apiserver/server.js';
import type {Client} from '#src/client/client.js';
import {autoregisterLoop, builtInRegistrations, ensureRegistrations} from '#src/controlplane/apiservices/autoregister.js';
import {completionOf} from '#src/controlplane/apiservices/completion.js';
import {localAvailabilityLoop} from '#src/controlplane/apiservices/local-availability.js';
import type {Loops} from '#src/controlplane/loops.js';
import {remoteAvailabilityLoop} from '#src/controlplane/apiservices/remote-availability.js';
import {remoteDocumentsLoop} from '#src/controlplane/apiservices/remote-documents.js';
import type {Aggregation} from '#src/apiserver/aggregation/aggregation.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {StartHook} from './hook.js';

export interface ApiServiceParts {
  readonly server: ApiServer;
  /** Has the server's own identity. */
  readonly client: Client;
  /** Adds a check that fails during the start. */
  readonly health: {atStart(name: string, check: () => void): void};
  readonly naming: Naming;
  /** Its registrations are updated with every APIService. */
  readonly aggregation: Aggregation;
  readonly loops: Loops;
}

/** The start hooks for APIServices: registration of this server's own, and availability and documents of the others. */
export const apiServiceHooks = (
  {server, client, health, naming, aggregation, loops}: ApiServiceParts,
  signal: AbortSignal,
): StartHook[] => {
  const builtIn = builtInRegistrations(
    server.registry.builtIn.map(({kind}) => kind),
    naming,
  );
  const withDefinitions = server.registry.serves(kinds.customResourceDefinitions);
  const {registrations, discovery, openApi} = aggregation;
  const objects = loops.informers.informer(kinds.apiServices);
  objects.listen(({type, object}) => {
    if (type === 'deleted') registrations.remove(object.metadata?.name ?? '');
    else registrations.set(object);
  });
  const synced = () => objects.whenSynced(signal);
  return [
    {name: `start-${naming.component('aggregator')}-informers`, run: synced},
    {name: 'apiservice-registration-controller', run: synced},
    {
      name: 'apiservice-discovery-controller',
      async run() {
        await synced();
        await Promise.all(registrations.remote.map(({name}) => discovery.refresh(name)));
        await loops.run(remoteDocumentsLoop('discovery-manager', name => discovery.refresh(name)));
      },
    },
    {
      name: 'apiservice-openapi-controller',
      run: () => loops.run(remoteDocumentsLoop('open_api_aggregation_controller', name => openApi.refreshTwo(name))),
    },
    {
      name: 'apiservice-openapiv3-controller',
      run: () => loops.run(remoteDocumentsLoop('open_api_v3_aggregation_controller', name => openApi.refreshThree(name))),
    },
    {
      name: 'apiservice-status-remote-available-controller',
      run: () => loops.run(remoteAvailabilityLoop({naming, check: object => aggregation.check(object.metadata?.name ?? '')})),
    },
    {name: 'apiservice-status-local-available-controller', run: () => loops.run(localAvailabilityLoop)},
    {
      name: `${naming.component('apiserver')}-autoregistration`,
      async run() {
        const completion = completionOf(loops.informers, builtIn.keys());
        health.atStart('autoregister-completion', () => completion.check());
        await loops.run(autoregisterLoop({builtIn, withDefinitions, naming}));
        await completion.reached(signal);
      },
      again: () => ensureRegistrations(client, builtIn),
    },
  ];
};
