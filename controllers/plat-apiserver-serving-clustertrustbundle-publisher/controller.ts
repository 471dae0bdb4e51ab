import type {ServerAuthorityOptions} from '#controllers/shared/certificates/server-authority.js';
import {defineController} from '#src/runtime/controller.js';
import {publisher} from './reconcile.js';

/**
 * Publishes the CA bundle of the API server as the only cluster trust bundle of its serving signer. The bundle is read
 * once, at the start.
 */
export default defineController<ServerAuthorityOptions>({
  doc: 'Publishes the CA bundle that verifies the API server as the cluster trust bundle of its serving signer.',
  name: 'plat-apiserver-serving-clustertrustbundle-publisher-controller',
  serviceAccount: naming => naming.component('apiserver-serving-clustertrustbundle-publisher'),
  flags: ['root-ca-file'],
  queue: {name: 'ca_cert_publisher_cluster_trust_bundles'},
  create: publisher,
});
