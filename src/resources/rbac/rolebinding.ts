import {kinds} from '#src/api/kinds/index.js';
import type {RoleBinding} from '#src/api/types.js';
import {defineResource} from '#src/resources/definition.js';
import {pathSegmentName} from '#src/resources/validation/names.js';
import {bindingColumns, defaultGroups, validateBinding} from './bindings.js';

/** RoleBinding: grants the permissions of a role within one namespace. */
export const roleBindings = defineResource<RoleBinding>({
  kind: kinds.roleBindings,
  metadata: {nameProblems: pathSegmentName},
  update: {createsMissing: true},
  default: (binding, {naming}) => defaultGroups(binding, naming),
  main: {
    metadata: 'both',
    writes: {create: ['metadata', 'subjects', 'roleRef'], update: ['metadata', 'subjects', 'roleRef']},
    validate: (binding, old, {naming}) => validateBinding(binding, old, {namespaced: true, roleKinds: ['Role', 'ClusterRole']}, naming),
  },
  presentation: {columns: bindingColumns},
});
