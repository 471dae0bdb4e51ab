// An agent without an API server, which runs the pods of files and URLs.

import {throwError} from 'rxjs';
import type {Kind} from '#src/api/kinds/index.js';
import {kinds} from '#src/api/kinds/index.js';
import type {Naming} from '#src/api/naming.js';
import type {KubeObject} from '#src/api/types.js';
import type {Log} from '#src/base/log.js';
import type {Client, ResourceClient} from '#src/client/client.js';
import type {EventRecorder, Regarding} from '#src/runtime/events/events.js';

/** Returns a client that rejects every request. Pods that need the API server show its error. */
export const standaloneClient = (naming: Naming): Client => {
  const text = ({kind}: Pick<Kind, 'kind'>, name = '', namespace = ''): string => {
    if (kind === kinds.configMaps.kind) return `couldn't get configMap ${namespace}/${name}, no kubeClient defined`;
    if (kind === kinds.secrets.kind) return `couldn't get secret ${namespace}/${name}, no kubeClient defined`;
    if (kind === kinds.serviceAccounts.kind) return `cannot use TokenManager when ${naming.agent} is in standalone mode`;
    return `${naming.agent} is in standalone mode and has no ${kind}`;
  };
  const resource = <T extends KubeObject>(kind: Pick<Kind, 'kind'>): ResourceClient<T> => {
    const refuse = (): Promise<never> => Promise.reject(new Error(text(kind)));
    return {
      get: (name, options) => Promise.reject(new Error(text(kind, name, options?.namespace))),
      list: refuse,
      watch: () => throwError(() => new Error(text(kind))),
      create: refuse,
      update: refuse,
      patch: refuse,
      apply: refuse,
      delete: refuse,
      deleteCollection: refuse,
    };
  };
  return {
    naming,
    resource,
    metadata: resource,
    request: (_, path) => Promise.reject(new Error(`${naming.agent} is in standalone mode: ${path} is not reached`)),
  };
};

/** Returns an event recorder that writes events to the log. */
export const loggedEvents = (log: Log): EventRecorder => {
  const record = (type: string) => (regarding: Regarding, reason: string, message: string) =>
    log.info({kind: regarding.kind, object: regarding.metadata?.name, type, reason, message}, 'event occurred');
  return {normal: record('Normal'), warning: record('Warning')};
};
