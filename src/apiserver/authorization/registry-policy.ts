import {kinds, type Kind} from '#src/api/kinds.js';
import type {Registry, Resource} from '#src/apiserver/registry/registry.js';
import {objectOf} from '#src/apiserver/registry/read.js';
import {endOfPrefix} from '#src/storage/store.js';
import type {PolicyChange, PolicySource} from './policy.js';

const policyKinds: readonly Kind[] = [kinds.clusterRoles, kinds.clusterRoleBindings, kinds.roles, kinds.roleBindings];

const changeOf = (resource: Resource, object: unknown, gone: boolean): PolicyChange => ({kind: resource.kind.kind, object, gone}) as PolicyChange;

/**
 * The roles and bindings of a server's own registry. A write is in force as soon as its answer is out: the store tells of it before or with
 * the acknowledgement.
 */
export const registryPolicy = (registry: Registry): PolicySource => ({
  async follow(changed, signal) {
    await Promise.all(policyKinds.map(kind => followOne(registry.of(kind), changed, signal)));
  },
});

const followOne = async (resource: Resource, changed: (change: PolicyChange) => void, signal: AbortSignal): Promise<void> => {
  const {store} = resource.settings;
  const scope = {start: resource.root, end: endOfPrefix(resource.root)};
  const {records, revision} = await store.range(scope);
  for (const record of records) changed(changeOf(resource, objectOf(resource, record), false));
  if (signal.aborted) return;
  const watch = store.watch(
    {...scope, after: revision},
    {
      changes(batch) {
        for (const {record, previous} of batch) changed(changeOf(resource, objectOf(resource, (record ?? previous)!), record === undefined));
      },
      // The store ends a watch of this kind only when it closes.
      ended() {},
    },
  );
  signal.addEventListener('abort', () => watch[Symbol.dispose](), {once: true});
};
