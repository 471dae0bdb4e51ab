import type {KubeObject} from '#src/api/types.js';
import {changesOnlyHousekeeping} from '#src/apiserver/authorization/housekeeping.js';
import type {AdmissionPlugin} from './admission.js';
import {refuse} from './refuse.js';
import {mayForSigner, type SignerGuard} from './signer-permission.js';

type Bundle = KubeObject & {readonly spec?: {readonly signerName?: string}};

/** Who says what a signer's trust anchors are needs the verb `attest` on the signer. Asleep while there are no bundles. */
export const clusterTrustBundleAttest = (guard: SignerGuard & {gate(name: string): boolean}): AdmissionPlugin => ({
  name: 'ClusterTrustBundleAttest',
  async validate(attributes) {
    const {operation, group, resource, subresource, object, oldObject, user} = attributes;
    if (!guard.gate('ClusterTrustBundle') || group !== guard.naming.group('certificates') || resource !== 'clustertrustbundles' || subresource) return;
    if ((operation !== 'CREATE' && operation !== 'UPDATE') || !object) return;
    if (oldObject && changesOnlyHousekeeping(object, oldObject)) return;
    const signer = (object as Bundle).spec?.signerName;
    if (!signer || (await mayForSigner(guard, user, 'attest', signer))) return;
    throw refuse(attributes, `user not permitted to attest for signerName ${JSON.stringify(signer)}`);
  },
});
