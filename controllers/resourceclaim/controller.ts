import {kinds} from '#src/api/kinds/index.js';
import {defineController} from '#src/runtime/controller.js';
import {claimReconciler} from './reconcile.js';

/** Generates resource claims from templates for pods, and releases claims that their pods no longer use (KEP-4381). */
export default defineController({
  doc: 'Creates resource claims of pods from templates, and releases, deallocates and deletes claims that pods no longer use.',
  name: 'resourceclaim-controller',
  serviceAccount: 'resource-claim-controller',
  eventSource: 'resource_claim',
  queue: {name: 'resource_claim'},
  reads: [kinds.pods, kinds.resourceClaims, kinds.resourceClaimTemplates],
  workers: 50,
  create: claimReconciler,
});
