import {keyOf} from '#src/api/key.js';
import {kinds} from '#src/api/kinds/index.js';
import {defineController, mapped, sameKey} from '#src/runtime/controller.js';
import {serviceAccountReconciler} from './reconcile.js';

/** Ensures that every active namespace has the default service account. */
export default defineController({
  doc: 'Ensures that every active namespace has the service account "default".',
  name: 'serviceaccount-controller',
  serviceAccount: 'service-account-controller',
  queue: {name: 'serviceaccount'},
  watches: [
    sameKey(kinds.namespaces, ({type}) => type !== 'deleted'),
    mapped(kinds.serviceAccounts, ({type, object}) => (type === 'deleted' ? [{namespace: '', name: keyOf(object).namespace}] : [])),
  ],
  create: serviceAccountReconciler,
});
