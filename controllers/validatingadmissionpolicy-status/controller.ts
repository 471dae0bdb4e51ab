import {kinds} from '#src/api/kinds/index.js';
import type {ControllerManagerOptions} from '#src/options/programs/controller-manager.js';
import {defineController, sameKey} from '#src/runtime/controller.js';
import {policyStatusReconciler} from './reconcile.js';

type Options = Pick<ControllerManagerOptions, 'concurrentValidatingAdmissionPolicyStatusSyncs'>;

/**
 * Type-checks the expressions of validating admission policies against the kinds they match, and reports warnings in
 * their status. Enforcement is not affected.
 */
export default defineController<Options>({
  doc: 'Type-checks the expressions of validating admission policies and reports warnings in their status.',
  name: 'validatingadmissionpolicy-status-controller',
  serviceAccount: 'validatingadmissionpolicy-status-controller',
  configuration: {
    ValidatingAdmissionPolicyStatusController: {ConcurrentPolicySyncs: 'concurrent-validating-admission-policy-status-syncs'},
  },
  queue: {name: 'validatingadmissionpolicy-status'},
  workers: options => options.concurrentValidatingAdmissionPolicyStatusSyncs,
  watches: [sameKey(kinds.validatingAdmissionPolicies, ({type}) => type !== 'deleted')],
  create: policyStatusReconciler,
});
