import {kinds, type Kind} from '#src/api/kinds/index.js';
import {listAndWatchKind} from '#src/apiserver/registry/read/list-watch.js';
import type {Registry} from '#src/apiserver/registry/registry.js';
import type {PolicyChange, PolicySource} from './policy.js';

const policyKinds: readonly Kind[] = [kinds.clusterRoles, kinds.clusterRoleBindings, kinds.roles, kinds.roleBindings];

/**
 * The roles and bindings of a server's own registry. A write of this server is in force when its response is sent
 * (`listAndWatchKind`).
 */
export const registryPolicy = (registry: Registry): PolicySource => ({
  async follow(changed, signal) {
    await Promise.all(
      policyKinds.map(kind =>
        listAndWatchKind(registry, kind, (object, gone) => changed({kind: kind.kind, object, gone} as PolicyChange), signal),
      ),
    );
  },
});
