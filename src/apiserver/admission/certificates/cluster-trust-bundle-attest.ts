import {kinds} from '#src/api/kinds/index.js';
import type {KubeObject} from '#src/api/types.js';
import {changesOnlyOwnership} from '#src/apiserver/admission/ownership-changes.js';
import type {AdmissionPlugin} from '#src/apiserver/admission/admission.js';
import {targetsOf} from '#src/apiserver/admission/handles.js';
import {refuse} from '#src/apiserver/admission/refuse.js';
import {mayForSigner, type SignerGuard} from './signer-permission.js';

type Bundle = KubeObject & {readonly spec?: {readonly signerName?: string}};

/**
 * Requires the verb `attest` on the signer for changes of its trust bundles. Inactive unless the feature gate is on.
 */
export const clusterTrustBundleAttest = (guard: SignerGuard & {gate(name: string): boolean}): AdmissionPlugin => ({
  name: 'ClusterTrustBundleAttest',
  handles: {operations: ['CREATE', 'UPDATE'], targets: targetsOf(guard.naming, kinds.clusterTrustBundles)},
  async validate(attributes) {
    const {object, oldObject, user} = attributes;
    if (!guard.gate('ClusterTrustBundle') || !object) return;
    if (oldObject && changesOnlyOwnership(object, oldObject)) return;
    const signer = (object as Bundle).spec?.signerName;
    if (!signer || (await mayForSigner(guard, user, 'attest', signer))) return;
    throw refuse(attributes, `user not permitted to attest for signerName ${JSON.stringify(signer)}`);
  },
});
