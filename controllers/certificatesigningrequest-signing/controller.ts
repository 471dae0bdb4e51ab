import {dueRequests, requestController} from '#controllers/shared/certificates/certificate-requests.js';
import {defineController} from '#src/runtime/controller.js';
import {signerTokens, signingConfiguration, signingPlan, type SigningOptions} from './key-files.js';
import {isApproved, signers} from './reconcile.js';

/**
 * Issues certificates for approved requests, with one loop for each built-in signer that has a key. A request that its
 * signer may not sign is marked as failed and not retried. Changed key files are reloaded.
 */
export default defineController<SigningOptions>({
  ...requestController,
  doc: "Issues certificates for approved requests of the platform's own signers, from the key pairs it is given.",
  name: 'certificatesigningrequest-signing-controller',
  configuration: signingConfiguration,
  enabled: options => (signingPlan(options).length > 0 ? true : 'there is no certificate and key to sign with'),
  watches: signerTokens.map(token => dueRequests(({signers: names}) => names[token], isApproved, token)),
  create: signers,
});
