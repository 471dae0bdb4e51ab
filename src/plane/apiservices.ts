import type {ApiServer} from '#src/apiserver/server.js';
import {autoregisterLoop, builtInRegistrations} from '#src/controlplane/apiservices/autoregister.js';
import {completionOf} from '#src/controlplane/apiservices/completion.js';
import {localAvailabilityLoop} from '#src/controlplane/apiservices/local-availability.js';
import type {Loops} from '#src/controlplane/loops.js';
import {remoteAvailabilityLoop} from '#src/controlplane/apiservices/remote-availability.js';
import {discoveryCheck} from '#src/apiserver/aggregation/discovery-check.js';
import type {Registrations} from '#src/apiserver/aggregation/registrations.js';
import type {ServiceResolver} from '#src/apiserver/backends/service-resolver.js';
import {kinds} from '#src/api/kinds.js';
import type {Naming} from '#src/api/naming.js';
import type {ServerHealth, StartHook} from './health.js';

export interface ApiServiceParts {
  readonly server: ApiServer;
  readonly health: ServerHealth;
  readonly naming: Naming;
  /** Told of every APIService there is. */
  readonly registrations: Registrations;
  readonly resolve: ServiceResolver;
  /** Made with the first hook that runs. */
  loops(): Loops;
}

/** What a server does, once it serves, to tell and to find out who serves which version of which group. */
export const apiServiceHooks = ({server, health, naming, registrations, resolve, loops}: ApiServiceParts, signal: AbortSignal): StartHook[] => {
  const served = server.discovery.groups.flatMap(({group, versions}) => versions.map(({version}) => ({group, version})));
  const withDefinitions = server.registry.serves(kinds.customResourceDefinitions);
  const check = discoveryCheck({naming, backends: server.backends, resolve, registrations});
  return [
    {
      name: 'apiservice-registration-controller',
      async run() {
        const objects = loops().informers.informer(kinds.apiServices);
        objects.listen(({type, object}) => {
          if (type === 'deleted') registrations.remove(object.metadata?.name ?? '');
          else registrations.set(object);
        });
        await objects.whenSynced(signal);
      },
    },
    {name: 'apiservice-status-remote-available-controller', run: () => loops().run(remoteAvailabilityLoop({naming, check: object => check(object.metadata?.name ?? '')}))},
    {name: 'apiservice-status-local-available-controller', run: () => loops().run(localAvailabilityLoop)},
    {
      name: `${naming.component('apiserver')}-autoregistration`,
      async run() {
        const completion = completionOf(loops().informers, builtInRegistrations({served, naming}).keys());
        health.atStart('autoregister-completion', () => completion.check());
        await loops().run(autoregisterLoop({served, withDefinitions, naming}));
        await completion.reached(signal);
      },
    },
  ];
};
