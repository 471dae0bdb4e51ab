import {bootstrapTokens} from '#controllers/shared/bootstrap-tokens.js';
import {defineController, mapped, singletonKey} from '#src/runtime/controller.js';
import {clusterInfo, signer} from './reconcile.js';

/**
 * Signs the connection settings in the cluster-info config map with each bootstrap token that may sign, so that holders
 * of a token can verify them. It never creates the config map.
 */
export default defineController({
  doc: 'Signs the connection settings in the cluster-info config map with bootstrap tokens.',
  name: 'bootstrap-signer-controller',
  serviceAccount: 'bootstrap-signer',
  queue: {name: 'bootstrap_signer_queue'},
  watches: [mapped(clusterInfo, () => [singletonKey]), mapped(bootstrapTokens, () => [singletonKey])],
  create: signer,
});
