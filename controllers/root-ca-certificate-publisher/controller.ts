import type {ServerAuthorityOptions} from '#controllers/shared/certificates/server-authority.js';
import {keyOf, type ObjectKey} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {defineController, mapped, sameKey} from '#src/runtime/controller.js';
import {bundles, publisher} from './reconcile.js';

const namespaceOf = (object: Parameters<typeof keyOf>[0]): ObjectKey => ({namespace: '', name: keyOf(object).namespace});

/**
 * Publishes a config map with the CA bundle of the API server in every namespace. The bundle is read once, at the
 * start. Changes to the config map are reverted.
 */
export default defineController<ServerAuthorityOptions>({
  doc: 'Publishes the CA bundle that verifies the API server in a config map of every namespace.',
  name: 'root-ca-certificate-publisher-controller',
  serviceAccount: 'root-ca-cert-publisher',
  flags: ['root-ca-file'],
  queue: {name: 'root_ca_cert_publisher'},
  watches: [
    mapped(bundles, ({type, object}) => (type === 'added' ? [] : [namespaceOf(object)])),
    sameKey(kinds.namespaces, ({type, object}) => type === 'added' || (type === 'updated' && object.status?.phase === 'Active')),
  ],
  create: publisher,
});
