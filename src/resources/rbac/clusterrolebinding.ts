import {kinds} from '#src/api/kinds/index.js';
import type {ClusterRoleBinding} from '#src/api/types.js';
import {defineResource} from '#src/resources/definition.js';
import {pathSegmentName} from '#src/resources/validation/names.js';
import {bindingColumns, defaultGroups, validateBinding} from './bindings.js';

/** ClusterRoleBinding: grants the permissions of a cluster role in the whole cluster. */
export const clusterRoleBindings = defineResource<ClusterRoleBinding>({
  kind: kinds.clusterRoleBindings,
  metadata: {nameProblems: pathSegmentName},
  update: {createsMissing: true},
  default: (binding, {naming}) => defaultGroups(binding, naming),
  main: {
    metadata: 'both',
    writes: {create: ['metadata', 'subjects', 'roleRef'], update: ['metadata', 'subjects', 'roleRef']},
    validate: (binding, old, {naming}) => validateBinding(binding, old, {namespaced: false, roleKinds: ['ClusterRole']}, naming),
  },
  presentation: {columns: bindingColumns},
});
