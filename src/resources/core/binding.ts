import {kinds} from '#src/api/kinds/index.js';
import type {Binding} from '#src/api/pod.js';
import {bindingAction} from '#src/resources/core/pod/binding.js';
import {defineResource} from '#src/resources/definition.js';
import {subdomainName} from '#src/resources/validation/names.js';

/** Binding: assigns pods to nodes; the predecessor of `pods/binding`. */
export const bindings = defineResource<Binding>({
  kind: kinds.bindings,
  metadata: {nameProblems: subdomainName},
  main: {writes: {update: []}},
  review: bindingAction,
});
