import {kinds} from '#src/api/kinds/index.js';
import type {Role} from '#src/api/types.js';
import {createdAtColumn, nameColumn} from '#src/resources/columns.js';
import {defineResource} from '#src/resources/definition.js';
import {pathSegmentName} from '#src/resources/validation/names.js';
import {validateRules} from './rules.js';

/** Role: permissions within one namespace. */
export const roles = defineResource<Role>({
  kind: kinds.roles,
  storage: {alwaysPresent: {rules: null}},
  metadata: {nameProblems: pathSegmentName},
  update: {createsMissing: true},
  main: {
    metadata: 'both',
    writes: {create: ['metadata', 'rules'], update: ['metadata', 'rules']},
    validate: role => validateRules(role.rules, true),
  },
  presentation: {columns: [nameColumn, createdAtColumn]},
});
